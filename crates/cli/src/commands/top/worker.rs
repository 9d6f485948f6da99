// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that looks, so that keys are answered meanwhile.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use ccctl_console::cause;
use ccctl_core::daemon::Event;

use super::clock::{ClockChoice, RunningClock};
use super::model::{Choice, Lookup};
use super::sample::{ClockState, Sample, Wish};
use super::source::Source;

/// What the worker is told.
#[derive(Debug)]
pub enum Order {
    /// From now on it is about this.
    Look(Wish),
    /// Stop looking, or go on.
    Pause(bool),
    /// Time ACKs, or not.
    Clock(bool),
}

/// What it tells.
#[derive(Debug)]
pub enum News {
    /// What it saw.
    Sample(Box<Sample>),
    /// Why it saw nothing.
    Failed(String),
    /// What a question can be answered with.
    Offer(Lookup, Result<Vec<Choice>, String>),
    /// What came of a change or a file.
    Done(Result<String, String>),
    /// What the daemon has written down.
    Event(Event),
    /// Why there is nothing of it.
    NoEvents(String),
}

/// Looks at even distances, and at once where the wish is another.
pub struct Worker {
    source: Box<dyn Source>,
    every: Duration,
    choice: ClockChoice,
    clock: Option<RunningClock>,
    wish: Wish,
    is_paused: bool,
}

impl Worker {
    /// One that has not begun.
    pub fn new(source: Box<dyn Source>, every: Duration, choice: ClockChoice) -> Self {
        Self { source, every, choice, clock: None, wish: Wish::Instances, is_paused: false }
    }

    /// Until nobody gives orders or listens any more.
    pub fn run(mut self, orders: &Receiver<Order>, news: &SyncSender<News>) {
        let mut due = Instant::now() + self.every;
        loop {
            let wait = due.saturating_duration_since(Instant::now());
            let with_instances = match orders.recv_timeout(wait) {
                Ok(Order::Look(wish)) => {
                    self.wish = wish;
                    false
                }
                Ok(Order::Pause(is_paused)) => {
                    self.is_paused = is_paused;
                    continue;
                }
                Ok(Order::Clock(is_wanted)) => {
                    self.clock = is_wanted.then(|| RunningClock::start(&self.choice));
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {
                    // a look that took longer than the time between two leaves out those that it missed
                    due = (due + self.every).max(Instant::now());
                    if self.is_paused {
                        continue;
                    }
                    true
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if news.send(self.look(with_instances)).is_err() {
                return;
            }
        }
    }

    fn look(&mut self, with_instances: bool) -> News {
        super::panic_if_asked("looking");
        match self.source.look(&self.wish, with_instances) {
            Ok(mut sample) => {
                add_ack_times(&mut sample, self.clock.as_mut());
                News::Sample(Box::new(sample))
            }
            Err(error) => News::Failed(cause(&error)),
        }
    }
}

/// Adds what the clock says, if it runs.
pub fn add_ack_times(sample: &mut Sample, clock: Option<&mut RunningClock>) {
    let (Some(instances), Some(clock)) = (&mut sample.instances, clock) else { return };
    let (times, state) = clock.times();
    for row in &mut instances.rows {
        row.ack_time = times.get(&row.name).copied();
    }
    instances.clock = state;
    debug_assert!(instances.clock != ClockState::Off);
}
