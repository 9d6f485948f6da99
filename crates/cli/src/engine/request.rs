//! From the words of a request to programs and parameter sets, and the lock.

use std::process::{Command, Stdio};
use std::time::Duration;

use ccctl_catalog::{ParameterSet, Profile};
use ccctl_loader::{Lock, Program};

use super::Settings;
use crate::exit::UsageError;

/// How long to wait for another ccctl. Its longest work, moving 100,000 sockets, takes seconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// Takes the lock of those who change something.
pub fn lock() -> anyhow::Result<Lock> {
    Ok(Lock::take(LOCK_PATIENCE)?)
}

/// Set for the process that looks at an object file first.
const LOOKING: &str = "CCCTL_LOOKING";

/// Is this that process?
pub fn is_looking() -> bool {
    std::env::var_os(LOOKING).is_some()
}

/// The program of a word. An object file is first looked at by a process of its own: libbpf trusts what it reads, and a
/// damaged file can crash it.
pub fn program(word: &str) -> anyhow::Result<Program> {
    if Program::is_file(word) && !is_looking() {
        // The link leads to the running program also where its file was replaced.
        let looked = Command::new("/proc/self/exe")
            .args(["check", "--", word])
            .env(LOOKING, "1")
            .stdin(Stdio::null())
            .output()?;
        if looked.status.code().is_none() {
            return Err(UsageError::new(format!("{word} is damaged: reading it crashes"), "compile it again").into());
        }
    }
    Ok(Program::named(word)?)
}

/// Sets `base` to what profile and single values say, in this order.
pub fn parameters(
    program: &Program,
    base: ParameterSet,
    profile: Option<&str>,
    values: &Settings,
) -> anyhow::Result<ParameterSet> {
    let mut set = base;
    if let Some(profile) = profile {
        Profile::named(profile)
            .and_then(|profile| profile.apply(&program.algorithm, &mut set))
            .map_err(ccctl_loader::Error::from)?;
    }
    for (key, value) in values {
        set.set(key, &value.to_string()).map_err(ccctl_loader::Error::from)?;
    }
    Ok(set)
}
