// SPDX-License-Identifier: GPL-2.0-only
//! What runs a point of a scenario: the simulator, or anything that fills an [`Outcome`] alike.

mod netns;
mod outcome;
mod sim;
mod tables;
mod windows;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

pub use netns::{Algorithms, KernelAlgorithm, Netns, PathKind};
pub use outcome::{Flow, FlowSample, LinkSample, LinkSeries, Outcome, PathTiming, StateField, Transfer};
pub use sim::Sim;
pub use windows::{impossible_windows, WINDOWS_CHECKED};

use crate::experiment::PointSpec;

/// Why a run came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// It was asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// The scenario asks for what this backend does not have.
    #[error("the {backend} backend does not support {what}; use --backend sim, or change {key}")]
    Unsupported {
        /// Which.
        backend: &'static str,
        /// What.
        what: String,
        /// Where the scenario says so, as a path of `--set`.
        key: String,
    },
    /// The run was made, and is not to be believed.
    #[error("the run is invalid: {}", .reasons.join("; "))]
    Invalid {
        /// What speaks against it.
        reasons: Vec<String>,
    },
    /// An algorithm could not be made.
    #[error(transparent)]
    Instance(#[from] ccctl_sim::InstanceError),
    /// An interpreted algorithm did what the interpreter refuses.
    #[error("the algorithm failed: {0}; ccctl check FILE.o asks the kernel's verifier")]
    Fault(String),
    /// The simulation failed.
    #[error("the simulation failed: {0}")]
    Simulation(#[from] ccctl_sim::SimulationError),
    /// Anything else that a backend needs went wrong.
    #[error("{0}")]
    Failed(String),
}

/// Who waits for a run, and may stop it.
pub struct Watch<'a> {
    /// Set: stop as soon as possible.
    pub cancel: &'a AtomicBool,
    /// Told now and then what share of the run is done, 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl Watch<'_> {
    /// Reports, and ends the run where that was asked for. Backends call it after each sample.
    pub fn pass(&self, done: f64) -> Result<(), BackendError> {
        (self.progress)(done);
        if self.cancel.load(Ordering::Relaxed) {
            return Err(BackendError::Cancelled);
        }
        Ok(())
    }
}

/// Something that runs experiments.
///
/// A run takes one thread. The same setup and seed are the same experiment; that they have the same outcome is only asked of
/// backends whose [`is_deterministic`](Self::is_deterministic) is true.
pub trait Backend: Sync {
    /// As `--backend` names it.
    fn name(&self) -> &'static str;

    /// Is the outcome a function of setup and seed?
    fn is_deterministic(&self) -> bool;

    /// What it runs on, where that decides about results: "Linux 6.18.44". Runs on different ones do not belong together. Which
    /// build of it a run was made on stands beside the run ([`Made`](crate::run::Made)).
    fn host(&self) -> Option<String> {
        None
    }

    /// What of it decides about results, or whether they count, by name; runs with other settings do not belong together.
    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Runs at once where nobody says how many.
    fn usual_jobs(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Can it run this? Asked for all points before the first is run.
    fn check(&self, setup: &PointSpec) -> Result<(), BackendError>;

    /// Runs it.
    fn run(&self, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError>;
}
