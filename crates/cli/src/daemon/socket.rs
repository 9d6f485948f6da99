// SPDX-License-Identifier: MIT OR Apache-2.0
//! The socket, and that there is one daemon.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ccctl_console::{Exit, Fault};
use ccctl_core::daemon::{ending, LOCK};
use ccctl_core::trust;
use ccctl_runfiles::{Holder, Lock, FOLDER};
use tokio::net::UnixListener;

/// Of the socket's folder, where it is made: everybody may connect.
const FOLDER_MODE: u32 = 0o755;

/// Somebody may only look whether a daemon lives.
const PATIENCE: Duration = Duration::from_millis(100);

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
            Some(daemon) if daemon.is_daemon => format!("a ccctl daemon is already running (pid {})", daemon.pid),
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
            DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder).map_err(failed)?;
            trust::require_own_folder(folder).map_err(failed)?.map_or(Ok(()), Err)?;
        }
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path).map_err(failed)?,
            Ok(_) => {
                let cause = format!("{} exists, but is not a socket", path.display());
                return Err(Fault::new(Exit::Refused, cause, "set another path for [api] socket").into());
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
