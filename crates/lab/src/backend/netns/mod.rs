// SPDX-License-Identifier: GPL-2.0-only
//! The running kernel's TCP over the emulated path as a backend.
//!
//! Each group of flows has a namespace of its own; its sockets are held here, and what a sample says comes from them
//! (`TCP_INFO`) and from the kernel's memory of the algorithm's state. A run that the path itself calls invalid yields no
//! outcome.

mod application;
mod content;
mod endpoints;
mod flow;
mod moment;
mod path_backend;
mod plan;
mod run;
mod threshold;

use ccctl_catalog::ParameterSet;

use super::{Backend, BackendError, Outcome, Watch};
use crate::experiment::PointSpec;
use ccctl_path::{Bounds, Waiting};
pub use path_backend::PathKind;

/// An algorithm that sockets can ask for, as long as this is there.
pub trait KernelAlgorithm: Send + Sync {
    /// As `TCP_CONGESTION` takes it.
    fn kernel_name(&self) -> &str;
}

/// Who puts algorithms into the kernel: the lab does not know how.
pub trait Algorithms: Sync {
    /// The algorithm with these parameters, to be taken out again when the result is dropped.
    fn provide(&self, algorithm: &str, parameters: &ParameterSet) -> Result<Box<dyn KernelAlgorithm>, BackendError>;
}

/// Network namespaces with an emulated path between them.
pub struct Netns<'a> {
    /// Where algorithms come from.
    pub algorithms: &'a dyn Algorithms,
    /// What carries packets.
    pub path: PathKind,
    /// How the router waits.
    pub waiting: Waiting,
    /// What a run must keep; without it, what its path asks for ([`Bounds::of`]).
    pub bounds: Option<Bounds>,
}

impl Backend for Netns<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn is_deterministic(&self) -> bool {
        false
    }

    /// All routers share one processor, and their work makes each other late.
    fn usual_jobs(&self) -> usize {
        1
    }

    fn check(&self, setup: &PointSpec) -> Result<(), BackendError> {
        self.check_all(setup)
    }

    fn run(&self, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
        self.check_all(setup)?;
        run::run(self, setup, seed, watch)
    }
}

impl Netns<'_> {
    fn check_all(&self, setup: &PointSpec) -> Result<(), BackendError> {
        plan::check(setup)?;
        match self.path {
            PathKind::Emulator => Ok(()),
            PathKind::Netem => plan::check_netem(setup),
        }
    }
}

const NAME: &str = "netns";
