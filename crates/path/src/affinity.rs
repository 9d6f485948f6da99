// SPDX-License-Identifier: GPL-2.0-only
//! Which thread runs where, and how important it is.
#![allow(unsafe_code)]

use std::io;
use std::thread;

use nix::libc;
use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;

use ccctl_testbed::TestbedError;

const MOST_IMPORTANT: libc::c_int = -20;

/// The processor of the router and those of the endpoints. Where there is only one, all share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affinity {
    /// The router's.
    pub router: usize,
    /// Of all that sends and receives.
    pub endpoints: Vec<usize>,
}

impl Affinity {
    /// The last processor that this process, its first thread, may use is the router's.
    pub fn of_this_process() -> Result<Self, TestbedError> {
        let allowed = sched_getaffinity(Pid::this()).map_err(TestbedError::errno("ask for the processors"))?;
        let mut all: Vec<usize> = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect();
        let router = all.pop().ok_or_else(|| TestbedError::Unexpected("no processor may be used".to_owned()))?;
        let endpoints = if all.is_empty() { vec![router] } else { all };
        Ok(Self { router, endpoints })
    }

    /// Must the router share its processor with the endpoints?
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.endpoints.contains(&self.router)
    }

    /// Makes this thread the router's: its own processor, before all others there.
    pub(super) fn become_router(&self) -> Result<(), TestbedError> {
        pin(&[self.router])?;
        if self.is_shared() && become_real_time() {
            return Ok(());
        }
        become_important()
    }

    /// Makes this thread, and what it starts from now on, an endpoint.
    pub(super) fn become_endpoint(&self) -> Result<(), TestbedError> {
        pin(&self.endpoints)?;
        become_important()
    }

    /// Does `work` in a thread on the endpoints' processors that leaves them to the endpoints of other runs.
    pub fn beside_endpoints<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, TestbedError> {
        in_place(|| pin(&self.endpoints), work)
    }

    /// Does `work` in a thread on the endpoints' processors; threads and programs that it starts stay there.
    pub fn at_endpoints<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, TestbedError> {
        in_place(|| self.become_endpoint(), work)
    }
}

/// Does `work` in a thread that has taken its place first.
fn in_place<T: Send>(
    take_place: impl FnOnce() -> Result<(), TestbedError> + Send,
    work: impl FnOnce() -> T + Send,
) -> Result<T, TestbedError> {
    thread::scope(|scope| {
        let inside = scope.spawn(|| take_place().map(|()| work()));
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn pin(cpus: &[usize]) -> Result<(), TestbedError> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu).map_err(TestbedError::errno("name a processor"))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).map_err(TestbedError::errno("choose a processor"))
}

/// Whatever has the processor gives it to this thread at once, and not at the end of its slice or of a system call. For one that sleeps
/// between packets: the kernel stops a spinning one of this kind for 50 ms in each second. Kernels that ration such time may refuse it.
fn become_real_time() -> bool {
    let least = libc::sched_param { sched_priority: 1 };
    // SAFETY: sched_setscheduler(2) reads the structure; for Linux, process 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const least) == 0 }
}

fn become_important() -> Result<(), TestbedError> {
    // SAFETY: setpriority(2) takes three integers; for Linux, process 0 is the calling thread.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, MOST_IMPORTANT) };
    if result == 0 {
        return Ok(());
    }
    Err(TestbedError::io("set nice -20")(io::Error::last_os_error()))
}
