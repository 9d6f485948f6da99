// SPDX-License-Identifier: MIT OR Apache-2.0
//! One socket.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ccctl_catalog::kernel::{
    c_text, TCP_CA_Disorder, TCP_CA_Open, TCP_CA_Recovery, AF_INET, TCP_CA_CWR, TCP_INFINITE_SSTHRESH,
};

use super::filter::SocketState;
use super::raw::{socket_detail, socket_record};

/// A socket at the moment when the kernel showed it, locked.
#[derive(Debug, Clone)]
pub struct SocketRecord(pub(super) socket_detail);

/// State of loss recovery (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// What TCP knows of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow-start threshold; None: there was no loss yet.
    pub ssthresh_pkts: Option<u32>,
    /// Smoothed RTT; None before the first sample.
    pub srtt: Option<Duration>,
    /// Smallest RTT within the window of `tcp_min_rtt_wlen`.
    pub min_rtt: Option<Duration>,
    /// Latest delivery-rate sample, as `ss` shows it.
    pub delivery_rate_bytes_per_s: Option<u64>,
    /// The application held that sample back.
    pub is_rate_app_limited: bool,
    /// Pacing rate; None: not limited.
    pub pacing_rate_bytes_per_s: Option<u64>,
    /// Largest segment.
    pub mss_bytes: u32,
    /// Sent and not acknowledged.
    pub packets_out: u32,
    /// The same in bytes.
    pub in_flight_bytes: u32,
    /// Written by the application and not sent.
    pub unsent_bytes: u32,
    /// Retransmissions in flight.
    pub retransmits_out_pkts: u32,
    /// Retransmissions so far.
    pub retransmits_pkts: u32,
    /// Bytes acknowledged so far.
    pub acked_bytes: u64,
    /// Segments sent so far.
    pub segments_out: u32,
    /// Of these, those with data.
    pub data_segments: u32,
    /// Retransmission timeouts so far; 0 before Linux 6.7.
    pub timeouts: u32,
    /// Packets delivered so far.
    pub delivered_pkts: u32,
    /// Of these, with an ECN mark, as the receiver told.
    pub delivered_ce_pkts: u32,
    /// Packets ever marked lost.
    pub lost_pkts: u32,
    /// State of loss recovery.
    pub ca_state: CaState,
    /// Doublings of the retransmission timeout in a row.
    pub rto_backoffs: u8,
}

impl SocketRecord {
    /// `SO_COOKIE`; never reused while the host runs.
    #[must_use]
    pub fn cookie(&self) -> u64 {
        self.0.socket.cookie
    }

    /// State of the connection.
    #[must_use]
    pub fn state(&self) -> SocketState {
        SocketState::of_kernel(self.0.socket.state)
    }

    /// Local end.
    #[must_use]
    pub fn source(&self) -> SocketAddr {
        self.0.socket.source_address()
    }

    /// Remote end; unspecified for a listening socket.
    #[must_use]
    pub fn destination(&self) -> SocketAddr {
        self.0.socket.destination_address()
    }

    /// Kernel name of its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> String {
        self.0.socket.algorithm_name()
    }

    /// `struct_ops` map of the program that it uses; 0: built-in.
    #[must_use]
    pub fn map_id(&self) -> u32 {
        self.0.socket.map_id
    }

    /// Id of the cgroup that it was made in; 0: not known.
    #[must_use]
    pub fn cgroup_id(&self) -> u64 {
        self.0.cgroup_id
    }

    /// What its algorithm keeps: `icsk_ca_priv`.
    #[must_use]
    pub fn algorithm_state(&self) -> &[u8] {
        &self.0.stats.icsk_ca_priv
    }

    /// What TCP knows of the connection; None of a listening socket.
    #[must_use]
    pub fn transport(&self) -> Option<Transport> {
        if self.state() == SocketState::Listen {
            return None;
        }
        let stats = &self.0.stats;
        Some(Transport {
            cwnd_pkts: stats.snd_cwnd,
            ssthresh_pkts: Some(stats.snd_ssthresh).filter(|pkts| *pkts < TCP_INFINITE_SSTHRESH),
            srtt: duration(stats.srtt_us >> 3).filter(|_| stats.srtt_us != 0),
            min_rtt: Some(stats.rtt_min).filter(|us| *us != u32::MAX).and_then(duration),
            delivery_rate_bytes_per_s: delivery_rate(stats.rate_delivered, stats.rate_interval_us, stats.mss_cache),
            is_rate_app_limited: stats.rate_app_limited != 0,
            pacing_rate_bytes_per_s: Some(stats.sk_pacing_rate).filter(|rate| *rate != u64::MAX),
            mss_bytes: stats.mss_cache,
            packets_out: stats.packets_out,
            in_flight_bytes: stats.snd_nxt.wrapping_sub(stats.snd_una),
            unsent_bytes: unsent_bytes(stats.write_seq, stats.snd_nxt),
            retransmits_out_pkts: stats.retrans_out,
            retransmits_pkts: stats.total_retrans,
            acked_bytes: stats.bytes_acked,
            segments_out: stats.segs_out,
            data_segments: stats.data_segs_out,
            timeouts: stats.total_rto,
            delivered_pkts: stats.delivered,
            delivered_ce_pkts: stats.delivered_ce,
            lost_pkts: stats.lost,
            ca_state: CaState::of_kernel(stats.icsk_ca_state),
            rto_backoffs: stats.icsk_backoff,
        })
    }
}

