// SPDX-License-Identifier: GPL-2.0-only
//! The path's clock, which stands still while the router is kept from its work.
//!
//! A hypervisor or another process may take the router's processor for milliseconds. By the clock on the wall, all that was due
//! meanwhile would have to leave at once afterwards, and a burst would overflow queues that no wire overflows. By this clock
//! packets leave as far apart as they should, only later: TCP sees one RTT that is longer. As the ends are clocked by the
//! packets that the router hands over, they send little meanwhile. Times of a run are those of this clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ccctl_sim::Stall;

/// Time between two looks at the clock that the router may need for its work.
const WORK_NS: u64 = 500_000;

/// What is shorter than this is taken for work.
const SHORTEST_STALL_NS: u64 = 200_000;

/// So many stalls of a path are kept.
const MOST_STALLS: usize = 100_000;

/// Works out the path's time, in ns, from that on the wall.
#[derive(Debug, Default)]
pub(super) struct Clock {
    looked_ns: Option<u64>, // on the wall
    still_ns: u64,
    shown: ClockPause,
    stalls: Vec<Stall>,
}

/// How long a path's clock has stood still, for those outside of the router.
#[derive(Debug, Clone, Default)]
pub(super) struct ClockPause(Arc<AtomicU64>);

impl ClockPause {
    pub(super) fn duration(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// A path's time since it was made, for all who go by it: that on the wall, less the time for which the router was kept from its
/// work.
#[derive(Debug, Clone)]
pub struct PathTime {
    origin: Instant,
    pause: ClockPause,
}

impl PathTime {
    pub(super) fn new(origin: Instant, pause: ClockPause) -> Self {
        Self { origin, pause }
    }

    /// That of a path which never stands still.
    #[must_use]
    pub fn of_wall(origin: Instant) -> Self {
        Self::new(origin, ClockPause::default())
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.origin.elapsed().saturating_sub(self.pause.duration())
    }
}

impl Clock {
    pub(super) fn new(shown: ClockPause) -> Self {
        Self { shown, ..Self::default() }
    }

    /// The path's time at this time on the wall. Asked for before each piece of work.
    pub(super) fn at(&mut self, wall_ns: u64) -> u64 {
        let away_ns = wall_ns.saturating_sub(self.looked_ns.unwrap_or(wall_ns));
        if away_ns > SHORTEST_STALL_NS {
            self.note(wall_ns - away_ns - self.still_ns, away_ns);
        }
        if away_ns > WORK_NS {
            self.still_ns += away_ns - WORK_NS;
            self.shown.0.store(self.still_ns, Ordering::Relaxed);
        }
        self.looked_ns = Some(wall_ns);
        wall_ns - self.still_ns
    }

    fn note(&mut self, at_ns: u64, away_ns: u64) {
        if self.stalls.len() < MOST_STALLS {
            let [at, length, made_up] = [at_ns, away_ns, away_ns.min(WORK_NS)].map(Duration::from_nanos);
            self.stalls.push(Stall { at, length, made_up });
        }
    }

    /// The first 100,000 stalls.
    pub(super) fn into_stalls(self) -> Vec<Stall> {
        self.stalls
    }

    /// How long in all.
    pub(super) fn stood_still(&self) -> Duration {
        Duration::from_nanos(self.still_ns)
    }

    /// The router sleeps on purpose: until this time of the path, or until a packet comes.
    pub(super) fn sleep_until(&mut self, due_ns: Option<u64>) {
        self.looked_ns = due_ns.map(|due_ns| due_ns + self.still_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn it_goes_with_the_wall_while_there_is_work() {
        let mut clock = Clock::default();
        for step in 0..100 {
            assert_eq!(clock.at(7 * MS + step * WORK_NS), 7 * MS + step * WORK_NS);
        }
    }

    /// 20 ms between two looks, of which half a millisecond may have been work.
    #[test]
    fn it_stands_still_during_a_stall() {
        let shown = ClockPause::default();
        let mut clock = Clock::new(shown.clone());
        assert_eq!(clock.at(MS), MS);
        assert_eq!(clock.at(21 * MS), MS + WORK_NS);
        assert_eq!(clock.at(21 * MS + 1000), MS + WORK_NS + 1000);
        assert_eq!(shown.duration(), Duration::from_micros(19_500));
        assert_eq!(clock.at(31 * MS), MS + 2 * WORK_NS + 1000);
        assert_eq!(clock.at(31 * MS + 300_000), MS + 2 * WORK_NS + 301_000);
        let expected = [[1000, 20_000, 500], [1501, 9999, 500], [2001, 300, 300]].map(|stall| {
            let [at, length, made_up] = stall.map(Duration::from_micros);
            Stall { at, length, made_up }
        });
        assert_eq!(clock.into_stalls(), expected);
    }

    /// 5 ms of sleep were meant, 3 ms were not; a packet that comes earlier than that ends it in time.
    #[test]
    fn sleep_that_was_meant_is_no_stall() {
        let mut clock = Clock::default();
        clock.at(MS);
        clock.sleep_until(Some(6 * MS));
        assert_eq!(clock.at(9 * MS), 6 * MS + WORK_NS);
        clock.sleep_until(Some(20 * MS));
        assert_eq!(clock.at(10 * MS), 7 * MS + WORK_NS);
        clock.sleep_until(None);
        assert_eq!(clock.at(40 * MS), 37 * MS + WORK_NS);
    }
}
