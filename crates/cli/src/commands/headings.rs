// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands above the columns of algorithms and sockets: one heading per quantity, on the live screen, in `top --once`
//! and in `sockets`.

/// A heading, and the same where there is no room for its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading {
    /// With the unit.
    pub full: &'static str,
    /// Without.
    pub short: &'static str,
}

impl Heading {
    const fn of(full: &'static str) -> Self {
        Self { full, short: full }
    }

    /// As it fits into so many columns.
    pub fn fitting(self, columns: usize) -> &'static str {
        if self.full.len() <= columns {
            self.full
        } else {
            self.short
        }
    }
}

pub const NAME: Heading = Heading::of("NAME");
pub const ALGORITHM: Heading = Heading::of("ALGORITHM");
pub const PROGRAM: Heading = Heading::of("PROGRAM");
pub const SOCKETS: Heading = Heading::of("SOCKETS");
pub const SENDERS: Heading = Heading::of("SENDERS");
pub const THROUGHPUT: Heading = Heading::of("THROUGHPUT");
pub const RETRANSMITS_PCT: Heading = Heading { full: "RETRANS %", short: "RETRANS" };
pub const RETRANSMITS: Heading = Heading { full: "RETRANS PKTS", short: "RETRANS" };
pub const SRTT: Heading = Heading::of("SRTT MS");
pub const CWND: Heading = Heading { full: "CWND PKTS", short: "CWND" };
pub const SSTHRESH: Heading = Heading { full: "SSTHRESH PKTS", short: "SSTHRESH" };
pub const ACK_TIME: Heading = Heading::of("ACK US");
pub const TREND: Heading = Heading::of("TREND");
pub const STATE: Heading = Heading::of("STATE");
pub const SOURCE: Heading = Heading::of("SOURCE");
pub const DESTINATION: Heading = Heading::of("DESTINATION");
pub const PROCESS: Heading = Heading::of("PROCESS");
pub const CGROUP: Heading = Heading::of("CGROUP");
pub const NETNS: Heading = Heading::of("NETNS");
