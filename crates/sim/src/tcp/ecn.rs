// SPDX-License-Identifier: GPL-2.0-only
//! What both ends have agreed to on congestion marks.

use super::TcpSpec;
use crate::native::{Instance, TCP_ECN_MODE_ACCECN, TCP_ECN_OK};

/// How a receiver tells of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// From a mark until the sender has reduced its window (RFC 3168).
    UntilReduced,
    /// Each ACK is for packets with one and the same mark (RFC 8257).
    EachMark,
    /// Each ACK carries a count of the marks (RFC 9768).
    Count,
}

/// The outcome of the handshake.
#[derive(Debug, Clone, Copy)]
pub(super) struct Negotiated {
    pub(super) ecn: bool,
    pub(super) echo: Echo,
    /// Data carries ECT(1).
    pub(super) ect_1: bool,
}

impl Negotiated {
    pub(super) fn of(instance: &Instance, spec: &TcpSpec) -> Self {
        let is_accurate = spec.accurate_ecn.unwrap_or(instance.needs_accurate_ecn());
        let ecn = spec.ecn || is_accurate || instance.needs_ecn();
        let echo = match () {
            () if is_accurate => Echo::Count,
            () if instance.needs_ecn() && !instance.needs_accurate_ecn() => Echo::EachMark,
            () => Echo::UntilReduced,
        };
        Self { ecn, echo, ect_1: ecn && (spec.ect_1 || (is_accurate && instance.wants_ect_1())) }
    }

    /// `tcp_sock.ecn_flags`
    pub(super) fn ecn_flags(self) -> u8 {
        match self.echo {
            _ if !self.ecn => 0,
            Echo::Count => TCP_ECN_MODE_ACCECN as u8,
            Echo::UntilReduced | Echo::EachMark => TCP_ECN_OK as u8,
        }
    }
}
