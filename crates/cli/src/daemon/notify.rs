// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the service manager is told, where one has asked for it.

use std::time::Duration;

use sd_notify::NotifyState;

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!("cannot notify the service manager: {error}");
    }
}

/// Served, and compared for the first time, or again after a reload.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// The file is being read again.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(_) => send(&[NotifyState::Reloading]),
    }
}

/// The process is about to end.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// One line for `systemctl status`.
pub fn tell(status: &str) {
    send(&[NotifyState::Status(status)]);
}

/// The main loop has come round: nothing hangs.
pub fn alive() {
    send(&[NotifyState::Watchdog]);
}

/// How often that is to be told at least.
pub fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}
