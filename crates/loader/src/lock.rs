// SPDX-License-Identifier: MIT OR Apache-2.0
//! One writer at a time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ccctl_runfiles::FOLDER;

use crate::error::{Error, Result};
use crate::{bpffs, default, rules};

const LOCK_FILE: &str = "/run/ccctl/lock";
/// There while a swap is between its switch and the defaults that must follow it.
const UNSETTLED_FILE: &str = "/run/ccctl/unsettled";

/// Held while something is changed; the kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    held: ccctl_runfiles::Lock,
    left: Vec<String>,
}

impl Lock {
    /// Waits up to `patience` for another ccctl to finish, and finishes what one that was killed has left.
    pub fn take(patience: Duration) -> Result<Self> {
        let mut lock = Self::wait(patience)?;
        if is_unsettled() {
            lock.left = settle();
        }
        if rules::is_unsettled() {
            rules::settle()?;
        }
        Ok(lock)
    }

    /// The same for what must work on every host: defaults are left as they are, and sockets of rules where it fails.
    pub fn take_as_it_is(patience: Duration) -> Result<Self> {
        let mut lock = Self::wait(patience)?;
        if rules::is_unsettled() {
            lock.left.extend(rules::settle().err().map(|error| error.to_string()));
        }
        Ok(lock)
    }

    fn wait(patience: Duration) -> Result<Self> {
        ccctl_runfiles::make_folder()?;
        let held = ccctl_runfiles::Lock::take(Path::new(LOCK_FILE), patience)?;
        Ok(Self { held, left: Vec::new() })
    }

    /// What a killed ccctl has left and could not be finished, with the reason: mostly one for each network namespace.
    #[must_use]
    pub fn left(&self) -> &[String] {
        &self.left
    }

    /// Runs `switch`, after which namespaces must look up the names of their defaults again. A kill in between leaves a
    /// mark, and whoever takes the lock next does it. Gives the namespaces that could not, with the reason.
    pub(crate) fn settle_after(_lock: &Self, switch: impl FnOnce() -> Result<()>) -> Result<Vec<String>> {
        ccctl_runfiles::write(Path::new(UNSETTLED_FILE), b"")?;
        let switched = switch();
        let left = settle();
        switched.map(|()| left)
    }

    /// Removes all of ours below `/run/ccctl`, and the lock itself at last: whoever waits for it makes a new one.
    pub fn remove_files(self) -> Result<()> {
        for path in removable()? {
            ccctl_runfiles::remove(&path)?;
        }
        self.held.remove()?;
        let _ = fs::remove_dir(FOLDER); // a daemon's socket may be in it
        Ok(())
    }
}

/// What a verifier said, and what is noted for whoever takes the lock next: nothing is left to do.
fn removable() -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(FOLDER).map_err(|error| Error::kernel(format!("read {FOLDER}"), error))?;
    let is_ours = |name: &str| name.starts_with("verifier-") || name.starts_with("unsettled");
    Ok(entries
        .flatten()
        .filter(|entry| is_ours(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect())
}

fn is_unsettled() -> bool {
    Path::new(UNSETTLED_FILE).exists()
}

/// One namespace does not keep the others waiting, nor the command. The mark stays while there is something that another
/// try may mend.
fn settle() -> Vec<String> {
    let followed = bpffs::instance_names().and_then(|names| default::look_up_again(&names));
    let mut left = match followed {
        Ok(not_followed) if not_followed.may_yet => return not_followed.namespaces,
        Ok(not_followed) => not_followed.namespaces,
        Err(error) => return vec![error.to_string()],
    };
    left.extend(ccctl_runfiles::remove(Path::new(UNSETTLED_FILE)).err().map(|error| error.to_string()));
    left
}
