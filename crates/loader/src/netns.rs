// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces: finding them, and acting inside one.
//!
//! A namespace is opened when something is done in it, and not before: any user may make thousands.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::sched::{setns, CloneFlags};
use nix::sys::statfs::{fstatfs, FsType};

use crate::error::{Error, Result};
use crate::sys;

const NSFS_MAGIC: i64 = 0x6e73_6673; // include/uapi/linux/magic.h

/// A search among all processes of the host takes no longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Processes through which a namespace is found again: the first may end while the others go on.
const MOST_PLACES: usize = 8;

/// A network namespace that this process may enter.
#[derive(Debug)]
pub struct Namespace {
    /// How to call it: its name under /run/netns, or the process it was found through.
    pub label: String,
    /// Inode of its file; tells namespaces apart while they live.
    pub inode: u64,
    /// Files that lead to it; none: it is the caller's own.
    places: Vec<PathBuf>,
}

/// What a search found.
#[derive(Debug)]
pub struct NamespaceScan {
    /// Those that may be entered; the caller's own comes first. Those that users without privileges have made are left out.
    pub found: Vec<Namespace>,
    /// Those that may not, and why.
    pub unreadable: Vec<String>,
}

impl Namespace {
    /// The caller's own.
    pub fn own() -> Result<Self> {
        let path = Path::new("/proc/thread-self/ns/net");
        let inode = fs::metadata(path).map_err(|error| Error::kernel(format!("open {}", path.display()), error))?.ino();
        Ok(Self { label: "this namespace".to_owned(), inode, places: Vec::new() })
    }

    /// That of the host's first process.
    pub(crate) fn first() -> Result<Self> {
        Self::named("/proc/1/ns/net")
    }

    /// One by its name in /run/netns or by the path of a namespace file.
    pub fn named(name: &str) -> Result<Self> {
        let path = if name.contains('/') { PathBuf::from(name) } else { Path::new("/run/netns").join(name) };
        if !path.exists() {
            return Err(Error::Unknown {
                kind: "network namespace",
                name: name.to_owned(),
                hint: "ip netns list shows the named ones; /proc/PID/ns/net is the one of a process".to_owned(),
            });
        }
        let found = open(&path).map_err(|error| Error::kernel(format!("open {}", path.display()), error))?;
        let (_, inode) = found.ok_or_else(|| Error::Unknown {
            kind: "network namespace",
            name: path.display().to_string(),
            hint: "it is not a network namespace; ip netns list shows the named ones".to_owned(),
        })?;
        Ok(Self { label: name.to_owned(), inode, places: vec![path] })
    }

    /// Runs `action` inside, on a thread of its own: a namespace belongs to a thread.
    pub fn run<T: Send>(&self, action: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        if self.places.is_empty() {
            return action();
        }
        let failed = |error| Error::kernel(format!("enter network namespace {}", self.label), error);
        let file = self.open()?;
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(&file, CloneFlags::CLONE_NEWNET).map_err(|errno| failed(errno.into()))?;
                action()
            });
            thread.join().unwrap_or_else(|_| Err(failed(std::io::Error::other("the thread in it panicked"))))
        })
    }

    /// Takes the calling thread in, for good.
    pub fn enter(&self) -> Result<()> {
        let failed = |error| Error::kernel(format!("enter network namespace {}", self.label), error);
        setns(self.open()?, CloneFlags::CLONE_NEWNET).map_err(|errno| failed(errno.into()))
    }

    /// Its file, by the first of its places that still leads to it.
    fn open(&self) -> Result<File> {
        for place in &self.places {
            match open(place) {
                Ok(Some((file, inode))) if inode == self.inode => return Ok(file),
                Ok(_) => {} // another process has the number, or another namespace the name
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(Error::kernel(format!("enter network namespace {}", self.label), error)),
            }
        }
        Err(Error::Gone { namespace: self.label.clone() })
    }

    /// Its cookie: never reused while the host runs, unlike the inode (`SO_NETNS_COOKIE`, 5.14).
    pub(crate) fn cookie(&self) -> Result<u64> {
        self.run(|| sys::netns_cookie().map_err(|error| Error::kernel("read the namespace's cookie", error)))
    }
}

