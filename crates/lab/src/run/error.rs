// SPDX-License-Identifier: GPL-2.0-only
//! Why an experiment could not be run, or its folder not be used.

use std::io;
use std::path::{Path, PathBuf};

use crate::backend::BackendError;
use crate::experiment::ScenarioError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A point cannot be run, or its run failed.
    #[error("{at}: {cause}")]
    Unit {
        /// Point and repeat.
        at: String,
        /// Why.
        cause: BackendError,
    },
    /// The folder holds something else.
    #[error("{folder} holds {what}; choose another folder: --out DIR")]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        what: String,
    },
    /// Something else is where a folder of results must be.
    #[error("{0} is a link or a file where a folder must be; remove it, or choose another folder: --out DIR")]
    NotAFolder(PathBuf),
    /// Runs that would take more memory than there is.
    #[error("{jobs} parallel runs need about {need_mb} MB of memory, but {available_mb} MB are free; {remedy}")]
    Memory {
        /// Runs at once.
        jobs: usize,
        /// All of them.
        need_mb: u64,
        /// On this host.
        available_mb: u64,
        /// What to change.
        remedy: &'static str,
    },
    /// The folder is not there, or not one of ccctl.
    #[error("{0} has no runs of ccctl; name a folder that `ccctl lab run` has made")]
    NoRuns(PathBuf),
    /// Another ccctl writes to it.
    #[error("{0} is in use by another ccctl; wait for it, or choose another folder: --out DIR")]
    Locked(PathBuf),
    /// A file of a folder is not what ccctl wrote.
    #[error("{file}: {what}; remove it and repeat the command: its run is made again")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Folders cannot be put together.
    #[error(
        "{folder} is of another scenario, seed, version or backend than {first}; only shards of one can be merged"
    )]
    Different {
        /// This one
        folder: PathBuf,
        /// and this.
        first: PathBuf,
    },
    /// A folder is none of those that a page is made of.
    #[error("{folder}: {what}")]
    Unfit {
        /// The folder.
        folder: PathBuf,
        /// What is wrong, and what is asked for.
        what: String,
    },
    /// There is no such shard.
    #[error("there is no shard {0}; write I/N with I from 1 to N, such as 1/4")]
    Shard(String),
    /// The file system.
    #[error("cannot {step} {path}: {cause}")]
    Io {
        /// What was tried.
        step: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A time series could not be written.
    #[error(transparent)]
    Series(#[from] ccctl_series::FileError),
}

impl RunError {
    /// Adds step and path to an I/O error.
    pub(crate) fn io(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { step, path, cause }
    }
}
