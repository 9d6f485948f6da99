//! One test of the kernel at a time, on the whole machine.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::TestbedError;

const PATH: &str = "/run/ccctl-kernel-tests.lock";
const PATIENCE: Duration = Duration::from_secs(900);

static IN_THIS_PROCESS: Mutex<()> = Mutex::new(());

/// Fails unless this process is root.
pub fn require_root() -> Result<(), TestbedError> {
    let user = nix::unistd::geteuid();
    if user.is_root() {
        return Ok(());
    }
    Err(TestbedError::NotRoot(user.as_raw()))
}

/// The right to change what all of the kernel shares, held until dropped.
///
/// The lock file holds a mark while someone is at it: if the mark is there when the lock is free, the one before was
/// killed, and what it loaded may still be there ([`Exclusive::left_behind`]).
#[derive(Debug)]
pub struct Exclusive {
    file: Flock<File>,
    left_behind: bool,
    _process: MutexGuard<'static, ()>,
}

impl Exclusive {
    /// Waits for the other tests, of this process and of others.
    pub fn acquire() -> Result<Self, TestbedError> {
        require_root()?;
        let process = IN_THIS_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        let step = || TestbedError::io(format!("open {PATH}"));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(PATH).map_err(step())?;
        let mut file = lock(file)?;
        let mut mark = String::new();
        file.read_to_string(&mut mark).map_err(step())?;
        write_mark(&mut file, &format!("{}\n", std::process::id())).map_err(step())?;
        Ok(Exclusive { file, left_behind: !mark.is_empty(), _process: process })
    }

    /// Whether the last holder was killed, so that instances on this kernel are those of a test.
    #[must_use]
    pub fn left_behind(&self) -> bool {
        self.left_behind
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        if let Err(error) = write_mark(&mut self.file, "") {
            eprintln!("testbed: {PATH}: {error}");
        }
    }
}

fn write_mark(file: &mut File, mark: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(mark.as_bytes())
}

fn lock(mut file: File) -> Result<Flock<File>, TestbedError> {
    let started = Instant::now();
    loop {
        file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err((file, Errno::EWOULDBLOCK)) => file,
            Err((_, errno)) => return Err(TestbedError::errno(format!("lock {PATH}"))(errno)),
        };
        if started.elapsed() > PATIENCE {
            return Err(TestbedError::Busy { path: PathBuf::from(PATH), waited: started.elapsed() });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