/// A namespace's file and its inode; None of a file that is none. Asked of the file itself: `ip netns` makes an empty file
/// first, and removes it last. Asked before it is opened: to open a FIFO waits for a writer, and to open a device can set it
/// going.
fn open(path: &Path) -> std::io::Result<Option<(File, u64)>> {
    let handle = OpenOptions::new().read(true).custom_flags(OFlag::O_PATH.bits()).open(path)?;
    if fstatfs(&handle)?.filesystem_type() != FsType(NSFS_MAGIC) {
        return Ok(None);
    }
    let file = File::open(format!("/proc/self/fd/{}", handle.as_raw_fd()))?;
    let inode = file.metadata()?.ino();
    Ok(Some((file, inode)))
}

/// A process may have ended meanwhile, and its namespace with it.
fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

impl NamespaceScan {
    /// All network namespaces that a name or a process leads to, but for those that users without privileges have made:
    /// they may be many, and only they use them. They can still be named ([`Namespace::named`]).
    pub fn all() -> Result<Self> {
        let own = Namespace::own()?;
        let mut seen = HashMap::from([(own.inode, Some(0))]);
        let mut scan = Self { found: vec![own], unreadable: Vec::new() };
        let start = Instant::now();
        for (label, path) in candidates() {
            if start.elapsed() > PATIENCE {
                let cause = format!(
                    "processes from {label} on: the search for namespaces stopped after {} s",
                    PATIENCE.as_secs()
                );
                scan.unreadable.push(cause);
                break;
            }
            let Ok(inode) = fs::metadata(&path).map(|metadata| metadata.ino()) else { continue };
            match seen.get(&inode) {
                Some(Some(index)) => scan.found[*index].note(path),
                Some(None) => {}
                None => {
                    let index = scan.add(label, path);
                    seen.insert(inode, index);
                }
            }
        }
        Ok(scan)
    }

    /// Where it was put; None where it is left out.
    fn add(&mut self, label: String, path: PathBuf) -> Option<usize> {
        let failed = |error| Error::kernel(format!("open {}", path.display()), error).to_string();
        match open(&path)
            .and_then(|found| found.map(|(file, inode)| Ok((sys::is_of_a_user(&file)?, inode))).transpose())
        {
            Ok(Some((false, inode))) => {
                self.found.push(Namespace { label, inode, places: vec![path] });
                return Some(self.found.len() - 1);
            }
            Ok(_) => {}
            Err(error) if is_gone(&error) => {}
            Err(error) => self.unreadable.push(failed(error)),
        }
        None
    }

    /// Does something in each, and goes on after an error. Gives all errors; that one has gone meanwhile is none.
    pub fn each(&self, mut action: impl FnMut(&Namespace) -> Result<()>) -> Vec<String> {
        let mut failed = Vec::new();
        for namespace in &self.found {
            match action(namespace) {
                Ok(()) | Err(Error::Gone { .. }) => {}
                Err(error) => failed.push(format!("{}: {error}", namespace.label)),
            }
        }
        failed
    }
}

impl Namespace {
    /// Another file that leads to it.
    fn note(&mut self, place: PathBuf) {
        if !self.places.is_empty() && self.places.len() < MOST_PLACES {
            self.places.push(place);
        }
    }
}

/// Named namespaces first, so that they go by their names.
fn candidates() -> impl Iterator<Item = (String, PathBuf)> {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries("/run/netns").map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let processes = entries("/proc").filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        is_process.then(|| (format!("of process {name}"), entry.path().join("ns/net")))
    });
    named.chain(processes)
}
