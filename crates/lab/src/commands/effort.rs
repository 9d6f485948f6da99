// SPDX-License-Identifier: GPL-2.0-only
//! How much work runs are.

use ccctl_lab::experiment::point_spec::Link;
use ccctl_lab::experiment::PointSpec;
use ccctl_lab::scenario::Scenario;

/// What one processor simulates of packets in a second, roughly: `docs/internals/simulator.md` has measurements.
const PACKETS_PER_S: f64 = 2e6;

/// What a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Work for a processor: how fast it is shows.
    Work,
    /// Its own time on the wall, known before; so many at once.
    Time {
        /// Runs at once.
        jobs: usize,
    },
}

impl Effort {
    /// Of a run: packets, or seconds.
    pub fn of(self, setup: &PointSpec) -> f64 {
        match self {
            Self::Work => packets(setup),
            Self::Time { .. } => setup.duration.as_secs_f64(),
        }
    }
}

/// Packets of a run, if its links are always busy.
pub fn packets(setup: &PointSpec) -> f64 {
    let of_link = |link: &Link| {
        link.bits_per_s() as f64 / 8.0 / f64::from(link.packet_bytes.max(1)) * setup.duration.as_secs_f64()
    };
    setup.links.iter().map(of_link).sum()
}

/// Packets of all runs.
pub fn packets_of_all(scenario: &Scenario) -> f64 {
    let of_points: f64 = scenario.points.iter().map(|point| packets(&point.setup)).sum();
    of_points * f64::from(scenario.repeats)
}

/// Seconds of one processor.
pub fn processor_s(packets: f64) -> f64 {
    packets / PACKETS_PER_S
}
