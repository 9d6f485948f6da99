//! Network namespaces: finding them, and acting inside one.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::sched::{setns, CloneFlags};
use nix::sys::statfs::{fstatfs, FsType};

use crate::error::{Error, Result};
use crate::sys;

const NSFS_MAGIC: i64 = 0x6e73_6673; // include/uapi/linux/magic.h

/// A network namespace that this process may enter.
#[derive(Debug)]
pub struct Namespace {
    /// How to call it: its name under /run/netns, or the process it was found through.
    pub label: String,
    /// Inode of its file; tells namespaces apart while they live.
    pub inode: u64,
    file: File,
    is_own: bool,
}

/// What a search found.
#[derive(Debug)]
pub struct NamespaceScan {
    /// Those that may be entered; the caller's own comes first.
    pub found: Vec<Namespace>,
    /// Those that may not, and why.
    pub unreadable: Vec<String>,
}

impl Namespace {
    /// The caller's own.
    pub fn own() -> Result<Self> {
        let path = Path::new("/proc/thread-self/ns/net");
        let no_namespace = || Error::kernel(format!("open {}", path.display()), std::io::ErrorKind::InvalidData.into());
        Self::open("this namespace".to_owned(), path, true)?.ok_or_else(no_namespace)
    }

    /// One by its name in /run/netns or by the path of a namespace file.
    pub fn named(name: &str) -> Result<Self> {
        let path = if name.contains('/') { PathBuf::from(name) } else { Path::new("/run/netns").join(name) };
        if !path.exists() {
            return Err(Error::Unknown {
                kind: "network namespace",
                name: name.to_owned(),
                hint: "ip netns list shows the named ones; /proc/PID/ns/net is that of a process".to_owned(),
            });
        }
        Self::open(name.to_owned(), &path, false)?.ok_or_else(|| Error::Unknown {
            kind: "network namespace",
            name: path.display().to_string(),
            hint: "the file is something else; ip netns list shows the named ones".to_owned(),
        })
    }

    /// None of a file that is none. Asked of the file itself: `ip netns` makes an empty file first, and removes it last.
    /// Asked before it is opened: to open a FIFO waits for a writer, and to open a device can set it going.
    fn open(label: String, path: &Path, is_own: bool) -> Result<Option<Self>> {
        let failed = |error| Error::kernel(format!("open {}", path.display()), error);
        let handle = OpenOptions::new().read(true).custom_flags(OFlag::O_PATH.bits()).open(path).map_err(failed)?;
        let stat = fstatfs(&handle).map_err(|errno| failed(errno.into()))?;
        if stat.filesystem_type() != FsType(NSFS_MAGIC) {
            return Ok(None);
        }
        let file = File::open(format!("/proc/self/fd/{}", handle.as_raw_fd())).map_err(failed)?;
        let inode = file.metadata().map_err(failed)?.ino();
        Ok(Some(Self { label, inode, file, is_own }))
    }

    /// Runs `action` inside, on a thread of its own: a namespace belongs to a thread.
    pub fn run<T: Send>(&self, action: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        if self.is_own {
            return action();
        }
        let failed = |error| Error::kernel(format!("enter network namespace {}", self.label), error);
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(|errno| failed(errno.into()))?;
                action()
            });
            thread.join().unwrap_or_else(|_| Err(failed(std::io::Error::other("the thread in it panicked"))))
        })
    }

    /// Takes the calling thread in, for good.
    pub fn enter(&self) -> Result<()> {
        let failed =
            |errno: nix::errno::Errno| Error::kernel(format!("enter network namespace {}", self.label), errno.into());
        setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(failed)
    }

    /// Its cookie: never reused while the host runs, unlike the inode (`SO_NETNS_COOKIE`, 5.14).
    pub(crate) fn cookie(&self) -> Result<u64> {
        self.run(|| sys::netns_cookie().map_err(|error| Error::kernel("read the namespace's cookie", error)))
    }
}

impl NamespaceScan {
    /// All network namespaces that a name or a process leads to.
    pub fn all() -> Result<Self> {
        let own = Namespace::own()?;
        let mut seen = HashSet::from([own.inode]);
        let mut scan = Self { found: vec![own], unreadable: Vec::new() };
        for (label, path) in candidates() {
            let Ok(inode) = fs::metadata(&path).map(|metadata| metadata.ino()) else { continue };
            if !seen.insert(inode) {
                continue;
            }
            match Namespace::open(label.clone(), &path, false) {
                Ok(namespace) => scan.found.extend(namespace),
                // A process may have ended meanwhile, and its namespace with it.
                Err(Error::Kernel { answer, .. }) if answer.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => scan.unreadable.push(error.to_string()),
            }
        }
        Ok(scan)
    }
}

/// Named namespaces first, so that they go by their names.
fn candidates() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        found.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            found.push((format!("of process {name}"), entry.path().join("ns/net")));
        }
    }
    found
}
