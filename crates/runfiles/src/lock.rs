// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lock that the kernel releases when the process ends, however it ends.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::file::open;
use crate::holder::{holder, Holder};
use crate::{Error, Result};

const POLL: Duration = Duration::from_millis(10);

/// A lock, held.
#[derive(Debug)]
pub struct Lock {
    file: Flock<File>,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock on a file, which is made where there is none. Waits no longer than `patience`.
    pub fn take(path: &Path, patience: Duration) -> Result<Self> {
        let start = Instant::now();
        let mut file = open(path)?;
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(file) if is_in_place(path, &file) => return Ok(Self { file, path: path.to_owned() }),
                Ok(_) => file = open(path)?, // whoever had it has removed the file
                Err((held, Errno::EWOULDBLOCK)) if start.elapsed() < patience => {
                    file = if is_in_place(path, &held) { held } else { open(path)? };
                    std::thread::sleep(POLL);
                }
                Err((held, Errno::EWOULDBLOCK)) => {
                    let (path, holder) = (path.to_owned(), holder(&held));
                    return Err(Error::Held { path, holder, waited: start.elapsed() });
                }
                Err((_, errno)) => return Err(Error::io(format!("lock {}", path.display()))(errno.into())),
            }
        }
    }

    /// Who has the lock on a file, where somebody has it: the process, if it can be seen. Makes no file, and does not take
    /// the lock: two may look at once.
    pub fn held(path: &Path) -> Result<Option<Option<Holder>>> {
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(None);
        }
        match Flock::lock(open(path)?, FlockArg::LockSharedNonblock) {
            Ok(_) => Ok(None),
            Err((file, Errno::EWOULDBLOCK)) => Ok(Some(holder(&file))),
            Err((_, errno)) => Err(Error::io(format!("lock {}", path.display()))(errno.into())),
        }
    }

    /// The file that is locked.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Removes the file with the lock: whoever waits for it makes a new one.
    pub fn remove(self) -> Result<()> {
        crate::file::remove(&self.path)
    }
}

/// Is the locked file still the one that others would open?
fn is_in_place(path: &Path, file: &File) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
        _ => false,
    }
}
