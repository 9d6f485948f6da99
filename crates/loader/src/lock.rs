//! One writer at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::{Error, Result};
use crate::{bpffs, default, rules};

const RUN_FOLDER: &str = "/run/ccctl";
const LOCK_FILE: &str = "/run/ccctl/lock";
/// There while a swap is between its switch and the defaults that must follow it.
const UNSETTLED_FILE: &str = "/run/ccctl/unsettled";
const POLL: Duration = Duration::from_millis(10);

/// Held while something is changed; the kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
}

impl Lock {
    /// Waits up to `patience` for another ccctl to finish, and finishes what one that was killed has left.
    pub fn take(patience: Duration) -> Result<Self> {
        let lock = Self::wait(patience)?;
        if Path::new(UNSETTLED_FILE).exists() {
            Self::settle()?;
        }
        if rules::is_unsettled() {
            rules::settle()?;
        }
        Ok(lock)
    }

    /// Runs `switch`, after which namespaces must look up the names of their defaults again. A kill in between leaves a
    /// mark, and whoever takes the lock next does it.
    pub(crate) fn settle_after(_lock: &Self, switch: impl FnOnce() -> Result<()>) -> Result<()> {
        fs::write(UNSETTLED_FILE, "").map_err(|error| Error::kernel(format!("write {UNSETTLED_FILE}"), error))?;
        let switched = switch();
        Self::settle()?;
        switched
    }

    /// Removes all of ours below `/run/ccctl`, and the lock itself at last: whoever waits for it makes a new one.
    pub fn remove_files(self) -> Result<()> {
        let failed = |error| Error::kernel(format!("remove the files in {RUN_FOLDER}"), error);
        for entry in fs::read_dir(RUN_FOLDER).map_err(failed)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("verifier-") {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        fs::remove_file(LOCK_FILE).map_err(failed)?;
        let _ = fs::remove_dir(RUN_FOLDER); // a daemon's socket may be in it
        Ok(())
    }

    fn settle() -> Result<()> {
        default::look_up_again(&bpffs::instance_names()?)?;
        fs::remove_file(UNSETTLED_FILE).map_err(|error| Error::kernel(format!("remove {UNSETTLED_FILE}"), error))
    }

    fn wait(patience: Duration) -> Result<Self> {
        let mut file = open()?;
        let start = Instant::now();
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(locked) if !is_in_place(&locked) => file = open()?, // `ccctl down` has removed it meanwhile
                Ok(mut locked) => {
                    // Only for the message to whoever waits.
                    let _ = locked.set_len(0);
                    let _ = locked.rewind();
                    let _ = write!(*locked, "{}", std::process::id());
                    return Ok(Self { _file: locked });
                }
                Err((returned, Errno::EWOULDBLOCK)) if start.elapsed() < patience => file = returned,
                Err((returned, Errno::EWOULDBLOCK)) => {
                    return Err(Error::Locked { holder: holder(returned), seconds: patience.as_secs() });
                }
                Err((_, errno)) => return Err(Error::kernel(format!("lock {LOCK_FILE}"), errno.into())),
            }
            std::thread::sleep(POLL);
        }
    }
}

/// Is the locked file still the one that others would open?
fn is_in_place(file: &File) -> bool {
    match (file.metadata(), fs::metadata(LOCK_FILE)) {
        (Ok(ours), Ok(theirs)) => ours.ino() == theirs.ino(),
        _ => false,
    }
}

fn open() -> Result<File> {
    let path = Path::new(LOCK_FILE);
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)
        .and_then(|()| OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path))
        .map_err(|error| Error::kernel(format!("open {LOCK_FILE}"), error))
}

fn holder(mut file: File) -> String {
    let mut text = String::new();
    match file.rewind().and_then(|()| file.read_to_string(&mut text)) {
        Ok(_) if !text.is_empty() => text,
        _ => "unknown".to_owned(),
    }
}
