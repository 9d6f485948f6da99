// SPDX-License-Identifier: MIT OR Apache-2.0
//! One writer at a time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ccctl_runfiles::FOLDER;

use crate::error::{Error, Result};

const LOCK_FILE: &str = "/run/ccctl/lock";

/// Held while something is changed; the kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    held: ccctl_runfiles::Lock,
}

impl Lock {
    /// Waits up to `patience` for another ccctl to finish.
    pub(crate) fn take(patience: Duration) -> Result<Self> {
        ccctl_runfiles::make_folder()?;
        let held = ccctl_runfiles::Lock::take(Path::new(LOCK_FILE), patience)?;
        Ok(Self { held })
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
