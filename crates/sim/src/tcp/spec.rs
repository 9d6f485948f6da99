// SPDX-License-Identifier: GPL-2.0-only
//! How a connection is set.

use std::time::Duration;

use ccctl_catalog::kernel::CC_CWND_MAX_PKTS;

/// How a connection's two ends are set. The default is Linux's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // options of a connection
pub struct TcpSpec {
    /// Data in a packet.
    pub mss_bytes: u16,
    /// Headers of a packet; also the size of an ACK.
    pub header_bytes: u16,
    /// First congestion window.
    pub initial_window_pkts: u32,
    /// First slow start threshold; none: infinite.
    pub initial_ssthresh_pkts: Option<u32>,
    /// The receiver's window, which the congestion window does not exceed either.
    pub max_window_pkts: u32,
    /// Selective acknowledgements, with RACK; without: `NewReno`.
    pub sack: bool,
    /// Without SACK: three duplicate ACKs tell of a loss. False: they tell nothing, and each loss waits for its timeout, as in ns-2's
    /// TCP-Linux, whose sender knows of losses from SACK alone.
    pub fast_retransmit: bool,
    /// Explicit congestion notification; also negotiated where the algorithm needs it.
    pub ecn: bool,
    /// Accurate ECN (RFC 9768) instead of RFC 3168's: each ACK tells how many marks there were. None: where the algorithm needs
    /// it; false: the peer does not have it.
    pub accurate_ecn: Option<bool>,
    /// Data carries ECT(1) instead of ECT(0) where ECN was negotiated: the sender is scalable (RFC 9331).
    pub ect_1: bool,
    /// Time stamps, by which unnecessary retransmissions are known.
    pub time_stamps: bool,
    /// A probe before the retransmission timeout (RFC 8985 section 7).
    pub tail_loss_probe: bool,
    /// The window falls after idle time (RFC 5681 section 4.1).
    pub slow_start_after_idle: bool,
    /// Least retransmission timeout.
    pub min_timeout: Duration,
    /// The receiver acknowledges every so many packets; more than 2: stretch ACKs.
    pub ack_every_pkts: u16,
    /// And fewer after so long.
    pub ack_delay: Duration,
    /// The first packets are acknowledged one by one.
    pub quick_acks: u16,
    /// The receiver's window grows over the first so many packets, and each of them is acknowledged (`tcp_grow_window`). It
    /// limits no sender.
    pub growing_window_pkts: u32,
    /// Paces at 2 (slow start) or 1.2 times window over RTT, as Linux does on request; some algorithms set a rate themselves.
    pub pacing: bool,
    /// XCP: packets carry its header, and the window follows the feedback of the routers instead of the algorithm, which
    /// still answers losses. It must not set its window itself.
    pub xcp: bool,
}

impl Default for TcpSpec {
    fn default() -> Self {
        Self {
            mss_bytes: 1448,
            header_bytes: 52,
            initial_window_pkts: 10,
            initial_ssthresh_pkts: None,
            max_window_pkts: CC_CWND_MAX_PKTS,
            sack: true,
            fast_retransmit: true,
            ecn: false,
            accurate_ecn: None,
            ect_1: false,
            time_stamps: true,
            tail_loss_probe: true,
            slow_start_after_idle: true,
            min_timeout: Duration::from_millis(200),
            ack_every_pkts: 2,
            ack_delay: Duration::from_millis(40),
            quick_acks: 16,
            growing_window_pkts: 0,
            pacing: false,
            xcp: false,
        }
    }
}

impl TcpSpec {
    /// What makes no connection of it.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match () {
            () if self.mss_bytes == 0 => Some("mss_bytes is 0"),
            () if self.mss_bytes.checked_add(self.header_bytes).is_none() => Some("a packet has at most 65535 bytes"),
            () if self.initial_window_pkts == 0 => Some("initial_window_pkts is 0"),
            () if !(1..=CC_CWND_MAX_PKTS).contains(&self.max_window_pkts) => Some("max_window_pkts is not 1 to 2^20"),
            () if self.initial_ssthresh_pkts.is_some_and(|pkts| pkts < 2) => Some("initial_ssthresh_pkts is below 2"),
            () if self.sack && !self.fast_retransmit => Some("fast_retransmit is off, but sack is on"),
            () if self.min_timeout.is_zero() || self.min_timeout.as_secs() > 60 => {
                Some("min_timeout is not up to 60 s")
            }
            () => None,
        }
    }
}
