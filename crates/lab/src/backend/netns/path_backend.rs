// SPDX-License-Identifier: GPL-2.0-only
//! What carries the packets of a run: the emulated path, or the kernel's netem.

use std::time::Duration;

use super::super::PathTiming;
use ccctl_path::{Endpoints, NetemPath, Path, PathReport, PathSpec, PathTime, QueueSample};
use ccctl_testbed::{Namespace, TestbedError};

/// Which path carries packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PathKind {
    /// The lab's router.
    #[default]
    Emulator,
    /// The kernel's queueing discipline, where it has one.
    Netem,
}

/// A path at work.
pub(super) enum Road {
    Emulated(Box<Path>),
    Netem(Box<NetemPath>),
}

impl Road {
    pub(super) fn start(kind: PathKind, spec: &PathSpec) -> Result<Self, TestbedError> {
        match kind {
            PathKind::Emulator => Path::start(spec).map(Box::new).map(Self::Emulated),
            PathKind::Netem => NetemPath::start(spec).map(Box::new).map(Self::Netem),
        }
    }

    /// Its senders and its receiver.
    pub(super) fn endpoints(&self) -> &Endpoints {
        match self {
            Self::Emulated(path) => path.endpoints(),
            Self::Netem(path) => path.endpoints(),
        }
    }

    pub(super) fn set_route(&self, end: &Namespace, attributes: &[String]) -> Result<(), TestbedError> {
        match self {
            Self::Emulated(path) => path.set_route(end, attributes),
            Self::Netem(path) => path.set_route(end, attributes),
        }
    }

    /// The path's time.
    pub(super) fn time(&self) -> PathTime {
        match self {
            Self::Emulated(path) => path.time(),
            Self::Netem(path) => path.time(),
        }
    }

    /// Ends the run, whose times count from `began`.
    pub(super) fn stop(self, began: Duration) -> Result<RoadReport, TestbedError> {
        match self {
            Self::Emulated(path) => {
                let report = path.stop_counted_from(began)?;
                let (faults, timing) = (report.faults(), Some(timing(&report)));
                let faults = faults.iter().map(ToString::to_string).collect();
                Ok(RoadReport { series: report.router.series, faults, timing })
            }
            Self::Netem(path) => {
                Ok(RoadReport { series: path.stop_counted_from(began)?, faults: Vec::new(), timing: None })
            }
        }
    }
}

/// What a path has seen of a run.
pub(super) struct RoadReport {
    /// Of the bottleneck.
    pub(super) series: Vec<QueueSample>,
    /// What speaks against the run.
    pub(super) faults: Vec<String>,
    /// How well it kept its times, where it measures that.
    pub(super) timing: Option<PathTiming>,
}

fn timing(report: &PathReport) -> PathTiming {
    let PathReport { router, latency_probe, .. } = report;
    PathTiming {
        clock_pause: router.clock_pause,
        stalls: router.stalls.clone(),
        latest_handover: router.releases.max,
        latest_echo: latency_probe.excess.max,
    }
}
