// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wish to end: Ctrl-C, or SIGTERM.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Takes signals, which then no longer end the process.
pub struct Stop(SignalFd);

impl Stop {
    /// Takes both.
    pub fn listen() -> anyhow::Result<Self> {
        Self::listen_to(&[Signal::SIGINT, Signal::SIGTERM])
    }

    /// Takes these; in threads that are started later, too.
    pub fn listen_to(signals: &[Signal]) -> anyhow::Result<Self> {
        let signals: SigSet = signals.iter().copied().collect();
        signals.thread_block().map_err(io::Error::from)?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Self(SignalFd::with_flags(&signals, flags).map_err(io::Error::from)?))
    }

    /// Has one of them come?
    pub fn is_wanted(&self) -> anyhow::Result<bool> {
        Ok(self.0.read_signal().map_err(io::Error::from)?.is_some())
    }
}

/// Can be read once one has come.
impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
