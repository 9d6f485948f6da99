// SPDX-License-Identifier: GPL-2.0-only
//! TCP as Linux has it around a congestion control algorithm: names in the comments are the kernel's functions, in
//! `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_recovery.c`, `tcp_rate.c` and `tcp_timer.c`.
//!
//! Packets are numbered; all have the same size. What the algorithm may see is kept in the flow's socket and only there.

mod ack;
mod ack_state;
mod ecn;
mod output;
mod pacing;
mod rack;
mod rate;
mod receiver;
mod recovery;
mod rtt;
mod sack;
mod sent;
mod spec;
mod timer;
mod undo;
mod xcp;

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::kernel::TCP_INFINITE_SSTHRESH;

use crate::flow::Flow;
use crate::native::{prefetch, tcp_sock, Instance, SK_PACING_NEEDED, SK_PACING_NONE};
use crate::random::{Purpose, Random};
use crate::ranges::RangeSet;
pub(crate) use ecn::Echo;
use ecn::Negotiated;
use rack::Rack;
pub(crate) use receiver::Receiver;
use rtt::RttEstimator;
use sent::SentRing;
pub use spec::TcpSpec;
use timer::Timer;

/// What has happened to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowCounters {
    /// Data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Of those, retransmissions.
    pub retransmitted_pkts: u64,
    /// Packets acknowledged in order.
    pub acked_pkts: u64,
    /// Packets delivered, those of selective acknowledgements included.
    pub delivered_pkts: u64,
    /// Of those, with an ECN mark, as the receiver told.
    pub delivered_ce_pkts: u64,
    /// Times that Recovery was entered.
    pub recoveries: u64,
    /// Times that CWR was entered.
    pub mark_reductions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Reductions that were undone.
    pub undone: u64,
}

/// The sending end of a connection.
#[allow(clippy::struct_excessive_bools)] // the kernel's
pub(crate) struct Sender {
    pub(crate) flow: Flow,
    pub(crate) spec: TcpSpec,
    pub(crate) counters: FlowCounters,
    index: u32,
    connection: u8,
    echo: Echo,
    ecn: bool,
    ect_1: bool,
    received_ce_pkts: u32, // as the receiver has told
    owes_cwr: bool,        // the next new packet says that the window was reduced
    sent: SentRing,
    una: u32,
    next: u32,
    limit: u32, // what the application has written
    is_closed: bool,
    high_seq: u32,
    undo_marker: Option<u32>,
    undo_retrans: Option<u32>,
    retrans_stamp_us: Option<u32>,
    echoed_us: u32, // our time stamp in the last ACK
    prr_delivered: u32,
    prr_out: u32,
    reordering: u32,
    rack: Rack,
    sacked: RangeSet,
    lost: RangeSet, // marked lost and not sent again; what was delivered since then may still be in it
    rtt: RttEstimator,
    timeouts_in_row: u32,
    frto: bool,
    tlp: Option<timer::Probe>,
    timer: Timer,
    timer_ns: u64,
    pacing_ns: u64, // when the pacing timer is due
    burst_sent_pkts: u64,
    first_tx_us: u32,
    cwnd_usage_end: u32,
    cwnd_used_pkts: u32,
    cwnd_stamp_us: u64,
    last_sent_us: u64,
    xcp_rest_bytes_q8: u64, // of XCP's window, beyond whole packets
    /// When its earliest event is due, of those in the queue.
    pub(crate) queued_ns: u64,
}

