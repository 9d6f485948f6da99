// SPDX-License-Identifier: MIT OR Apache-2.0
//! One moment of one socket, from the sampler or from an event.

use std::time::Duration;

use ccctl_catalog::kernel::TCP_INFINITE_SSTHRESH;
use ccctl_loader::{delivery_rate, CaState, SocketSample, SocketState};
use ccctl_telemetry::bindings::trace_record;
use ccctl_telemetry::TraceKind;

const NO_MIN_RTT: u32 = u32::MAX;

/// Why there is a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It was time for one.
    Sample,
    /// Something happened.
    Of(TraceKind),
}

impl Event {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Of(TraceKind::Ack) => "ack",
            Self::Of(TraceKind::Retransmit) => "retransmit",
            Self::Of(TraceKind::Recovery) => "recovery",
            Self::Of(TraceKind::Timeout) => "timeout",
            Self::Of(TraceKind::Closed) => "closed",
        }
    }
}

/// The values of a row, as both sources have them.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Why.
    pub event: Event,
    /// When, on `CLOCK_MONOTONIC`.
    pub time: Duration,
    /// Whose.
    pub cookie: u64,
    /// Kernel name of its algorithm at this moment.
    pub algorithm: String,
    /// `struct_ops` map of its program; 0: built-in.
    pub map_id: u32,
    /// What that keeps.
    pub algorithm_state: Vec<u8>,
    /// Its numbers.
    pub values: Values,
    /// State of loss recovery.
    pub ca_state: &'static str,
}

/// What TCP knows, in the words of the columns.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)] // docs/guide/trace.md has them
pub struct Values {
    pub cwnd_pkts: u32,
    pub ssthresh_pkts: Option<u32>,
    pub srtt_us: Option<u32>,
    pub rttvar_us: Option<u32>,
    pub min_rtt_us: Option<u32>,
    pub in_flight_pkts: u32,
    pub in_flight_bytes: u32,
    pub delivered_pkts: u32,
    pub delivered_ce_pkts: u32,
    pub lost_pkts: u32,
    pub retransmits_pkts: u32,
    pub retransmits_in_flight_pkts: u32,
    pub rto_backoffs: u8,
    pub snd_una: u32,
    pub acked_bytes: u64,
    pub delivery_rate_bytes_per_s: Option<u64>,
    pub pacing_rate_bytes_per_s: Option<u64>,
    pub mss_bytes: u32,
}

impl Sample {
    /// A look at a socket; None where it is over.
    pub fn of_look(sample: &SocketSample) -> Option<Self> {
        let transport = sample.record.transport().filter(|_| sample.record.state() != SocketState::Closed)?;
        let us = |time: Duration| time.as_micros() as u32;
        let values = Values {
            cwnd_pkts: transport.cwnd_pkts,
            ssthresh_pkts: transport.ssthresh_pkts,
            srtt_us: transport.srtt.map(us),
            rttvar_us: transport.srtt.map(|_| us(sample.rtt_variation)),
            min_rtt_us: transport.min_rtt.map(us),
            in_flight_pkts: transport.packets_out,
            in_flight_bytes: transport.in_flight_bytes,
            delivered_pkts: transport.delivered_pkts,
            delivered_ce_pkts: transport.delivered_ce_pkts,
            lost_pkts: transport.lost_pkts,
            retransmits_pkts: transport.retransmits_pkts,
            retransmits_in_flight_pkts: transport.retransmits_out_pkts,
            rto_backoffs: transport.rto_backoffs,
            snd_una: sample.snd_una,
            acked_bytes: transport.acked_bytes,
            delivery_rate_bytes_per_s: transport.delivery_rate_bytes_per_s,
            pacing_rate_bytes_per_s: transport.pacing_rate_bytes_per_s,
            mss_bytes: transport.mss_bytes,
        };
        Some(Self {
            event: Event::Sample,
            time: sample.time,
            cookie: sample.record.cookie(),
            algorithm: sample.record.algorithm(),
            map_id: sample.record.map_id(),
            algorithm_state: sample.record.algorithm_state().to_vec(),
            values,
            ca_state: transport.ca_state.name(),
        })
    }

    /// An event; None of a kind that is not known.
    pub fn of_event(record: &trace_record) -> Option<Self> {
        let stats = &record.stats;
        let has_rtt = stats.srtt_us != 0;
        let values = Values {
            cwnd_pkts: stats.snd_cwnd,
            ssthresh_pkts: Some(stats.snd_ssthresh).filter(|pkts| *pkts < TCP_INFINITE_SSTHRESH),
            srtt_us: has_rtt.then_some(stats.srtt_us >> 3),
            rttvar_us: has_rtt.then_some(stats.mdev_us >> 2),
            min_rtt_us: Some(stats.rtt_min).filter(|us| *us != NO_MIN_RTT),
            in_flight_pkts: stats.packets_out,
            in_flight_bytes: stats.snd_nxt.wrapping_sub(stats.snd_una),
            delivered_pkts: stats.delivered,
            delivered_ce_pkts: stats.delivered_ce,
            lost_pkts: stats.lost,
            retransmits_pkts: stats.total_retrans,
            retransmits_in_flight_pkts: stats.retrans_out,
            rto_backoffs: stats.icsk_backoff,
            snd_una: stats.snd_una,
            acked_bytes: stats.bytes_acked,
            delivery_rate_bytes_per_s: delivery_rate(stats.rate_delivered, stats.rate_interval_us, stats.mss_cache),
            pacing_rate_bytes_per_s: Some(stats.sk_pacing_rate).filter(|rate| *rate != u64::MAX),
            mss_bytes: stats.mss_cache,
        };
        Some(Self {
            event: Event::Of(TraceKind::of(record)?),
            time: Duration::from_nanos(record.time_ns),
            cookie: record.cookie,
            algorithm: record.algorithm_name(),
            map_id: record.map_id,
            algorithm_state: stats.icsk_ca_priv.to_vec(),
            values,
            ca_state: CaState::of_kernel(stats.icsk_ca_state).name(),
        })
    }
}
