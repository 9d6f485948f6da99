// SPDX-License-Identifier: GPL-2.0-only
//! How long the kernel waits for its readers: the floor under everything that replaces shared code or data.
#![allow(unsafe_code)]

use std::io;
use std::time::{Duration, Instant};

use nix::libc;

use super::TestbedError;

const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1; // linux/membarrier.h

/// Waits for one RCU grace period (`synchronize_rcu`), and says how long it took.
pub fn grace_period() -> Result<Duration, TestbedError> {
    let started = Instant::now();
    // SAFETY: membarrier(2) takes three integers and touches no memory of the caller.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    if result == 0 {
        return Ok(started.elapsed());
    }
    Err(TestbedError::io("wait for a grace period")(io::Error::last_os_error()))
}
