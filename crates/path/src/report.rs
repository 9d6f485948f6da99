// SPDX-License-Identifier: GPL-2.0-only
//! What a run on the path was, and whether it is to be believed.

use std::time::Duration;

use super::devices::DeviceCounters;
use super::latency_probe::ProbeReport;
use super::lateness::LatenessReport;
use super::router::RouterReport;
use super::spec::Bounds;

/// Errors of the rate below this time are those of single packets.
const LEAST_RATE_TIME: Duration = Duration::from_secs(1);

/// All that is known of a run.
#[derive(Debug, Clone)]
pub struct PathReport {
    /// The router's counters and its own lateness.
    pub router: RouterReport,
    /// Echoes through the whole path.
    pub latency_probe: ProbeReport,
    /// The devices of all ends, the receiver's last.
    pub devices: Vec<DeviceCounters>,
    /// Processor time that the hypervisor gave to others during the run, of all processors.
    pub stolen: Duration,
    /// What the run had to keep.
    pub bounds: Bounds,
}

/// Why a run is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Packets were late.
    #[error("{what} late by more than {bound:?} in {late} of {windows} windows of 100 ms (median {median:?}, largest {max:?})")]
    Late {
        /// What was late.
        what: &'static str,
        /// By more than this.
        bound: Duration,
        /// In so many windows.
        late: u64,
        /// Of these.
        windows: u64,
        /// Middle value of all.
        median: Duration,
        /// Largest.
        max: Duration,
    },
    /// The bottleneck was too slow or too fast.
    #[error("the rate was off by {error_pct:+.3} % over {time:?}")]
    Rate {
        /// Relative error.
        error_pct: f64,
        /// Over this time.
        time: Duration,
    },
    /// The router was kept from its work.
    #[error("the path's clock stood still for {stood:?} of {run:?}")]
    ClockPause {
        /// So long.
        stood: Duration,
        /// Of this.
        run: Duration,
    },
    /// Echoes are missing.
    #[error("{lost} of {sent} echoes did not come back")]
    Echoes {
        /// How many.
        lost: u64,
        /// Of these.
        sent: u64,
    },
    /// The kernel dropped packets that the queue did not.
    #[error("the device of end {end} dropped {pkts} packets")]
    DeviceDrops {
        /// Senders first, then the receiver.
        end: usize,
        /// How many.
        pkts: u64,
    },
    /// The kernel refused packets of the router.
    #[error("the kernel refused {pkts} packets")]
    Refused {
        /// How many.
        pkts: u64,
    },
    /// The counters of the router contradict each other.
    #[error("the router holds {held} packets and has counted {counted}")]
    Balance {
        /// In its lines.
        held: u64,
        /// Came and did not leave.
        counted: u64,
    },
    /// It stopped early.
    #[error("{0}")]
    Stopped(String),
}

impl PathReport {
    /// Whether nothing speaks against the run.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.faults().is_empty()
    }

    /// All that speaks against the run.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let router = &self.router;
        let mut faults: Vec<Fault> = router.failure.clone().map(Fault::Stopped).into_iter().collect();
        faults.extend(self.late("packets were handed over", &router.releases));
        if let Some(polls) = &router.polls {
            faults.extend(self.late("packets were taken in", polls));
        }
        faults.extend(self.late("echoes came", &self.latency_probe.excess));
        if router.rate_time >= LEAST_RATE_TIME && router.rate_error.abs() > self.bounds.rate_error {
            faults.push(Fault::Rate { error_pct: router.rate_error * 100.0, time: router.rate_time });
        }
        if router.clock_pause > router.run.mul_f64(self.bounds.clock_pause_share) {
            faults.push(Fault::ClockPause { stood: router.clock_pause, run: router.run });
        }
        faults.extend(self.losses());
        faults
    }

    fn late(&self, what: &'static str, seen: &LatenessReport) -> Vec<Fault> {
        let bounds = &self.bounds;
        [
            (bounds.late, bounds.late_windows_share, seen.late_windows),
            (bounds.very_late, bounds.very_late_windows_share, seen.very_late_windows),
        ]
        .into_iter()
        .filter(|(_, share, late)| *late as f64 > share * seen.windows as f64)
        .map(|(bound, _, late)| Fault::Late {
            what,
            bound,
            late,
            windows: seen.windows,
            median: seen.median,
            max: seen.max,
        })
        .collect()
    }

    fn losses(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.latency_probe.lost() > 0 || self.latency_probe.sent == 0 {
            faults.push(Fault::Echoes { lost: self.latency_probe.lost(), sent: self.latency_probe.sent });
        }
        for (end, device) in self.devices.iter().enumerate().filter(|(_, device)| device.dropped_pkts > 0) {
            faults.push(Fault::DeviceDrops { end, pkts: device.dropped_pkts });
        }
        if self.router.refused_pkts > 0 {
            faults.push(Fault::Refused { pkts: self.router.refused_pkts });
        }
        for direction in [&self.router.forward, &self.router.reverse] {
            let (held, counted) = (direction.held_pkts, direction.all.inside_pkts());
            if held != counted {
                faults.push(Fault::Balance { held, counted });
            }
        }
        faults
    }
}
