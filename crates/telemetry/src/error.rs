// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong with the ACK clock.

use std::io;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A step that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process may not do what is needed.
    #[error("{what} needs {needed}, and this process lacks {lacking}")]
    Privileges {
        /// Who needs it.
        what: &'static str,
        /// All that is needed.
        needed: &'static str,
        /// What is missing of it.
        lacking: String,
    },

    /// There is no such interface here, or it is down.
    #[error("no interface {name} that is up in this network namespace")]
    Interface {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },

    /// An interface takes none of the clock's programs.
    #[error("{interface}: no place for the ACK clock: {cause}")]
    NoPlace {
        /// Its name.
        interface: String,
        /// What each place said.
        cause: String,
    },

    /// The kernel lacks something.
    #[error("this kernel has no {0}")]
    Kernel(&'static str),

    /// An object of ours could not be loaded.
    #[error("load {object}")]
    Object {
        /// Which.
        object: &'static str,
        /// Why.
        source: aya::EbpfError,
    },

    /// A program could not be loaded or attached; the verifier's log is in the source.
    #[error("{step} {program}")]
    Program {
        /// What was tried.
        step: &'static str,
        /// With which.
        program: String,
        /// Why not.
        source: Box<aya::programs::ProgramError>,
    },

    /// A map could not be read.
    #[error("read the map {map}")]
    Map {
        /// Which.
        map: &'static str,
        /// Why.
        source: aya::maps::MapError,
    },

    /// A file of ours below `/run`.
    #[error(transparent)]
    File(#[from] ccctl_runfiles::Error),

    /// A file or system call failed.
    #[error("{step}")]
    Io {
        /// What was tried.
        step: String,
        /// Why not.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        move |source| Self::Io { step, source }
    }

    pub(crate) fn map(map: &'static str) -> impl FnOnce(aya::maps::MapError) -> Self {
        move |source| Self::Map { map, source }
    }

    /// What to try.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Privileges { .. } => Some("run it as root".to_owned()),
            Self::Interface { known, .. } => Some(format!("one of: {}", known.join(", "))),
            Self::NoPlace { .. } => {
                Some("use --at auto, or remove the other program from the interface: bpftool net shows it".to_owned())
            }
            Self::Kernel(_) => Some("Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y".to_owned()),
            Self::File(error) => error.remedy(),
            _ => None,
        }
    }
}
