// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong, with what to try.

use std::io;
use std::path::PathBuf;

use ccctl_catalog::{LayoutError, ParameterError, ProfileError};

use crate::writable_list::writable_text;

/// Result of a loader operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation was not done. Unless a variant says otherwise, the kernel is as it was.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An algorithm, instance or file of this name does not exist.
    #[error("there is no {kind} {name:?}")]
    Unknown {
        /// "algorithm", "instance", ...
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What to type instead.
        hint: String,
    },
    /// A kernel name that no algorithm can have.
    #[error("{name:?} cannot be a kernel name: 1 to 15 of A-Z a-z 0-9 _ .")]
    BadName {
        /// What was asked for.
        name: String,
    },
    /// A parameter or its value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// An object file that is not one of ours.
    #[error("{object}: {error}")]
    Object {
        /// File or algorithm.
        object: String,
        /// What is wrong with it.
        error: LayoutError,
    },
    /// A request that makes no sense, whatever the host has.
    #[error("{cause}")]
    Request {
        /// What is wrong with it.
        cause: String,
        /// What to type instead.
        remedy: String,
    },
    /// The kernel name is in use.
    #[error("the name {name} is taken: {by}")]
    Taken {
        /// Kernel name.
        name: String,
        /// By whom.
        by: String,
        /// What to try.
        hint: String,
    },
    /// Sockets still use it.
    #[error("{name} is in use by {users}")]
    InUse {
        /// Kernel name.
        name: String,
        /// How many sockets, in words.
        users: String,
    },
    /// The host lacks something.
    #[error("{cause}")]
    Host {
        /// What is missing.
        cause: String,
        /// How to get it.
        remedy: String,
    },
    /// The verifier, or the kernel's check of the table, refused the program.
    #[error("the kernel refused {object}: {cause}; {}", place(log))]
    Refused {
        /// File or algorithm.
        object: String,
        /// The log's last words.
        cause: String,
        /// What to change.
        remedy: String,
        /// The whole log.
        log: LogFile,
    },
    /// The kernel would not register it: its table lacks a hook that is required, or has a flag that the kernel does not know.
    #[error("the kernel refuses {object}: {cause}")]
    Table {
        /// File or algorithm.
        object: String,
        /// Which hook, or the flags.
        cause: String,
        /// What to change.
        remedy: String,
    },
    /// The program writes a field of the socket that this kernel does not let BPF programs write.
    #[error("{object} writes {field}, which BPF programs may not write on this kernel; {}", place(log))]
    Unwritable {
        /// File or algorithm.
        object: String,
        /// Name of the field.
        field: String,
        /// Linux from which on it may be written; None: no kernel allows it.
        since: Option<&'static str>,
        /// The whole log.
        log: LogFile,
    },
    /// Another ccctl is at work, or something else holds its lock.
    #[error("{cause}")]
    Locked {
        /// Which process holds it, and how long was waited.
        cause: String,
        /// What to try.
        remedy: String,
    },
    /// A network namespace has gone since it was found.
    #[error("the network namespace {namespace} no longer exists")]
    Gone {
        /// How it was called.
        namespace: String,
    },
    /// Some of it could not be done; the rest was.
    #[error("{}", .causes.join("; "))]
    Partly {
        /// What not, and why.
        causes: Vec<String>,
    },
    /// A system call failed.
    #[error("{step}: {answer}")]
    Kernel {
        /// What was being done, and to what.
        step: String,
        /// The kernel's answer.
        answer: io::Error,
    },
}

/// Where the verifier's log was written, or why it could not be.
pub type LogFile = std::result::Result<PathBuf, String>;

fn place(log: &LogFile) -> String {
    match log {
        Ok(path) => format!("the log is in {}", path.display()),
        Err(cause) => format!("the log could not be written ({cause})"),
    }
}

impl Error {
    /// Wraps a failed system call; "not permitted" becomes a statement about privileges.
    pub(crate) fn kernel(step: impl Into<String>, answer: io::Error) -> Self {
        let step = step.into();
        if answer.kind() == io::ErrorKind::PermissionDenied {
            return Self::Host {
                cause: format!("{step}: not permitted"),
                remedy:
                    "run as root, or with CAP_NET_ADMIN and CAP_SYS_ADMIN; members of the daemon's read_group may ask \
                         the daemon"
                        .to_owned(),
            };
        }
        Self::Kernel { step, answer }
    }

    /// A file of the user's that could not be read.
    #[must_use]
    pub fn unread(path: &str, answer: io::Error) -> Self {
        use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
        match answer.kind() {
            NotFound | IsADirectory | NotADirectory => Self::Request {
                cause: format!("read {path}: {answer}"),
                remedy: "name an algorithm (ccctl algorithms lists them) or an object file".to_owned(),
            },
            _ => Self::kernel(format!("read {path}"), answer),
        }
    }

    /// The same for a call through libbpf.
    pub(crate) fn libbpf(step: impl Into<String>, source: &libbpf_rs::Error) -> Self {
        let kind = match source.kind() {
            libbpf_rs::ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
            libbpf_rs::ErrorKind::NotFound => io::ErrorKind::NotFound,
            _ => io::ErrorKind::Other,
        };
        Self::kernel(step, io::Error::new(kind, source.to_string()))
    }

    /// What the user can try, if anything is known.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Unknown { hint, .. } | Self::Taken { hint, .. } => Some(hint.clone()),
            Self::Host { remedy, .. } | Self::Request { remedy, .. } | Self::Locked { remedy, .. } => {
                Some(remedy.clone())
            }
            Self::InUse { name, .. } => {
                Some(format!("ccctl unload {name} --migrate-to OTHER, or --force to leave them on the old program"))
            }
            Self::Unwritable { since: Some(version), .. } => Some(format!("use Linux {version} or newer")),
            Self::Unwritable { field, since: None, .. } => {
                Some(format!("do not write {field}: algorithms may write {}", writable_text()))
            }
            Self::Parameter(error) => Some(error.remedy().map_or_else(
                || "ccctl show ALGORITHM --all lists its parameters and their ranges".to_owned(),
                str::to_owned,
            )),
            Self::Object { error, .. } => Some(error.remedy()),
            Self::Refused { remedy, .. } | Self::Table { remedy, .. } => Some(remedy.clone()),
            Self::BadName { name } => Some(format!("use another name, such as {}", possible_name(name))),
            Self::Profile(error) => Some(error.remedy()),
            Self::Kernel { answer, .. } => ccctl_runfiles::remedy_of(answer),
            _ => None,
        }
    }
}

/// The kernel name most like one that the kernel does not take.
fn possible_name(name: &str) -> String {
    let allowed = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '_' };
    let name: String = name.chars().map(allowed).take(15).collect();
    if name.chars().any(|letter| letter.is_ascii_alphanumeric()) {
        name
    } else {
        "mine".to_owned()
    }
}

impl From<ccctl_runfiles::Error> for Error {
    fn from(error: ccctl_runfiles::Error) -> Self {
        use ccctl_runfiles::Error as Files;
        let (cause, remedy) = (error.to_string(), error.remedy().unwrap_or_default());
        match error {
            Files::Unsafe { .. } => Self::Host { cause, remedy },
            Files::Held { .. } => Self::Locked { cause, remedy },
            Files::Io { step, answer } => Self::kernel(step, answer),
        }
    }
}

/// The answer to "not permitted".
pub(crate) fn privileges_missing(step: &str) -> Error {
    Error::kernel(step, std::io::ErrorKind::PermissionDenied.into())
}
