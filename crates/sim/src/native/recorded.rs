// SPDX-License-Identifier: GPL-2.0-only
//! A hook of an interpreted program, called on a socket that another binding of `bpf/include` has filled in: from the record of
//! a call in a kernel.

use std::ffi::c_void;

use super::bindings::{ack_sample, rate_sample, tcp_sock};
use super::bytecode::Hook;
use super::Instance;

/// What a hook is given behind the socket.
#[derive(Debug, Clone, Copy)]
pub enum Arguments {
    /// Numbers.
    Numbers([u64; 2]),
    /// Of `pkts_acked`: a `struct ack_sample`.
    AckSample(*const c_void),
    /// Of `cong_control`: a `struct rate_sample`.
    RateSample(*const c_void),
}

impl Instance {
    /// Has its program this hook of `struct tcp_congestion_ops`, and is the program interpreted?
    #[must_use]
    pub fn interprets(&self, hook: &str) -> bool {
        self.machine.as_ref().is_some_and(|machine| Hook::named(hook).is_some_and(|hook| machine.has(hook)))
    }

    /// Calls a hook on a `struct tcp_sock`, and gives what it returned, 0 where it returns nothing. None: [`Self::interprets`] is
    /// false of it, or there is a [`Self::fault`].
    ///
    /// # Safety
    /// `socket` is a whole `struct tcp_sock`, and a sample a whole struct of its kind, as `bpf/include/kernel` defines them for
    /// native code; nothing else uses them meanwhile.
    #[must_use]
    pub unsafe fn interpret(&self, hook: &str, socket: *mut c_void, arguments: Arguments) -> Option<u32> {
        let (machine, hook) = (self.machine.as_ref()?, Hook::named(hook)?);
        // SAFETY: by this function's contract.
        let tp = unsafe { &mut *socket.cast::<tcp_sock>() };
        match arguments {
            Arguments::Numbers(numbers) => machine.tell(hook, tp, numbers),
            // SAFETY: by this function's contract.
            Arguments::AckSample(sample) => machine.tell_ack(tp, unsafe { &*sample.cast::<ack_sample>() }),
            // SAFETY: by this function's contract.
            Arguments::RateSample(sample) => machine.tell_rate(tp, unsafe { &*sample.cast::<rate_sample>() }),
        }
    }
}
