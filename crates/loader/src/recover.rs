// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finishing what a ccctl that was killed has left, before anything else is changed.

use std::path::Path;
use std::time::Duration;

use crate::error::Result;
use crate::lock::Lock;
use crate::rules::Moved;
use crate::{bpffs, canary, default, rules};

/// There while a swap is between its switch and the defaults that must follow it.
const UNSETTLED_FILE: &str = "/run/ccctl/unsettled";

/// The lock, and what could not be finished.
#[derive(Debug)]
pub struct Recovered {
    /// Held from before anything was finished.
    pub lock: Lock,
    /// What a killed ccctl has left and could not be finished, with the reason: mostly one for each network namespace.
    pub left: Vec<String>,
    /// What was done to live connections, after a kill between rules and the connections that were to follow them.
    pub moved: Moved,
}

/// Waits up to `patience` for another ccctl to finish, and finishes what one that was killed has left.
pub fn recover(patience: Duration) -> Result<Recovered> {
    let lock = Lock::take(patience)?;
    let mut left = if Path::new(UNSETTLED_FILE).exists() { settle_defaults() } else { Vec::new() };
    let moved = settle_rules()?;
    left.extend(moved.failed.iter().map(|failure| format!("{}: {}", failure.socket, failure.reason)));
    left.extend(end_canaries(&lock).err().map(|error| error.to_string()));
    Ok(Recovered { lock, left, moved })
}

/// Those whose process is gone. Where the owner records cannot be read, commands that need them say so.
fn end_canaries(lock: &Lock) -> Result<()> {
    for canary in canary::abandoned().unwrap_or_default() {
        canary::end(lock, &canary)?;
        canary.remove_lock()?;
    }
    Ok(())
}

/// The same for what must work on every host: defaults are left as they are, and sockets of rules where it fails.
pub fn recover_rules(patience: Duration) -> Result<Recovered> {
    let lock = Lock::take(patience)?;
    let (moved, left) = match settle_rules() {
        Ok(moved) => (moved, Vec::new()),
        Err(error) => (Moved::default(), vec![error.to_string()]),
    };
    Ok(Recovered { lock, left, moved })
}

fn settle_rules() -> Result<Moved> {
    if rules::is_unsettled() {
        rules::settle()
    } else {
        Ok(Moved::default())
    }
}

/// Runs `switch`, after which namespaces must look up the names of their defaults again. A kill in between leaves a
/// mark, and whoever recovers next does it. Gives the namespaces that could not, with the reason.
pub(crate) fn settle_after(_lock: &Lock, switch: impl FnOnce() -> Result<()>) -> Result<Vec<String>> {
    ccctl_runfiles::write(Path::new(UNSETTLED_FILE), b"")?;
    let switched = switch();
    let left = settle_defaults();
    switched.map(|()| left)
}

/// One namespace does not keep the others waiting, nor the command. The mark stays while there is something that another
/// try may mend.
fn settle_defaults() -> Vec<String> {
    let followed = bpffs::instance_names().and_then(|names| default::look_up_again(&names));
    let mut left = match followed {
        Ok(not_followed) if not_followed.may_yet => return not_followed.namespaces,
        Ok(not_followed) => not_followed.namespaces,
        Err(error) => return vec![error.to_string()],
    };
    left.extend(ccctl_runfiles::remove(Path::new(UNSETTLED_FILE)).err().map(|error| error.to_string()));
    left
}
