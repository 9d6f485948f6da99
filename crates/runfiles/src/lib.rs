// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files below `/run`: the locks, and what must outlive a process but not the host.
//!
//! Whoever may read a file may also hold a lock on it, and whoever may write in a folder may exchange what is in it. So a
//! file has mode 0600 and the right owner whatever the umask is, links are not followed, nothing waits for ever, and the
//! process that holds a lock is asked of the kernel.

mod file;
mod holder;
mod lock;

pub use file::{make_folder, open, read, remove, write, FOLDER};
pub use holder::{holder, Holder};
pub use lock::Lock;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another user could have made it or could change it.
    #[error("{} {what}", path.display())]
    Unsafe {
        /// File or folder.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// What to type.
        remedy: String,
    },
    /// Another process holds the lock.
    #[error("no lock on {} within {} s: {} holds it", path.display(), waited.as_secs(), Holder::describe(holder.as_ref()))]
    Held {
        /// File.
        path: PathBuf,
        /// Process; None where it cannot be seen from here.
        holder: Option<Holder>,
        /// How long this process has waited.
        waited: Duration,
    },
    /// A system call failed.
    #[error("{step}: {answer}")]
    Io {
        /// What was being done, and to what.
        step: String,
        /// The kernel's answer.
        answer: io::Error,
    },
}

impl Error {
    pub(crate) fn io(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |answer| Self::Io { step, answer }
    }

    /// What the user can try, if anything is known.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Unsafe { remedy, .. } => Some(remedy.clone()),
            Self::Held { holder: Some(holder), .. } => {
                Some(format!("wait for it; ps -f -p {} shows what it does", holder.pid))
            }
            Self::Held { path, holder: None, .. } => {
                Some(format!("wait for it, or ask lslocks who has {}", path.display()))
            }
            Self::Io { answer, .. } => remedy_of(answer),
        }
    }
}

/// What to try after an answer of the kernel that concerns a file below `/run`.
#[must_use]
pub fn remedy_of(answer: &io::Error) -> Option<String> {
    match answer.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("make room: df -h /run and df -i /run show what is full".to_owned())
        }
        _ => None,
    }
}
