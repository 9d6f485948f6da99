//! The socket, and that there is one daemon.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tokio::net::UnixListener;

use crate::api::Fault;
use crate::exit::Exit;

/// Held by the daemon while it lives.
const LOCK: &str = "/run/ccctl/daemon.lock";

/// The right to be the daemon; the kernel releases it when the process ends, however that happens.
#[derive(Debug)]
pub struct Exclusive(Flock<fs::File>);

impl Exclusive {
    /// Refuses where a daemon lives, and names its process.
    pub fn take() -> anyhow::Result<Self> {
        fs::create_dir_all(Path::new(LOCK).parent().unwrap_or(Path::new("/"))).context("create /run/ccctl")?;
        let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(LOCK);
        match Flock::lock(open.with_context(|| format!("open {LOCK}"))?, FlockArg::LockExclusiveNonblock) {
            Ok(mut file) => {
                file.set_len(0)?;
                write!(*file, "{}", std::process::id())?;
                Ok(Self(file))
            }
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid)?;
                Err(Fault::new(
                    Exit::Refused,
                    format!("a ccctl daemon runs already (pid {pid})"),
                    format!("kill {pid}"),
                )
                .into())
            }
            Err((_, errno)) => Err(std::io::Error::from(errno)).with_context(|| format!("lock {LOCK}")),
        }
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        let _ = fs::remove_file(LOCK); // while it is held: whoever waits finds a file that is gone, and tries again
        let _ = &self.0;
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
        let failed = || format!("listen at {}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(failed)?;
        }
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path).with_context(failed)?,
            Ok(_) => {
                let cause = format!("{} is there, and is no socket", path.display());
                return Err(Fault::new(Exit::Refused, cause, "another path for [api] socket").into());
            }
            Err(_) => {}
        }
        let socket = UnixListener::bind(path).with_context(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o666)).with_context(failed)?;
        Ok(Self { socket, path: path.to_owned() })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // the next daemon replaces it anyway
    }
}
