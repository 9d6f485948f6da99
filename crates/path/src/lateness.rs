// SPDX-License-Identifier: GPL-2.0-only
//! How late something was, over a run: its distribution, and in how many windows of 100 ms it mattered.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::spec::Bounds;

/// What an ACK clock of tens of milliseconds can notice.
pub(super) const WINDOW: Duration = Duration::from_millis(100);
const WINDOW_NS: u64 = WINDOW.as_nanos() as u64;
const LONGEST_NS: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

/// A measure of lateness at work.
#[derive(Debug)]
pub(super) struct Lateness {
    histogram: Histogram<u64>,
    late: Windows,
    very_late: Windows,
}

/// Windows in which something was later than a bound.
#[derive(Debug)]
struct Windows {
    bound_ns: u64,
    count: u64,
    last: Option<u64>,
}

impl Windows {
    fn new(bound: Duration) -> Self {
        Self { bound_ns: bound.as_nanos() as u64, count: 0, last: None }
    }

    /// What was late by more than a window has spoilt all that it reaches back to.
    fn note(&mut self, now_ns: u64, late_ns: u64) {
        if late_ns <= self.bound_ns {
            return;
        }
        let window = now_ns / WINDOW_NS;
        let first = (now_ns.saturating_sub(late_ns) + self.bound_ns) / WINDOW_NS;
        let first = self.last.map_or(first, |last| first.max(last + 1));
        self.count += (window + 1).saturating_sub(first);
        self.last = self.last.max(Some(window));
    }
}

impl Lateness {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let mut histogram =
            Histogram::new_with_max(LONGEST_NS, DIGITS).expect("3 digits up to 60 s are within its range");
        histogram.auto(false);
        Self { histogram, late: Windows::new(bounds.late), very_late: Windows::new(bounds.very_late) }
    }

    /// At `now_ns` something was done that was due so long before.
    pub(super) fn note(&mut self, now_ns: u64, late_ns: u64) {
        self.histogram.saturating_record(late_ns);
        self.late.note(now_ns, late_ns);
        self.very_late.note(now_ns, late_ns);
    }

    /// So many things were noted.
    pub(super) fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub(super) fn report(&self, run: Duration) -> LatenessReport {
        let at = |share| Duration::from_nanos(self.histogram.value_at_quantile(share));
        let windows = (run.as_nanos() as u64).div_ceil(WINDOW_NS).max(1);
        LatenessReport {
            count: self.histogram.len(),
            median: at(0.5),
            p99: at(0.99),
            max: Duration::from_nanos(self.histogram.max()),
            windows,
            late_windows: self.late.count.min(windows),
            very_late_windows: self.very_late.count.min(windows),
        }
    }
}

/// How late something was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatenessReport {
    /// How often it was looked at.
    pub count: u64,
    /// Middle value.
    pub median: Duration,
    /// One in a hundred was later.
    pub p99: Duration,
    /// Latest.
    pub max: Duration,
    /// Windows of 100 ms of the run.
    pub windows: u64,
    /// Of those, with something later than [`Bounds::late`].
    pub late_windows: u64,
    /// With something later than [`Bounds::very_late`].
    pub very_late_windows: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn lateness(notes: &[(u64, u64)]) -> LatenessReport {
        let mut lateness = Lateness::new(&Bounds::default()); // 1 and 5 ms
        for (now_ms, late_us) in notes {
            lateness.note(now_ms * MS, late_us * 1000);
        }
        lateness.report(Duration::from_secs(2))
    }

    #[test]
    fn a_window_is_late_once() {
        let report = lateness(&[(0, 20), (10, 1000), (110, 1500), (120, 6000), (250, 5000), (1999, 9000)]);
        assert_eq!((report.windows, report.late_windows, report.very_late_windows), (20, 3, 2));
    }

    /// What is handed over at 1000 ms instead of 650 ms was late from 651 ms on: in the windows 6 to 10.
    #[test]
    fn a_long_stall_spoils_all_of_its_windows() {
        let report = lateness(&[(1000, 350_000), (1001, 350_000)]);
        assert_eq!(report.late_windows, 5);
    }

    #[test]
    fn quantiles_are_those_of_what_was_noted() {
        let notes: Vec<_> = (1..=1000).map(|late_us| (0, late_us)).collect();
        let report = lateness(&notes);
        assert_eq!(report.count, 1000);
        assert!(
            report.median.as_micros().abs_diff(500) <= 1 && report.p99.as_micros().abs_diff(990) <= 1,
            "{report:?}"
        );
    }
}
