// SPDX-License-Identifier: MIT OR Apache-2.0
//! The columns of time series. `ccctl trace`, the laboratory's series and the JSON of `ccctl sockets` take names, units and
//! types from here, so that a simulated and a real flow can be drawn on one axis without renaming.
//!
//! Where the kernel has the quantity, its explanation ends in the kernel's name of it.

use crate::table::{Column, Values};
use crate::unit::unit_of;

/// Before the names of an algorithm's own fields.
pub const STATE_PREFIX: &str = "state.";

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Numbers with fractions.
    Float,
    /// Words.
    Text,
    /// True or false; only in JSON.
    Flag,
}

/// A column, wherever it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// Its unit, as pictures show it; empty for a count or a word.
    pub unit: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it says.
    pub meaning: &'static str,
}

impl Definition {
    /// The column with these values.
    #[must_use]
    pub fn with(&self, values: Values) -> Column {
        Column { name: self.name.to_owned(), unit: self.unit.to_owned(), values }
    }

    /// The column without rows; flags are words in a table.
    #[must_use]
    pub fn empty(&self) -> Column {
        self.with(match self.kind {
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Text | Kind::Flag => Values::Text(Vec::new()),
        })
    }
}

/// The column of a field of an algorithm's state, whose name ends in its unit.
#[must_use]
pub fn of_state(field: &str, values: Values) -> Column {
    Column { name: format!("{STATE_PREFIX}{field}"), unit: unit_of(field), values }
}

