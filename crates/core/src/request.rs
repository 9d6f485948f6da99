// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the words of a request to programs and parameter sets, and the lock.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use ccctl_catalog::{ParameterSet, Profile};
use ccctl_loader::{recover, recover_rules, Lock, Program, Recovered};

use crate::local_algorithms;
use crate::object_scan::{self, MOST_OBJECT_BYTES};
use crate::settings::Settings;
use crate::trust::{self, Trust, Unread};

/// How long to wait for another ccctl. Its longest work, moving 100,000 sockets, takes seconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

/// Takes the lock of those who change something. What a killed ccctl has left is finished first; the daemon's log says so. What
/// cannot be finished is told to everybody, and keeps nobody from going on.
pub fn lock() -> anyhow::Result<Lock> {
    let Recovered { lock, left, moved } = recover(LOCK_PATIENCE)?;
    if moved.found > 0 {
        tracing::info!("finished what a killed ccctl had begun: {} sockets, {} moved", moved.found, moved.moved);
    }
    for left in left {
        if tracing::dispatcher::has_been_set() {
            tracing::warn!("a killed ccctl left this behind: {left}");
        } else {
            // With stderr closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "ccctl: a killed ccctl left this behind: {left}");
        }
    }
    Ok(lock)
}

/// Takes it for what must work whatever others have left, because it is what one tries then.
pub fn lock_as_it_is() -> anyhow::Result<Lock> {
    Ok(recover_rules(LOCK_PATIENCE)?.lock)
}

/// An algorithm as it is written, an object file by its absolute path: the process that reads it may work in another folder.
pub fn algorithm_word(word: &str) -> Result<String, std::io::Error> {
    if !Program::is_file(word) {
        return Ok(word.to_owned());
    }
    Ok(std::path::absolute(word)?.to_string_lossy().into_owned())
}

/// The program of a word. An object file is read once: what is looked at first is what is loaded then.
pub fn program(word: &str, trust: Trust) -> anyhow::Result<Program> {
    if !Program::is_file(word) {
        return named(word);
    }
    let object = trust::read(Path::new(word), MOST_OBJECT_BYTES, trust).map_err(|unread| match unread {
        Unread::Failed(error) => ccctl_loader::Error::unread(word, error).into(),
        Unread::Refused(fault) => anyhow::Error::from(fault),
    })?;
    program_of(word, object)
}

/// The algorithm of a name: a built-in one, or one of the administrator's, which is looked at as a file is.
fn named(name: &str) -> anyhow::Result<Program> {
    local_algorithms::refresh();
    if let Some(fault) = local_algorithms::refusal_of(name).filter(|_| ccctl_catalog::algorithm(name).is_none()) {
        return Err(fault.into());
    }
    let program = Program::named(name)?;
    if let Some(file) = local_algorithms::files().get(name) {
        object_scan::look(&file.to_string_lossy(), program.object())?;
    }
    Ok(program)
}

/// The program in an object file that was read, or that a compiler made of a file: another process looks at it first, within limits.
pub fn program_of(label: &str, object: Vec<u8>) -> anyhow::Result<Program> {
    object_scan::look(label, &object)?;
    Ok(Program::of_object(label, object)?)
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
    for (key, value) in &values.0 {
        set.set(key, &value.to_string()).map_err(ccctl_loader::Error::from)?;
    }
    Ok(set)
}
