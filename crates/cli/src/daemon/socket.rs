//! The socket, and that there is one daemon.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ccctl_runfiles::{Holder, Lock, FOLDER};
use tokio::net::UnixListener;

use crate::api::{self, Fault};
use crate::exit::Exit;

/// Held by the daemon while it lives.
const LOCK: &str = "/run/ccctl/daemon.lock";

/// Somebody may only look whether a daemon lives.
const PATIENCE: Duration = Duration::from_millis(100);

/// Refuses where a daemon lives that does not take part in what is to be done.
pub fn require_none(what: &str) -> anyhow::Result<()> {
    let Some(holder) = Lock::held(Path::new(LOCK)).map_err(ccctl_loader::Error::from)? else { return Ok(()) };
    let cause = match &holder {
        Some(daemon) if daemon.is_daemon => format!("cannot {what}: the daemon (pid {}) cannot be asked", daemon.pid),
        other => format!("cannot {what}: {} holds {LOCK}", Holder::describe(other.as_ref())),
    };
    let remedy = ending(holder.as_ref(), ", which leaves everything running, and then again");
    Err(Fault::new(Exit::Refused, cause, remedy).into())
}

/// A daemon can be ended; of other processes nobody here knows what they are for.
fn ending(holder: Option<&Holder>, then: &str) -> String {
    match holder {
        Some(daemon) if daemon.is_daemon => format!("kill {}{then}", daemon.pid),
        Some(other) => format!("ps -f -p {} shows what it is: it is no ccctl daemon", other.pid),
        None => format!("lslocks shows who holds {LOCK}"),
    }
}

/// Removes what a daemon that was killed has left; one that lives removes it at its end.
pub fn remove_leftovers() {
    if !matches!(Lock::held(Path::new(LOCK)), Ok(None)) {
        return;
    }
    let _ = fs::remove_file(api::SOCKET);
    let _ = fs::remove_file(LOCK);
    let _ = fs::remove_dir(FOLDER); // others may have files in it
}

/// The right to be the daemon; the kernel releases it when the process ends, however that happens.
#[derive(Debug)]
pub struct Exclusive {
    _lock: Lock,
}

impl Exclusive {
    /// Refuses where a daemon lives, and names its process.
    pub fn take() -> anyhow::Result<Self> {
        ccctl_runfiles::make_folder().map_err(no_file)?;
        let held = match Lock::take(Path::new(LOCK), PATIENCE) {
            Ok(lock) => return Ok(Self { _lock: lock }),
            Err(ccctl_runfiles::Error::Held { holder, .. }) => holder,
            Err(error) => return Err(no_file(error)),
        };
        let cause = match &held {
            Some(daemon) if daemon.is_daemon => format!("a ccctl daemon runs already (pid {})", daemon.pid),
            other => format!("{} holds {LOCK}", Holder::describe(other.as_ref())),
        };
        Err(Fault::new(Exit::Refused, cause, ending(held.as_ref(), "")).into())
    }
}

/// A step that failed: for want of privileges, as other commands tell it.
fn not_done(step: String, error: std::io::Error) -> anyhow::Error {
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        return Fault::new(Exit::Host, format!("{step}: not permitted"), "run as root: sudo ccctl daemon").into();
    }
    anyhow::Error::from(error).context(step)
}

/// The same of a file in [`FOLDER`].
fn no_file(error: ccctl_runfiles::Error) -> anyhow::Error {
    match error {
        ccctl_runfiles::Error::Io { step, answer } => not_done(step, answer),
        error => ccctl_loader::Error::from(error).into(),
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        let _ = fs::remove_file(LOCK);
        let _ = fs::remove_dir(FOLDER); // where `ccctl down` has emptied it
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
