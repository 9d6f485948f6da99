// SPDX-License-Identifier: GPL-2.0-only
//! What a run yields: time series of flows and links, and transfers. Samples are counters and states at one time; what is
//! between two samples is the difference of counters.

use std::time::Duration;

use ccctl_sim::Stall;

/// A run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// When samples were taken, the first at 0, before anything.
    pub times: Vec<Duration>,
    /// All flows, by group.
    pub flows: Vec<Flow>,
    /// All links, forward direction, in the scenario's order.
    pub links: Vec<LinkSeries>,
    /// Transfers that ended, in the order of their ends.
    pub transfers: Vec<Transfer>,
    /// Of an emulated path on the kernel.
    pub path: Option<PathTiming>,
}

/// How well an emulated path kept its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTiming {
    /// How long its clock stood still.
    pub clock_pause: Duration,
    /// Each time that its router was kept from its work.
    pub stalls: Vec<Stall>,
    /// How late a packet was handed over at most, by that clock.
    pub latest_handover: Duration,
    /// How late an echo through it was at most.
    pub latest_echo: Duration,
}

/// A flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Number of its group.
    pub group: usize,
    /// Number in its group, from 0.
    pub number: usize,
    /// When it began.
    pub start: Duration,
    /// When it ended.
    pub stop: Option<Duration>,
    /// One a time of the outcome.
    pub samples: Vec<FlowSample>,
    /// The algorithm's state.
    pub state: Vec<StateField>,
}

/// A field of an algorithm's state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateField {
    /// Its name, with its unit.
    pub name: String,
    /// One per time of the outcome; none where the algorithm has no value.
    pub values: Vec<Option<i64>>,
}

/// A flow at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowSample {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow start threshold; none: infinite.
    pub ssthresh_pkts: Option<u32>,
    /// Smoothed RTT; 0 before the first sample.
    pub srtt_us: u32,
    /// Sent and not acknowledged.
    pub in_flight_pkts: u32,
    /// In the network, by the sender's estimate.
    pub pipe_pkts: u32,
    /// Open, Disorder, CWR, Recovery, Loss.
    pub ca_state: u8,
    /// Data that reached the receiver for the first time.
    pub received_bytes: u64,
    /// Data that was acknowledged.
    pub acked_bytes: u64,
    /// Packets delivered, those of selective acknowledgements included.
    pub delivered_pkts: u64,
    /// Of those, with an ECN mark, as the receiver told.
    pub delivered_ce_pkts: u64,
    /// Data packets sent, retransmissions included.
    pub data_segments_sent_pkts: u64,
    /// Retransmissions.
    pub retransmits_pkts: u64,
    /// Times that Recovery was entered,
    pub recoveries: u64,
    /// that CWR was,
    pub mark_reductions: u64,
    /// retransmission timeouts.
    pub timeouts: u64,
}

impl FlowSample {
    /// Times that the window was reduced for what was taken for congestion.
    #[must_use]
    pub fn loss_epochs(&self) -> u64 {
        self.recoveries + self.mark_reductions + self.timeouts
    }
}

/// A link.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkSeries {
    /// One a time of the outcome.
    pub samples: Vec<LinkSample>,
}

/// A link at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkSample {
    /// Packets that wait.
    pub queue_pkts: u64,
    /// Packets times the time that they waited, so far: the queue's integral.
    pub waited_pkt_us: u64,
    /// Packets that came.
    pub arrived_pkts: u64,
    /// That the queue dropped.
    pub dropped_pkts: u64,
    /// That were lost on the link.
    pub lost_pkts: u64,
    /// That were marked.
    pub marked_pkts: u64,
    /// That crossed it.
    pub delivered_pkts: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
}

/// A transfer that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Number of the flow in [`Outcome::flows`].
    pub flow: usize,
    /// Its packets.
    pub pkts: u32,
    /// When it was written.
    pub started: Duration,
    /// When its last packet was acknowledged.
    pub finished: Duration,
}
