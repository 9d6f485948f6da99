//! One test of the kernel at a time, on the whole machine.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::TestbedError;

const PATH: &str = "/run/ccctl-kernel-tests.lock";
/// Process that has the right and lends it to those that it starts.
const LENT: &str = "CCCTL_TURN_OF";
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
/// It binds only those who ask for it: others on this machine may load and unload at any time. So the holder notes in the
/// lock file what it makes ([`Exclusive::note`]). If notes are there when the lock is free, the one before was killed, and
/// those things, and no others, are a test's to remove ([`Exclusive::left_behind`]).
#[derive(Debug)]
pub struct Exclusive {
    file: Flock<File>,
    left_behind: Vec<String>,
    _process: MutexGuard<'static, ()>,
}

impl Exclusive {
    /// Waits for the other tests, of this process and of others.
    pub fn acquire() -> Result<Self, TestbedError> {
        require_root()?;
        let process = IN_THIS_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        let step = || TestbedError::io(format!("open {PATH}"));
        let file = OpenOptions::new().read(true).append(true).create(true).open(PATH).map_err(step())?;
        let mut file = lock(file)?;
        let mut notes = String::new();
        file.read_to_string(&mut notes).map_err(step())?;
        let left_behind = notes.lines().map(str::to_owned).collect();
        Ok(Exclusive { file, left_behind, _process: process })
    }

    /// What a killed holder had noted. The notes stay in the file until this holder is dropped.
    #[must_use]
    pub fn left_behind(&self) -> &[String] {
        &self.left_behind
    }

    /// Notes, on behalf of the holder in this process, that something of this name is about to be made.
    pub fn note(name: &str) -> Result<(), TestbedError> {
        let step = || TestbedError::io(format!("write to {PATH}"));
        let mut file = OpenOptions::new().append(true).open(PATH).map_err(step())?;
        file.write_all(format!("{name}\n").as_bytes()).map_err(step())
    }
}

/// The same right for a run of the lab. What a run makes, it can be told by: nothing is noted, and the notes of a killed test
/// stay for the next one.
#[derive(Debug)]
pub struct Turn {
    _file: Option<Flock<File>>,
}

impl Turn {
    /// Takes it, if nobody has it.
    pub fn take() -> Result<Option<Self>, TestbedError> {
        require_root()?;
        if is_held_by_parent() {
            return Ok(Some(Self { _file: None }));
        }
        let file = OpenOptions::new().append(true).create(true).open(PATH);
        match Flock::lock(file.map_err(TestbedError::io(format!("open {PATH}")))?, FlockArg::LockExclusiveNonblock) {
            Ok(file) => Ok(Some(Self { _file: Some(file) })),
            Err((_, Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, errno)) => Err(TestbedError::errno(format!("lock {PATH}"))(errno)),
        }
    }

    /// A program that this process starts with this variable may take its turn while this process has the right.
    #[must_use]
    pub fn lend() -> (&'static str, String) {
        (LENT, std::process::id().to_string())
    }
}

/// A test that has the right waits for the program that it tests.
fn is_held_by_parent() -> bool {
    let parent = nix::unistd::getppid().to_string();
    std::env::var(LENT).is_ok_and(|lender| lender == parent)
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        if let Err(error) = self.file.set_len(0) {
            eprintln!("testbed: {PATH}: {error}");
        }
    }
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
