// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ACK clock beside the screen, in a thread of its own: it wants a look 20 times a second.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ccctl_console::cause;
use ccctl_telemetry::{AlgorithmCounts, Clock, Settings};

use super::sample::ClockState;
use crate::commands::acks::enter;

const TICK: Duration = Duration::from_millis(50);

/// Which ACKs.
#[derive(Debug, Clone, Default)]
pub struct ClockChoice {
    /// Interfaces; empty: all that are up.
    pub interfaces: Vec<String>,
    /// Of this network namespace; none: that of the process.
    pub netns: Option<String>,
}

/// Times that were added up, and how many.
type Sums = BTreeMap<String, [(u64, u64); 2]>;

#[derive(Debug)]
struct Shared {
    is_over: AtomicBool,
    latest: Mutex<Result<Sums, String>>,
}

/// A clock that runs until it is dropped.
pub struct RunningClock {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    before: Sums,
}

impl RunningClock {
    /// Starts it; what goes wrong shows in its state.
    pub fn start(choice: &ClockChoice) -> Self {
        let shared = Arc::new(Shared { is_over: AtomicBool::new(false), latest: Mutex::new(Ok(Sums::new())) });
        let (ours, choice) = (Arc::clone(&shared), choice.clone());
        let thread = std::thread::spawn(move || {
            if let Err(error) = run(&ours, &choice) {
                *ours.latest.lock().unwrap_or_else(PoisonError::into_inner) = Err(cause(&error));
            }
        });
        Self { shared, thread: Some(thread), before: Sums::new() }
    }

    /// Mean time of an ACK by algorithm since it was asked last.
    pub fn times(&mut self) -> (BTreeMap<String, Duration>, ClockState) {
        let latest = self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Err(error) => (BTreeMap::new(), ClockState::Failed(error.clone())),
            Ok(now) => {
                let means = now.iter().filter_map(|(name, sums)| {
                    let before = self.before.get(name).copied().unwrap_or_default();
                    Some((name.clone(), mean(*sums, before)?))
                });
                let means = means.collect();
                self.before = now.clone();
                (means, ClockState::On)
            }
        }
    }
}

impl Drop for RunningClock {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic was told where it happened
        }
    }
}

/// Waiting and processing are timed for different numbers of ACKs: each has its mean.
fn mean(now: [(u64, u64); 2], before: [(u64, u64); 2]) -> Option<Duration> {
    let mut all_ns = 0;
    for ((sum_ns, count), (sum_before_ns, count_before)) in now.into_iter().zip(before) {
        all_ns += sum_ns.checked_sub(sum_before_ns)?.checked_div(count.checked_sub(count_before)?)?;
    }
    Some(Duration::from_nanos(all_ns))
}

fn run(shared: &Shared, choice: &ClockChoice) -> anyhow::Result<()> {
    if let Some(name) = &choice.netns {
        enter(name)?; // of a thread alone: the others stay
    }
    let mut clock = Clock::start(&Settings { interfaces: choice.interfaces.clone(), ..Settings::default() })?;
    while !shared.is_over.load(Ordering::Relaxed) {
        std::thread::sleep(TICK);
        clock.sample()?;
        let sums = clock.read()?.algorithms.iter().map(|(name, counts)| (name.clone(), sums_of(counts))).collect();
        *shared.latest.lock().unwrap_or_else(PoisonError::into_inner) = Ok(sums);
    }
    Ok(())
}

fn sums_of(counts: &AlgorithmCounts) -> [(u64, u64); 2] {
    [&counts.waiting, &counts.processing].map(|times| (times.sum_ns, times.count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 ACKs waited 50 us in all, 5 took 20 us: 5 + 4.
    #[test]
    fn means_are_of_what_is_new() {
        let (before, now) = ([(1_000, 1), (2_000, 2)], [(51_000, 11), (22_000, 7)]);
        assert_eq!(mean(now, before), Some(Duration::from_micros(9)));
        assert_eq!(mean(now, now), None, "no ACK was timed");
        assert_eq!(mean(before, now), None, "a clock that was started again");
    }
}
