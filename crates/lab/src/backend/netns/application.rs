// SPDX-License-Identifier: GPL-2.0-only
//! What an application that does not always send has written by now. It is the simulator's, with the same random numbers: only who
//! carries it is another. It goes by the path's time, which stands still while the router is kept from its work.

use std::thread;
use std::time::{Duration, Instant};

use ccctl_path::PathTime;
use ccctl_sim::{Act, Application, BitRate, Workload};

/// So long before its time it is written, for the kernel to send it evenly: a thread that writes a packet at a time would cost more
/// than the packets.
const AHEAD: Duration = Duration::from_millis(20);

/// How an application spreads what it sends.
#[derive(Debug)]
pub(super) enum Work {
    /// On one connection, as much as it can or until all is sent.
    Steady,
    /// On one connection, by a clock.
    Timed(Clocked),
    /// Each part on a connection of its own.
    Connections(Clocked),
}

impl Work {
    /// That of a flow of the scenario; its clock begins with its first act.
    pub(super) fn new(application: Application, mss_bytes: u16, seed: u64, flow: u32, time: &PathTime) -> Self {
        let workload = || Workload::new(application, 0, u64::MAX, mss_bytes, seed, flow);
        match application {
            _ if is_steady(application) => Self::Steady,
            Application::Web(_) | Application::Short { .. } => {
                Self::Connections(Clocked::new(workload(), mss_bytes, time))
            }
            _ => Self::Timed(Clocked::new(workload(), mss_bytes, time)),
        }
    }
}

/// Does it send whenever it may?
pub(super) fn is_steady(application: Application) -> bool {
    matches!(application, Application::Bulk | Application::Transfer { .. })
}

/// The rate at which an application writes, if it has one.
pub(super) fn rate(application: Application) -> Option<BitRate> {
    match application {
        Application::Limited { rate } | Application::OnOff { rate, .. } => Some(rate),
        _ => None,
    }
}

/// An application and its clock.
#[derive(Debug)]
pub(super) struct Clocked {
    workload: Workload,
    mss_bytes: u64,
    time: PathTime,
    began: Option<Duration>,
    written_bytes: u64,
}

impl Clocked {
    fn new(workload: Workload, mss_bytes: u16, time: &PathTime) -> Self {
        Self { workload, mss_bytes: u64::from(mss_bytes), time: time.clone(), began: None, written_bytes: 0 }
    }

    fn now_ns(&mut self) -> u64 {
        let now = self.time.now();
        let began = *self.began.get_or_insert(now);
        ns(now.saturating_sub(began))
    }

    /// All that it has written until a little after now, on one connection.
    pub(super) fn written_bytes(&mut self) -> u64 {
        let until_ns = self.now_ns() + ns(AHEAD);
        self.written_until(until_ns)
    }

    fn written_until(&mut self, until_ns: u64) -> u64 {
        while self.workload.due_ns <= until_ns {
            if let Act::Write(pkts) = self.workload.act(self.workload.due_ns) {
                self.written_bytes += u64::from(pkts) * self.mss_bytes;
            }
        }
        self.written_bytes
    }

    /// Waits for the next of its connections; gives its packets, and none once `is_stopped`, which is asked when somebody wakes the
    /// thread.
    pub(super) fn next_connection_pkts(&mut self, is_stopped: impl Fn() -> bool) -> Option<u32> {
        while !is_stopped() {
            let now_ns = self.now_ns();
            if self.workload.due_ns > now_ns {
                thread::park_timeout(Duration::from_nanos(self.workload.due_ns - now_ns));
            } else if let Act::Connect(pkts) = self.workload.act(now_ns) {
                return Some(pkts);
            }
        }
        None
    }

    /// The last connection's data is acknowledged.
    pub(super) fn delivered(&mut self, at: Instant) {
        let now_ns = self.now_ns();
        self.workload.delivered(now_ns.saturating_sub(ns(at.elapsed())));
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits until there may be more to write.
pub(super) fn wait_for_more() {
    thread::park_timeout(AHEAD / 2);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn clocked(application: Application) -> Clocked {
        match Work::new(application, 1000, 7, 0, &PathTime::of_wall(Instant::now())) {
            Work::Timed(clocked) | Work::Connections(clocked) => clocked,
            Work::Steady => unreachable!("an application with a clock"),
        }
    }

    /// 8 Mbit/s of packets with 1000 bytes: a packet a millisecond, however often one looks.
    #[test]
    fn what_is_written_does_not_depend_on_looks() {
        let application = Application::Limited { rate: BitRate::mbit_per_s(8) };
        let (mut often, mut once) = (clocked(application), clocked(application));
        let looks = (0..=1000).map(|ms| often.written_until(ms * 1_000_000)).last();
        let at_once = once.written_until(1_000_000_000);
        assert_eq!(looks, Some(at_once));
        assert!(at_once.abs_diff(1_000_000) <= 2000, "{at_once}");
    }

    #[test]
    fn connections_come_one_after_the_other_and_end_with_the_flow() {
        let mut clocked = clocked(Application::Short { mean_bytes: 10_000, off: Duration::ZERO });
        for _ in 0..3 {
            assert!(clocked.next_connection_pkts(|| false).unwrap() >= 1);
            clocked.delivered(Instant::now());
        }
        assert_eq!(clocked.next_connection_pkts(|| true), None);
    }
}
