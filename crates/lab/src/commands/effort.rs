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

/// No more digits than are known: "0.5 s", "12 s", "4 min", "1.9 h".
pub fn rough(seconds: f64) -> String {
    match seconds {
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        _ if seconds < 99.5 => format!("{seconds:.0} s"),
        _ if seconds < 99.5 * 60.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::rough;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let cases =
            [(0.34, "0.3 s"), (12.3, "12 s"), (95.0, "95 s"), (100.0, "2 min"), (3600.0, "60 min"), (6840.0, "1.9 h")];
        for (seconds, text) in cases {
            assert_eq!(rough(seconds), text);
        }
    }
}
