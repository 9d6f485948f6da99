// SPDX-License-Identifier: GPL-2.0-only
//! `bpf/include/repair.h`: what takes the place of an impossible window. Hooks in the kernel do so before anything else; the
//! simulator leaves no hook out and does without.

use super::bindings::{self, tcp_sock};

/// What a socket has of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow-start threshold.
    pub ssthresh_pkts: u32,
    /// Congestion window before the last reduction; 0 before the first.
    pub prior_cwnd_pkts: u32,
    /// Sent and not acknowledged.
    pub packets_out: u32,
}

impl Windows {
    /// As a hook finds them after its first look.
    #[must_use]
    pub fn repaired(self) -> Self {
        let mut tp = tcp_sock {
            snd_cwnd: self.cwnd_pkts,
            snd_ssthresh: self.ssthresh_pkts,
            prior_cwnd: self.prior_cwnd_pkts,
            packets_out: self.packets_out,
            ..Default::default()
        };
        // SAFETY: touches nothing but the struct, and is defined for all values of its fields.
        unsafe { bindings::cc_repair_window(&raw mut tp) };
        Self { cwnd_pkts: tp.snd_cwnd, ssthresh_pkts: tp.snd_ssthresh, ..self }
    }
}