impl Sender {
    pub(crate) fn new(instance: Arc<Instance>, spec: TcpSpec, index: u32, seed: u64, now: Duration) -> Self {
        let negotiated = Negotiated::of(&instance, &spec);
        let ssthresh_pkts = spec.initial_ssthresh_pkts.unwrap_or(TCP_INFINITE_SSTHRESH);
        let mut flow = Flow::new(instance, spec.initial_window_pkts, ssthresh_pkts, now);
        flow.socket.random_state = Random::new(seed, Purpose::Algorithm, index).next_u64();
        flow.socket.mss_cache = u32::from(spec.mss_bytes);
        flow.socket.inet_conn.sk.sk_max_pacing_rate = u64::MAX;
        flow.socket.inet_conn.sk.sk_pacing_shift = 10;
        flow.set_cwnd_clamp(spec.max_window_pkts);
        flow.restart_with_ecn_flags(negotiated.ecn_flags());
        if spec.pacing && flow.socket.inet_conn.sk.sk_pacing_status == SK_PACING_NONE {
            flow.socket.inet_conn.sk.sk_pacing_status = SK_PACING_NEEDED;
        }
        let floor_us = spec.min_timeout.as_micros() as u32;
        Self {
            flow,
            spec,
            counters: FlowCounters::default(),
            index,
            connection: 0,
            echo: negotiated.echo,
            ecn: negotiated.ecn,
            ect_1: negotiated.ect_1,
            received_ce_pkts: 0,
            owes_cwr: false,
            sent: SentRing::new(),
            una: 0,
            next: 0,
            limit: 0,
            is_closed: false,
            high_seq: 0,
            undo_marker: None,
            undo_retrans: None,
            retrans_stamp_us: None,
            echoed_us: 0,
            prr_delivered: 0,
            prr_out: 0,
            reordering: rack::DUPLICATES,
            rack: Rack::default(),
            sacked: RangeSet::default(),
            lost: RangeSet::default(),
            rtt: RttEstimator::new(floor_us),
            timeouts_in_row: 0,
            frto: false,
            tlp: None,
            timer: Timer::None,
            timer_ns: u64::MAX,
            pacing_ns: u64::MAX,
            burst_sent_pkts: 0,
            first_tx_us: 0,
            cwnd_usage_end: 0,
            cwnd_used_pkts: 0,
            cwnd_stamp_us: 0,
            last_sent_us: 0,
            xcp_rest_bytes_q8: 0,
            queued_ns: u64::MAX,
        }
    }

    /// The next connection of the same user, which knows nothing of this one.
    pub(crate) fn renewed(&self, seed: u64, now: Duration) -> Self {
        let mut next = Self::new(self.flow.instance(), self.spec, self.index, seed, now);
        next.connection = self.connection.wrapping_add(1);
        next.counters = self.counters;
        next.queued_ns = self.queued_ns;
        next.flow.socket.random_state = self.flow.socket.random_state;
        next
    }

    pub(crate) fn tp(&self) -> &tcp_sock {
        &self.flow.socket
    }

    fn tp_mut(&mut self) -> &mut tcp_sock {
        &mut self.flow.socket
    }

    fn now_us(&self) -> u32 {
        self.flow.socket.tcp_mstamp as u32
    }

    /// All that was written is acknowledged.
    pub(crate) fn is_idle(&self) -> bool {
        self.una == self.limit
    }

    pub(crate) fn echo(&self) -> Echo {
        self.echo
    }

    pub(crate) fn connection(&self) -> u8 {
        self.connection & 3
    }

    /// `tcp_mstamp_refresh`
    pub(crate) fn set_clock(&mut self, now_ns: u64) {
        let tp = self.tp_mut();
        tp.tcp_clock_cache = now_ns;
        tp.tcp_mstamp = now_ns / 1000;
    }

    /// When the first of its timers is due.
    pub(crate) fn due_ns(&self) -> u64 {
        self.timer_ns.min(self.pacing_ns)
    }

    pub(crate) fn min_rtt_us(&self) -> Option<u32> {
        Some(self.rtt.min_us).filter(|us| *us != u32::MAX)
    }

    pub(crate) fn timeout_us(&self) -> u32 {
        self.rtt.timeout_us()
    }

    /// The records that the next ACK will read and write.
    pub(crate) fn prefetch_packets(&self) {
        for number in [self.una, self.una + 2, self.next, self.next + 2] {
            prefetch(self.sent.get(number));
        }
    }

    /// What must hold after every event; a sentence where it does not.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let tp = self.tp();
        let outstanding = self.next - self.una;
        match () {
            () if tp.packets_out != outstanding => Some("packets_out is not what was sent and not acknowledged"),
            () if tp.sacked_out + tp.lost_out > tp.packets_out => Some("more are sacked or lost than outstanding"),
            () if tp.retrans_out > tp.packets_out => Some("more are sent again than outstanding"),
            () if tp.snd_cwnd == 0 => Some("the window is 0"),
            () if tp.packets_out > 0 && self.timer == Timer::None => Some("packets are outstanding and no timer runs"),
            () => None,
        }
    }
}
