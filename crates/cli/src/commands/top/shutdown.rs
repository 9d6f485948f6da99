// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end that comes from outside: a signal, or a terminal that is closed. A thread of its own waits for them, since the
//! one that draws can be held up: crossterm reads for ever from a terminal that is gone, and from one that has sent half a
//! key until the other half comes; and a terminal that does not read lets nobody write.

use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use ccctl_console::{Exit, Stop};
use nix::sys::signal::Signal;

use super::raw_mode;
use super::tty::{Ready, Tty};

/// For the screen to end by itself: more than its farewell to the worker.
const GRACE: Duration = Duration::from_secs(4);
/// Then once more, after a terminal that does not read has been made to.
const LAST_GRACE: Duration = Duration::from_secs(3);

/// Is the end wanted?
pub struct Shutdown(Arc<AtomicBool>);

impl Shutdown {
    /// From now on. Threads that are started later leave the signals to this one's.
    pub fn watch() -> anyhow::Result<Self> {
        let signals = Stop::listen_to(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])?;
        let tty = Tty::open()?;
        let wanted = Arc::new(AtomicBool::new(false));
        let ours = Arc::clone(&wanted);
        std::thread::spawn(move || watch(&signals, &tty, &ours));
        Ok(Self(wanted))
    }

    /// It will come soon, one way or the other.
    pub fn is_wanted(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Without an end from outside it waits until the process ends.
fn watch(signals: &Stop, tty: &Tty, wanted: &AtomicBool) {
    while matches!(tty.wait_for_end(signals.as_fd()), Ok(Ready::Nothing)) {}
    wanted.store(true, Ordering::SeqCst);
    std::thread::sleep(GRACE);
    tty.forget_unread();
    std::thread::sleep(LAST_GRACE);
    raw_mode::give_back_by_force();
    std::process::exit(Exit::Done as i32);
}
