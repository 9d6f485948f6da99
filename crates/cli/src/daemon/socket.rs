//! The socket, and that there is one daemon.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tokio::net::UnixListener;

use crate::api::{self, Fault};
use crate::exit::Exit;

/// Where files go that need not last.
const RUN_FOLDER: &str = "/run/ccctl";
/// Held by the daemon while it lives.
const LOCK: &str = "/run/ccctl/daemon.lock";

/// Looks at the lock, and time between two.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// Refuses where a daemon lives that does not take part in what is to be done.
pub fn require_none(what: &str) -> anyhow::Result<()> {
    let Some(pid) = living() else { return Ok(()) };
    let cause = format!("cannot {what}: the daemon (pid {pid}) cannot be asked");
    Err(Fault::new(Exit::Refused, cause, format!("kill {pid}, which leaves everything running, and then again")).into())
}

/// The daemon's process, where one lives.
fn living() -> Option<String> {
    let file = OpenOptions::new().read(true).open(LOCK).ok()?;
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Err((mut file, Errno::EWOULDBLOCK)) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid); // without, the message has no number
            Some(pid)
        }
        _ => None,
    }
}

/// Removes what a daemon that was killed has left; one that lives removes it at its end.
pub fn remove_leftovers() {
    if living().is_some() {
        return;
    }
    let _ = fs::remove_file(api::SOCKET);
    let _ = fs::remove_file(LOCK);
    let _ = fs::remove_dir(RUN_FOLDER); // others may have files in it
}

/// The right to be the daemon; the kernel releases it when the process ends, however that happens.
#[derive(Debug)]
pub struct Exclusive {
    _file: Flock<fs::File>,
}

impl Exclusive {
    /// Refuses where a daemon lives, and names its process.
    pub fn take() -> anyhow::Result<Self> {
        fs::create_dir_all(RUN_FOLDER).map_err(|error| not_done(format!("create {RUN_FOLDER}"), error))?;
        let mut pid = String::new();
        for _ in 0..ATTEMPTS {
            let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(LOCK);
            let file = open.map_err(|error| not_done(format!("open {LOCK}"), error))?;
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(mut file) if is_in_place(&file) => {
                    file.set_len(0)?;
                    write!(*file, "{}", std::process::id())?;
                    return Ok(Self { _file: file });
                }
                Ok(_) => {} // the daemon before has just removed it
                Err((mut file, Errno::EWOULDBLOCK)) => {
                    pid.clear();
                    file.read_to_string(&mut pid)?;
                    std::thread::sleep(PAUSE); // somebody may only look
                }
                Err((_, errno)) => return Err(std::io::Error::from(errno)).with_context(|| format!("lock {LOCK}")),
            }
        }
        Err(Fault::new(Exit::Refused, format!("a ccctl daemon runs already (pid {pid})"), format!("kill {pid}")).into())
    }
}

/// A step that failed: for want of privileges, as other commands tell it.
fn not_done(step: String, error: std::io::Error) -> anyhow::Error {
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        return Fault::new(Exit::Host, format!("{step}: not permitted"), "run as root: sudo ccctl daemon").into();
    }
    anyhow::Error::from(error).context(step)
}

/// Is the locked file still the one that others would open?
fn is_in_place(file: &fs::File) -> bool {
    match (file.metadata(), fs::metadata(LOCK)) {
        (Ok(ours), Ok(theirs)) => ours.ino() == theirs.ino(),
        _ => false,
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        let _ = fs::remove_file(LOCK);
        let _ = fs::remove_dir(RUN_FOLDER); // where `ccctl down` has emptied it
    }
}

/// A socket that is listened at, gone with this.
#[derive(Debug)]
pub struct Listening {
    /// The socket.
    pub socket: UnixListener,
    path: PathBuf,
}

impl Listening {
    /// Takes the place of what a killed daemon has left. Everybody may connect: who may do what is decided by who they
    /// are, and a refusal can then be told and noted.
    pub fn at(path: &Path) -> anyhow::Result<Self> {
        let failed = |error| not_done(format!("listen at {}", path.display()), error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path).map_err(failed)?,
            Ok(_) => {
                let cause = format!("{} is there, and is no socket", path.display());
                return Err(Fault::new(Exit::Refused, cause, "another path for [api] socket").into());
            }
            Err(_) => {}
        }
        let socket = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(failed)?;
        Ok(Self { socket, path: path.to_owned() })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // the next daemon replaces it anyway
    }
}