/// What the application has written and TCP has not sent; a FIN takes a sequence number that was never written.
fn unsent_bytes(write_seq: u32, snd_nxt: u32) -> u32 {
    (write_seq.wrapping_sub(snd_nxt) as i32).max(0) as u32
}

#[allow(clippy::unnecessary_wraps)] // reads as a step of a chain
fn duration(us: u32) -> Option<Duration> {
    Some(Duration::from_micros(us.into()))
}

/// Bytes per second as the kernel tells them (`tcp_compute_delivery_rate()`), if there is a sample.
#[must_use]
pub fn delivery_rate(packets: u32, interval_us: u32, mss_bytes: u32) -> Option<u64> {
    if packets == 0 {
        return None;
    }
    (u128::from(packets) * u128::from(mss_bytes) * 1_000_000)
        .checked_div(interval_us.into())
        .and_then(|rate| u64::try_from(rate).ok())
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

impl socket_record {
    /// Algorithm before any move.
    pub(crate) fn algorithm_name(&self) -> String {
        c_text(&self.algorithm)
    }

    /// `source -> destination` as a person would look for it.
    pub(crate) fn label(&self) -> String {
        format!("{} -> {}", self.source_address(), self.destination_address())
    }

    fn source_address(&self) -> SocketAddr {
        SocketAddr::new(self.address(&self.source), self.source_port)
    }

    fn destination_address(&self) -> SocketAddr {
        SocketAddr::new(self.address(&self.destination), self.destination_port)
    }

    /// An IPv6 socket keeps the mapped form, as in `ss`.
    fn address(&self, bytes: &[u8; 16]) -> IpAddr {
        let address = Ipv6Addr::from(*bytes);
        match address.to_ipv4_mapped() {
            Some(v4) if u32::from(self.family) == AF_INET => v4.into(),
            _ => address.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_sample_is_not_told() {
        let mut raw = socket_detail::default();
        (raw.stats.rtt_min, raw.stats.snd_ssthresh) = (u32::MAX, TCP_INFINITE_SSTHRESH);
        raw.socket.state = 1;
        let none = SocketRecord(raw).transport().expect("no listener");
        assert_eq!((none.srtt, none.min_rtt, none.ssthresh_pkts, none.delivery_rate_bytes_per_s), Default::default());
    }

    /// 10 packets of 1448 bytes in 20 ms: 724,000 bytes per second; and the largest values do not overflow.
    #[test]
    fn the_delivery_rate_is_the_kernels() {
        assert_eq!(delivery_rate(10, 20_000, 1448), Some(724_000));
        assert_eq!(delivery_rate(10, 0, 1448), None);
        assert_eq!(delivery_rate(u32::MAX, 1 << 20, 65535), Some(268_431_359_937_500));
    }

    #[test]
    fn sequence_numbers_wrap() {
        assert_eq!(unsent_bytes(100, u32::MAX - 99), 200);
        assert_eq!(unsent_bytes(7, 8), 0, "a FIN was sent");
    }

    #[test]
    fn addresses_of_both_families() {
        let mut record = socket_record { source_port: 80, family: AF_INET as u16, ..Default::default() };
        record.source = Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 0x0001]).octets();
        assert_eq!(record.source_address().to_string(), "10.0.0.1:80");
        record.family = 10;
        assert_eq!(record.source_address().to_string(), "[::ffff:10.0.0.1]:80");
    }
}
