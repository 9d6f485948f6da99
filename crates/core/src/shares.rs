// SPDX-License-Identifier: MIT OR Apache-2.0
//! By what it shows that an algorithm harms its connections: shares of which less is better. The guard and canaries judge by them.

use ccctl_loader::IntervalStats;

use crate::configuration::Limits;

/// A share of what connections did in an interval.
#[derive(Debug)]
pub struct Share {
    /// As it is written in the configuration file and in conditions; its unit is per cent.
    pub key: &'static str,
    /// In a sentence.
    pub name: &'static str,
    /// Of what it is a share.
    pub out_of: &'static str,
    /// The guard's limit.
    pub limit_pct: fn(&Limits) -> u32,
    /// Part and whole.
    pub of: fn(&IntervalStats) -> (u64, u64),
}

/// All of them.
pub const SHARES: [Share; 4] = [
    Share {
        key: "stalled_pct",
        name: "stalled",
        out_of: "active connections",
        limit_pct: |limits| limits.stalled_pct,
        of: |of| (of.stalled, of.active.saturating_sub(of.impossible)),
    },
    Share {
        key: "retransmit_pct",
        name: "retransmissions",
        out_of: "data segments",
        limit_pct: |limits| limits.retransmit_pct,
        of: |of| (of.retransmits_pkts, of.data_segments),
    },
    Share {
        key: "timeouts_pct",
        name: "timeouts",
        out_of: "data segments",
        limit_pct: |limits| limits.timeouts_pct,
        of: |of| (of.timeouts, of.data_segments),
    },
    Share {
        key: "impossible_pct",
        name: "impossible windows",
        out_of: "active connections",
        limit_pct: |limits| limits.impossible_pct,
        of: |of| (of.impossible, of.active),
    },
];
