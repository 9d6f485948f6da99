// SPDX-License-Identifier: MIT OR Apache-2.0
//! What TCP knows of a connection, as it is told everywhere: in tables, JSON and traces.

use std::sync::OnceLock;
use std::time::Duration;

use ccctl_catalog::is_impossible_window;
use ccctl_catalog::kernel::{
    socket_stats, TCP_CA_Disorder, TCP_CA_Open, TCP_CA_Recovery, TCP_CA_CWR, TCP_ECN_MODE_ACCECN, TCP_ECN_OK,
    TCP_INFINITE_SSTHRESH,
};
use nix::time::{clock_getres, ClockId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of loss recovery (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaState {
    /// Nothing suspicious.
    Open,
    /// Duplicate ACKs.
    Disorder,
    /// The window is being reduced after a congestion mark or a local drop.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// Explicit congestion notification, as both sides agreed when the connection began (`tcpi_ecn_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// None: routers drop packets instead of marking them.
    #[default]
    Disabled,
    /// RFC 3168: one echo per window.
    Rfc3168,
    /// Accurate ECN, RFC 9768: ACKs count the marks. Since Linux 6.18.
    Accecn,
    /// The handshake has not ended.
    Pending,
}

/// What TCP knows of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transport {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow-start threshold; none before the first loss.
    pub ssthresh_pkts: Option<u32>,
    /// The window or the threshold is above 2^20 packets, which no algorithm can mean: a fault of the kernel or of the
    /// algorithm.
    #[serde(default)]
    pub is_window_impossible: bool,
    /// Smoothed RTT; none before the first sample.
    pub srtt_us: Option<u64>,
    /// Mean deviation of the RTT (RTTVAR of RFC 6298); none before the first sample.
    #[serde(default)]
    pub rttvar_us: Option<u64>,
    /// Smallest RTT within the kernel's window; none before the first sample.
    pub min_rtt_us: Option<u64>,
    /// Latest sample of the delivery rate.
    pub delivery_rate_bytes_per_s: Option<u64>,
    /// The application held that sample back.
    pub is_rate_app_limited: bool,
    /// Pacing rate; none: not limited.
    pub pacing_rate_bytes_per_s: Option<u64>,
    /// Largest segment.
    pub mss_bytes: u32,
    /// Sent and not acknowledged.
    pub in_flight_pkts: u32,
    /// The same in bytes.
    pub in_flight_bytes: u32,
    /// Written by the application and not sent.
    pub unsent_bytes: u32,
    /// Retransmissions in flight.
    pub retransmits_in_flight_pkts: u32,
    /// Retransmissions since the connection began.
    pub retransmits_pkts: u32,
    /// Bytes acknowledged since then.
    #[serde(default)]
    pub acked_bytes: u64,
    /// Segments sent since then, ACKs and retransmissions included.
    pub segments_sent_pkts: u32,
    /// Of these, those with data.
    #[serde(default)]
    pub data_segments_sent_pkts: u32,
    /// Retransmission timeouts since then; 0 before Linux 6.7.
    #[serde(default)]
    pub timeouts: u32,
    /// Time in which it had data outstanding, since then: limited by the network, the peer's window or its send buffer.
    #[serde(default)]
    pub busy_us: u64,
    /// Of it, the time in which the peer's window held it back.
    #[serde(default)]
    pub rwnd_limited_us: u64,
    /// Of it, the time in which its own send buffer did.
    #[serde(default)]
    pub sndbuf_limited_us: u64,
    /// Packets delivered since then.
    pub delivered_pkts: u32,
    /// Of these, with an ECN mark, as the receiver told.
    #[serde(default)]
    pub delivered_ce_pkts: u32,
    /// Packets marked lost since then.
    pub lost_pkts: u32,
    /// State of loss recovery.
    pub ca_state: CaState,
    /// Doublings of the retransmission timeout in a row.
    pub rto_backoffs: u8,
    /// What both sides agreed to on congestion marks.
    #[serde(default)]
    pub ecn_mode: EcnMode,
}

impl Transport {
    /// Of the kernel's record. What has no sample yet, or no limit, is none.
    #[must_use]
    pub fn of(stats: &socket_stats) -> Self {
        let ssthresh_pkts = Some(stats.snd_ssthresh).filter(|pkts| *pkts < TCP_INFINITE_SSTHRESH);
        let has_rtt = stats.srtt_us != 0;
        let us = |jiffies: u32| (jiffy() * jiffies).as_micros() as u64;
        let [network, peer, buffer] = stats.chrono_stat.map(us);
        Self {
            cwnd_pkts: stats.snd_cwnd,
            ssthresh_pkts,
            is_window_impossible: is_impossible_window(stats.snd_cwnd)
                || ssthresh_pkts.is_some_and(is_impossible_window),
            srtt_us: has_rtt.then_some((stats.srtt_us >> 3).into()),
            rttvar_us: has_rtt.then_some((stats.mdev_us >> 2).into()),
            min_rtt_us: Some(stats.rtt_min).filter(|us| *us != u32::MAX).map(u64::from),
            delivery_rate_bytes_per_s: delivery_rate(stats.rate_delivered, stats.rate_interval_us, stats.mss_cache),
            is_rate_app_limited: stats.rate_app_limited != 0,
            pacing_rate_bytes_per_s: Some(stats.sk_pacing_rate).filter(|rate| *rate != u64::MAX),
            mss_bytes: stats.mss_cache,
            in_flight_pkts: stats.packets_out,
            in_flight_bytes: stats.snd_nxt.wrapping_sub(stats.snd_una),
            unsent_bytes: unsent_bytes(stats.write_seq, stats.snd_nxt),
            retransmits_in_flight_pkts: stats.retrans_out,
            retransmits_pkts: stats.total_retrans,
            acked_bytes: stats.bytes_acked,
            segments_sent_pkts: stats.segs_out,
            data_segments_sent_pkts: stats.data_segs_out,
            timeouts: stats.total_rto,
            busy_us: network + peer + buffer,
            rwnd_limited_us: peer,
            sndbuf_limited_us: buffer,
            delivered_pkts: stats.delivered,
            delivered_ce_pkts: stats.delivered_ce,
            lost_pkts: stats.lost,
            ca_state: CaState::of_kernel(stats.icsk_ca_state),
            rto_backoffs: stats.icsk_backoff,
            ecn_mode: EcnMode::of_kernel(stats.ecn_flags),
        }
    }
}

/// Length of a jiffy, which the kernel's coarse clocks advance by; 10 ms, the longest there is, where it does not tell.
#[must_use]
pub fn jiffy() -> Duration {
    static JIFFY: OnceLock<Duration> = OnceLock::new();
    let asked = || clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).map_or(Duration::from_millis(10), Duration::from);
    *JIFFY.get_or_init(asked)
}

