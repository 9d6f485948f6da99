// SPDX-License-Identifier: GPL-2.0-only
//! Network namespaces of our own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sched::{setns, CloneFlags};

use super::{run, run_ok, Background, Output, TestbedError};

const FOLDER: &str = "/run/netns";
const PREFIX: &str = "cclab";
const IP_LIMIT: Duration = Duration::from_secs(20);

static SWEPT: Once = Once::new();
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A network namespace, deleted when dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    file: File,
}

impl Namespace {
    /// Makes the namespace `cclab-PID-N-LABEL`, its loopback up.
    pub fn new(label: &str) -> Result<Self, TestbedError> {
        super::require_root()?;
        SWEPT.call_once(|| drop(Self::remove_abandoned()));
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}-{}-{number}-{label}", std::process::id());
        ip(&["netns", "add", &name])?;
        let path = Path::new(FOLDER).join(&name);
        let file = File::open(&path).map_err(TestbedError::io(format!("open {}", path.display())))?;
        let namespace = Namespace { name, file };
        ip(&["-n", namespace.name(), "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Deletes the namespaces of processes that are no more, and gives their names. A process that makes a namespace has done so.
    #[allow(clippy::must_use_candidate)] // some only want them gone
    pub fn remove_abandoned() -> Vec<String> {
        names().filter(|name| owner(name).is_some_and(|pid| !is_alive(pid)) && delete(name)).collect()
    }

    /// How many namespaces each process has that is there, by its number; one that was killed may take a while to end.
    #[must_use]
    pub fn owners() -> BTreeMap<u32, usize> {
        let mut owners = BTreeMap::new();
        for pid in names().filter_map(|name| owner(&name)).filter(|pid| is_alive(*pid)) {
            *owners.entry(pid).or_default() += 1;
        }
        owners
    }

    /// Names of the namespaces that a process has made.
    #[must_use]
    pub fn of_process(pid: u32) -> Vec<String> {
        names().filter(|name| owner(name) == Some(pid)).collect()
    }

    /// The name under which `ip netns` knows it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that stands for it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(&self.name)
    }

    /// Runs `work` in a thread of its own inside the namespace; mounts stay those of the host.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, TestbedError> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| self.join_it().map(|()| work()));
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Starts `work` in a thread inside the namespace.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, TestbedError> + Send + 'static,
    ) -> Result<JoinHandle<Result<T, TestbedError>>, TestbedError> {
        let file = self.file.try_clone().map_err(TestbedError::io("copy a namespace's file"))?;
        Ok(thread::spawn(move || {
            join(&file)?;
            work()
        }))
    }

    /// Runs a command inside the namespace, whatever its end.
    pub fn run(&self, command: &mut Command, limit: Duration) -> Result<Output, TestbedError> {
        self.enter(|| run(command, limit))?
    }

    /// Starts a command inside the namespace; it is killed when the result is dropped.
    pub fn start(&self, command: &mut Command) -> Result<Background, TestbedError> {
        self.enter(|| Background::start(command))?
    }

    /// Writes a sysctl of the namespace; `key` with slashes, below `/proc/sys`.
    pub fn set_sysctl(&self, key: &str, value: &str) -> Result<(), TestbedError> {
        let path = Path::new("/proc/sys").join(key);
        self.enter(|| fs::write(&path, value).map_err(TestbedError::io(format!("write {value} to {key}"))))?
    }

    /// Reads a sysctl of the namespace; `key` with slashes, below `/proc/sys`.
    pub fn sysctl(&self, key: &str) -> Result<String, TestbedError> {
        let path = Path::new("/proc/sys").join(key);
        let text = self.enter(|| fs::read_to_string(&path).map_err(TestbedError::io(format!("read {key}"))))??;
        Ok(text.trim().to_owned())
    }

    fn join_it(&self) -> Result<(), TestbedError> {
        join(&self.file)
    }
}

fn join(file: &File) -> Result<(), TestbedError> {
    setns(file, CloneFlags::CLONE_NEWNET).map_err(TestbedError::errno("enter a network namespace"))
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "del", &self.name]) {
            eprintln!("testbed: {error}");
        }
    }
}

/// Runs `ip` with these words.
pub fn ip(words: &[&str]) -> Result<String, TestbedError> {
    run_ok(Command::new("ip").args(words), IP_LIMIT)
}

/// All that `ip netns` knows.
fn names() -> impl Iterator<Item = String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Done? Otherwise it says why not.
fn delete(name: &str) -> bool {
    let result = ip(&["netns", "del", name]);
    if let Err(error) = &result {
        eprintln!("testbed: stale namespace: {error}");
    }
    result.is_ok()
}

/// The process that made the namespace of this name, if a testbed did.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_have_an_owner() {
        assert_eq!(owner("cclab-17-0-client"), Some(17));
        assert_eq!(owner("cclabour-17"), None);
        assert_eq!(owner("blue"), None);
    }
}