/// Each definition as a constant, and all of them as a list.
macro_rules! definitions {
    ($(#[$about:meta])* $list:ident: $($constant:ident $name:literal $unit:literal $kind:ident $meaning:literal;)+) => {
        $(
            #[doc = $meaning]
            pub const $constant: Definition = Definition { name: $name, unit: $unit, kind: Kind::$kind, meaning: $meaning };
        )+
        $(#[$about])*
        pub const $list: &[Definition] = &[$($constant),+];
    };
}

definitions! {
    /// Of a socket, or of a flow of the laboratory.
    SOCKET:
    TIME_S "time_s" "s" Float "since the start of the trace or of the run";
    EVENT "event" "" Text "why there is a row";
    COOKIE "cookie" "" Integer "`SO_COOKIE`: identifies the socket while the host runs";
    SOURCE "source" "" Text "local address and port";
    DESTINATION "destination" "" Text "remote address and port";
    NAMESPACE "namespace" "" Text "network namespace: its name, or the process through which it was found";
    STATE "state" "" Text "state of the connection, as `ss` names it";
    PID "pid" "" Integer "a process that has the socket open";
    COMMAND "command" "" Text "name of that process";
    CGROUP "cgroup" "" Text "cgroup (v2) in which the socket was created";
    CGROUP_ID "cgroup_id" "" Integer "its id";
    CONGESTION_CONTROL "congestion_control" "" Text "kernel name of the algorithm, as in `net.ipv4.tcp_congestion_control`";
    ALGORITHM "algorithm" "" Text "algorithm, as `ccctl algorithms` lists it";
    MAP_ID "map_id" "" Integer "id of the program's `struct_ops` map";
    IS_ON_OLD_PROGRAM "is_on_old_program" "" Flag "the kernel name leads to another program by now, or to none";
    CA_STATE "ca_state" "" Text "state of loss recovery: `open`, `disorder`, `cwr`, `recovery` or `loss` (`icsk_ca_state`)";
    ECN_MODE "ecn_mode" "" Text "what both sides agreed to on congestion marks: `disabled`, `rfc3168`, `accecn` or, in the handshake, `pending` (`tcpi_ecn_mode`)";
    CWND_PKTS "cwnd_pkts" "packets" Integer "congestion window (`snd_cwnd`)";
    SSTHRESH_PKTS "ssthresh_pkts" "packets" Integer "slow-start threshold; missing before the first loss (`snd_ssthresh`)";
    IS_WINDOW_IMPOSSIBLE "is_window_impossible" "" Flag "window or threshold is above 2^20 packets, which no algorithm asks for";
    SRTT_US "srtt_us" "us" Integer "smoothed RTT; missing before the first sample (`tcpi_rtt`)";
    RTTVAR_US "rttvar_us" "us" Integer "mean deviation of the RTT, RTTVAR of RFC 6298 (`tcpi_rttvar`)";
    MIN_RTT_US "min_rtt_us" "us" Integer "smallest RTT (`tcpi_min_rtt`)";
    IN_FLIGHT_PKTS "in_flight_pkts" "packets" Integer "sent and not acknowledged (`packets_out`)";
    IN_FLIGHT_BYTES "in_flight_bytes" "bytes" Integer "the same in bytes (`snd_nxt - snd_una`)";
    PIPE_PKTS "pipe_pkts" "packets" Integer "in the network by the sender's estimate, without what is lost or has arrived: pipe of RFC 6675 (`tcp_packets_in_flight()`)";
    UNSENT_BYTES "unsent_bytes" "bytes" Integer "written by the application and not sent (`tcpi_notsent_bytes`)";
    DELIVERED_PKTS "delivered_pkts" "packets" Integer "delivered since the connection began, selective acknowledgements included (`delivered`)";
    DELIVERED_CE_PKTS "delivered_ce_pkts" "packets" Integer "of these, with an ECN mark, as the receiver told (`delivered_ce`)";
    LOST_PKTS "lost_pkts" "packets" Integer "marked lost since then (`lost`)";
    RETRANSMITS_PKTS "retransmits_pkts" "packets" Integer "retransmissions since then (`total_retrans`)";
    RETRANSMITS_IN_FLIGHT_PKTS "retransmits_in_flight_pkts" "packets" Integer "retransmissions in flight (`retrans_out`)";
    SEGMENTS_SENT_PKTS "segments_sent_pkts" "packets" Integer "segments sent since the connection began, ACKs and retransmissions included (`segs_out`)";
    DATA_SEGMENTS_SENT_PKTS "data_segments_sent_pkts" "packets" Integer "of these, those with data (`data_segs_out`)";
    TIMEOUTS "timeouts" "" Integer "retransmission timeouts since then; 0 before Linux 6.7 (`total_rto`)";
    BUSY_US "busy_us" "us" Integer "time in which data was outstanding, since the connection began (`tcpi_busy_time`)";
    RWND_LIMITED_US "rwnd_limited_us" "us" Integer "of it, the time in which the peer's window was the limit (`tcpi_rwnd_limited`)";
    SNDBUF_LIMITED_US "sndbuf_limited_us" "us" Integer "of it, the time in which the send buffer was the limit (`tcpi_sndbuf_limited`)";
    RTO_BACKOFFS "rto_backoffs" "" Integer "doublings of the retransmission timeout in a row (`icsk_backoff`)";
    LOSS_EPOCHS "loss_epochs" "" Integer "reductions of the window for loss or ECN marks";
    SND_UNA "snd_una" "" Integer "sequence number of the first byte that is not acknowledged (`snd_una`)";
    ACKED_BYTES "acked_bytes" "bytes" Integer "acknowledged since the connection began; in the kernel the SYN is one byte (`bytes_acked`)";
    RECEIVED_BYTES "received_bytes" "bytes" Integer "data that reached the receiver for the first time (its `tcpi_bytes_received`)";
    DELIVERY_RATE_BYTES_PER_S "delivery_rate_bytes_per_s" "bytes/s" Integer "latest sample; missing before the first (`tcpi_delivery_rate`)";
    IS_RATE_APP_LIMITED "is_rate_app_limited" "" Flag "the application held that sample back (`rate_app_limited`)";
    PACING_RATE_BYTES_PER_S "pacing_rate_bytes_per_s" "bytes/s" Integer "missing: no limit (`sk_pacing_rate`)";
    MSS_BYTES "mss_bytes" "bytes" Integer "largest segment (`mss_cache`)";
    OTHER_STATE "other_state" "" Text "fields of the algorithm's state that have no column, as `name=value`";
}

definitions! {
    /// Of the host.
    HOST:
    HOST_BACKLOG_PKTS "host_backlog_pkts" "packets" Integer "packets that wait on all processors";
    HOST_BACKLOG_DROPS "host_backlog_drops" "packets" Integer "packets dropped there since the start of the trace";
}

definitions! {
    /// Of a link of the laboratory, with [`TIME_S`]. Counters begin with the run.
    LINK:
    QUEUE_PKTS "queue_pkts" "packets" Integer "packets that wait in the queue";
    WAITED_PKT_US "waited_pkt_us" "packets us" Integer "packets times the time that they waited: the integral of the queue";
    ARRIVED_PKTS "arrived_pkts" "packets" Integer "packets that arrived at the queue";
    DROPPED_PKTS "dropped_pkts" "packets" Integer "packets that the queue dropped";
    LINK_LOST_PKTS "lost_pkts" "packets" Integer "packets lost on the link";
    MARKED_PKTS "marked_pkts" "packets" Integer "packets that the queue marked (ECN)";
    LINK_DELIVERED_PKTS "delivered_pkts" "packets" Integer "packets that crossed the link";
    DELIVERED_BYTES "delivered_bytes" "bytes" Integer "their bytes";
}
