//! The wish to end: Ctrl-C, or SIGTERM.

use std::io;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Takes both signals, which then no longer end the process.
pub struct Stop(SignalFd);

impl Stop {
    pub fn listen() -> anyhow::Result<Self> {
        let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
        signals.thread_block().map_err(io::Error::from)?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Self(SignalFd::with_flags(&signals, flags).map_err(io::Error::from)?))
    }

    /// Has one of them come?
    pub fn is_wanted(&self) -> anyhow::Result<bool> {
        Ok(self.0.read_signal().map_err(io::Error::from)?.is_some())
    }
}