/// What the application has written and TCP has not sent; a FIN takes a sequence number that was never written.
fn unsent_bytes(write_seq: u32, snd_nxt: u32) -> u32 {
    (write_seq.wrapping_sub(snd_nxt) as i32).max(0) as u32
}

/// Bytes per second as the kernel tells them (`tcp_compute_delivery_rate()`), if there is a sample.
fn delivery_rate(packets: u32, interval_us: u32, mss_bytes: u32) -> Option<u64> {
    if packets == 0 {
        return None;
    }
    (u128::from(packets) * u128::from(mss_bytes) * 1_000_000)
        .checked_div(interval_us.into())
        .and_then(|rate| u64::try_from(rate).ok())
}

impl EcnMode {
    /// Each of them, in the order of the numbers of `METRIC_ECN_MODES` (xdp/metrics.h).
    pub const ALL: [Self; 4] = [Self::Disabled, Self::Rfc3168, Self::Accecn, Self::Pending];

    /// Of `tcp_sock.ecn_flags`.
    #[must_use]
    pub fn of_kernel(flags: u8) -> Self {
        let has = |flag: u32| u32::from(flags) & flag != 0;
        match (has(TCP_ECN_OK), has(TCP_ECN_MODE_ACCECN)) {
            (false, false) => Self::Disabled,
            (true, false) => Self::Rfc3168,
            (false, true) => Self::Accecn,
            (true, true) => Self::Pending,
        }
    }

    /// In one word, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Rfc3168 => "rfc3168",
            Self::Accecn => "accecn",
            Self::Pending => "pending",
        }
    }
}

impl CaState {
    /// Of the kernel's number; what it does not name is a loss.
    #[must_use]
    #[allow(non_upper_case_globals)] // the kernel's names
    pub fn of_kernel(number: u8) -> Self {
        match number.into() {
            TCP_CA_Open => Self::Open,
            TCP_CA_Disorder => Self::Disorder,
            TCP_CA_CWR => Self::Cwr,
            TCP_CA_Recovery => Self::Recovery,
            _ => Self::Loss,
        }
    }

    /// In one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_sample_is_not_told() {
        let stats = socket_stats { rtt_min: u32::MAX, snd_ssthresh: TCP_INFINITE_SSTHRESH, ..Default::default() };
        let none = Transport::of(&stats);
        assert_eq!((none.srtt_us, none.rttvar_us, none.min_rtt_us, none.ssthresh_pkts), Default::default());
        assert_eq!(none.delivery_rate_bytes_per_s, None);
    }

    /// Linux 7.0, include/net/tcp.h: `TCP_ECN_MODE_RFC3168` is bit 0, `TCP_ECN_MODE_ACCECN` bit 4, and both are
    /// `TCP_ECN_MODE_PENDING`; bits 1 to 3 say nothing of the mode.
    #[test]
    fn the_mode_of_ecn_is_the_kernels() {
        let modes = [0b0_1110, 0b0_1111, 0b1_0000, 0b1_0001].map(EcnMode::of_kernel);
        assert_eq!(modes, [EcnMode::Disabled, EcnMode::Rfc3168, EcnMode::Accecn, EcnMode::Pending]);
    }

    /// 10 packets of 1448 bytes in 20 ms: 724,000 bytes per second; and the largest values do not overflow.
    #[test]
    fn the_delivery_rate_is_the_kernels() {
        assert_eq!(delivery_rate(10, 20_000, 1448), Some(724_000));
        assert_eq!(delivery_rate(10, 0, 1448), None);
        assert_eq!(delivery_rate(u32::MAX, 1 << 20, 65535), Some(268_431_359_937_500));
    }

    /// `tcp_get_info_chrono_stats()`: busy is the sum of all three.
    #[test]
    fn the_busy_time_contains_what_peer_and_buffer_have_limited() {
        let stats = socket_stats { chrono_stat: [5, 3, 2], rtt_min: u32::MAX, ..Default::default() };
        let limited = Transport::of(&stats);
        let jiffy_us = jiffy().as_micros() as u64;
        assert_eq!(limited.busy_us, 10 * jiffy_us);
        assert_eq!((limited.rwnd_limited_us, limited.sndbuf_limited_us), (3 * jiffy_us, 2 * jiffy_us));
    }

    #[test]
    fn sequence_numbers_wrap() {
        assert_eq!(unsent_bytes(100, u32::MAX - 99), 200);
        assert_eq!(unsent_bytes(7, 8), 0, "a FIN was sent");
    }
}
