// SPDX-License-Identifier: GPL-2.0-only
//! One test of the kernel at a time, on the whole machine.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ccctl_runfiles::Lock;

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
    lock: Lock,
    left_behind: Vec<String>,
    _process: MutexGuard<'static, ()>,
}

impl Exclusive {
    /// Waits for the other tests, of this process and of others.
    pub fn acquire() -> Result<Self, TestbedError> {
        require_root()?;
        let process = IN_THIS_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lock = Lock::take(Path::new(PATH), PATIENCE).map_err(TestbedError::Lock)?;
        let mut notes = String::new();
        lock.file().read_to_string(&mut notes).map_err(TestbedError::io(format!("read {PATH}")))?;
        let left_behind = notes.lines().map(str::to_owned).collect();
        Ok(Exclusive { lock, left_behind, _process: process })
    }

    /// What a killed holder had noted. The notes stay in the file until this holder is dropped.
    #[must_use]
    pub fn left_behind(&self) -> &[String] {
        &self.left_behind
    }

    /// Notes, on behalf of the holder in this process, that something of this name is about to be made.
    pub fn note(name: &str) -> Result<(), TestbedError> {
        let step = || TestbedError::io(format!("write to {PATH}"));
        let mut file = ccctl_runfiles::open(Path::new(PATH)).map_err(TestbedError::Lock)?;
        file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(format!("{name}\n").as_bytes())).map_err(step())
    }
}

/// The same right for a run of the lab. What a run makes, it can be told by: nothing is noted, and the notes of a killed test
/// stay for the next one.
#[derive(Debug)]
pub struct Turn {
    _lock: Option<Lock>,
}

impl Turn {
    /// Takes it, or says who has it ([`ccctl_runfiles::Error::Held`]).
    pub fn take() -> Result<Self, TestbedError> {
        require_root()?;
        if is_held_by_parent() {
            return Ok(Self { _lock: None });
        }
        let lock = Lock::take(Path::new(PATH), Duration::ZERO).map_err(TestbedError::Lock)?;
        Ok(Self { _lock: Some(lock) })
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
        if let Err(error) = self.lock.file().set_len(0) {
            eprintln!("testbed: {PATH}: {error}");
        }
    }
}
