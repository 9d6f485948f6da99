// SPDX-License-Identifier: GPL-2.0-only
//! What a scenario takes of memory, estimated before anything is run.

use ccctl_sim::{LinkRate, Stall};

use super::point_spec::{PointSpec, Schedule};

/// One run may take this much: the estimate is high, so that a run that is allowed fits.
pub(crate) const RUN_BYTES_MAX: u64 = 1 << 29;

/// All points of a sweep together, before any is run.
pub(crate) const SWEEP_BYTES_MAX: u64 = 1 << 28;

/// Runs of a scenario, all repeats of all points.
pub(crate) const MAX_RUNS: u64 = 1_000_000;

/// A connection in the simulator, without what is in flight: 33 kB were measured with 200 samples.
const FLOW_BYTES: u64 = 1 << 14;

/// A sample of a flow, with the state of its algorithm.
const FLOW_SAMPLE_BYTES: u64 = 400;

/// A sample of a link.
const LINK_SAMPLE_BYTES: u64 = 64;

/// A row of a series while it is written: 12 columns, those of the state, and the copy in the file's format.
const SERIES_ROW_BYTES: u64 = 1500;

/// A point of a sweep; groups with all their parameters are most of it.
const POINT_BYTES: u64 = 1 << 10;
const GROUP_BYTES: u64 = 1 << 10;

/// What a run takes: with this many flows and links, and samples of each.
pub(crate) fn run_bytes(flows: u64, links: u64, samples: u64) -> u64 {
    let per_time = flows.saturating_mul(FLOW_SAMPLE_BYTES).saturating_add(links * LINK_SAMPLE_BYTES + SERIES_ROW_BYTES);
    samples.saturating_mul(per_time).saturating_add(flows.saturating_mul(FLOW_BYTES))
}

impl PointSpec {
    /// What one run of this takes.
    #[must_use]
    pub fn run_bytes(&self) -> u64 {
        let flows = self.groups.iter().map(|group| group.schedule.len() as u64).sum();
        let samples = self.duration.as_nanos() / self.sample_interval.as_nanos().max(1) + 1;
        run_bytes(flows, self.links.len() as u64, u64::try_from(samples).unwrap_or(u64::MAX))
    }

    /// What it takes before it is run.
    pub(crate) fn bytes(&self) -> u64 {
        let group = |flows: usize| GROUP_BYTES + (flows * size_of::<Schedule>()) as u64;
        let link = |rate: &LinkRate| match rate {
            LinkRate::Constant(_) => 0,
            LinkRate::Trace(trace) => (trace.opportunities() * size_of::<u32>()) as u64,
        };
        POINT_BYTES
            + (self.stalls.len() * size_of::<Stall>()) as u64
            + self.groups.iter().map(|it| group(it.schedule.len())).sum::<u64>()
            + self.links.iter().map(|it| link(&it.spec.rate)).sum::<u64>()
    }
}
