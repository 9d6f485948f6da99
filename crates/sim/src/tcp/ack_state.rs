// SPDX-License-Identifier: GPL-2.0-only
//! What is learned of one ACK on its way through the sender.

/// What has been learned of one ACK: the flags of `tcp_ack` and `struct tcp_sacktag_state`.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // the kernel's flags
pub(super) struct AckState {
    pub(super) prior_una: u32,
    pub(super) advanced: bool,
    pub(super) data_acked: bool,
    pub(super) data_sacked: bool,
    pub(super) resent_acked: bool,
    /// What was sent once and before the timeout has been delivered.
    pub(super) original_acked: bool,
    pub(super) marked: bool,
    pub(super) is_dsack: bool,
    pub(super) lost_retransmission: bool,
    pub(super) is_duplicate: bool,
    pub(super) sets_timer: bool,
    pub(super) maybe_delayed: bool,
    pub(super) first_sacked_us: Option<u32>,
    pub(super) last_sacked_us: u32,
    /// Lowest packet that came after a later one without having been sent again.
    pub(super) reordered_from: Option<u32>,
    pub(super) prior_fack: u32,
    pub(super) prior_in_flight_pkts: u32,
    pub(super) prior_delivered_pkts: u32,
    pub(super) prior_lost_pkts: u32,
    pub(super) newly_sacked_pkts: u32,
    pub(super) pkts_acked: u32,
    pub(super) rate: RateState,
    pub(super) echo_us: Option<u32>,
    pub(super) rtt_us: Option<u32>,
    /// Of XCP's routers.
    pub(super) feedback_bytes_q8: i32,
}

/// `struct rate_sample` while an ACK is looked at.
#[derive(Debug, Default)]
pub(super) struct RateState {
    pub(super) has_sample: bool,
    pub(super) prior_delivered_pkts: u32,
    pub(super) prior_us: u32,
    pub(super) is_limited: bool,
    pub(super) last_number: u32,
    pub(super) interval_us: u32,
}
