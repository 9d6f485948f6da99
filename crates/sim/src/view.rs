// SPDX-License-Identifier: GPL-2.0-only
//! What can be seen of a simulation while time stands still.

use std::time::Duration;

use crate::native::STATE_BYTES;
use crate::network::clock::BitRate;
use crate::network::dualpi2::DualPi2View;
use crate::network::link::{Link, LinkCounters};
use crate::tcp::{FlowCounters, Receiver, Sender};

/// A flow.
#[derive(Clone, Copy)]
pub struct FlowView<'a> {
    pub(crate) sender: &'a Sender,
    pub(crate) receiver: &'a Receiver,
    pub(crate) dropped_pkts: u64,
}

impl FlowView<'_> {
    /// Congestion window.
    #[must_use]
    pub fn cwnd_pkts(&self) -> u32 {
        self.sender.flow.cwnd_pkts()
    }

    /// Slow start threshold.
    #[must_use]
    pub fn ssthresh_pkts(&self) -> u32 {
        self.sender.flow.ssthresh_pkts()
    }

    /// Smoothed RTT; zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Duration {
        Duration::from_micros(u64::from(self.sender.tp().srtt_us >> 3))
    }

    /// Smallest RTT of the connection; none before the first sample.
    #[must_use]
    pub fn min_rtt(&self) -> Option<Duration> {
        self.sender.min_rtt_us().map(|us| Duration::from_micros(u64::from(us)))
    }

    /// The retransmission timeout, backed off or not.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_micros(u64::from(self.sender.timeout_us()))
    }

    /// Packets sent and not acknowledged.
    #[must_use]
    pub fn packets_out(&self) -> u32 {
        self.sender.tp().packets_out
    }

    /// Packets in flight, as the sender reckons.
    #[must_use]
    pub fn in_flight_pkts(&self) -> u32 {
        self.sender.flow.in_flight_pkts()
    }

    /// Bytes per second at which packets leave; none where they are not paced.
    #[must_use]
    pub fn pacing_bytes_per_s(&self) -> Option<u64> {
        let sk = &self.sender.tp().inet_conn.sk;
        (sk.sk_pacing_status != crate::native::SK_PACING_NONE).then_some(sk.sk_pacing_rate)
    }

    /// Open, Disorder, CWR, Recovery or Loss, as `enum tcp_ca_state` numbers them.
    #[must_use]
    pub fn ca_state(&self) -> u8 {
        self.sender.flow.ca_state()
    }

    /// A field of the algorithm's state.
    #[must_use]
    pub fn state(&self, field: &str) -> Option<i128> {
        self.sender.flow.state(field)
    }

    /// All of the algorithm's state, for [`Layout`](ccctl_catalog::Layout) to read.
    #[must_use]
    pub fn state_bytes(&self) -> [u8; STATE_BYTES] {
        self.sender.flow.state_bytes()
    }

    /// Name of the algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        self.sender.flow.instance().algorithm()
    }

    /// What the sender has counted.
    #[must_use]
    pub fn counters(&self) -> FlowCounters {
        self.sender.counters
    }

    /// Data bytes that reached the receiver for the first time.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received_pkts * u64::from(self.sender.spec.mss_bytes)
    }

    /// Data bytes that were acknowledged in order.
    #[must_use]
    pub fn acked_bytes(&self) -> u64 {
        self.sender.counters.acked_pkts * u64::from(self.sender.spec.mss_bytes)
    }

    /// Data packets that reached the receiver for the first time.
    #[must_use]
    pub fn received_pkts(&self) -> u64 {
        self.receiver.received_pkts
    }

    /// Data packets that the receiver had already.
    #[must_use]
    pub fn duplicate_pkts(&self) -> u64 {
        self.receiver.duplicate_pkts
    }

    /// Data packets that queues dropped or links lost.
    #[must_use]
    pub fn dropped_pkts(&self) -> u64 {
        self.dropped_pkts
    }

    /// Packets of the present connection that the receiver has without a gap.
    #[must_use]
    pub fn in_order_pkts(&self) -> u32 {
        self.receiver.in_order_pkts()
    }
}

/// A link.
#[derive(Clone, Copy)]
pub struct LinkView<'a> {
    pub(crate) link: &'a Link,
    pub(crate) rate: BitRate,
    pub(crate) now_ns: u64,
}

impl LinkView<'_> {
    /// Packets that wait.
    #[must_use]
    pub fn queue_pkts(&self) -> usize {
        self.link.queue_pkts(self.now_ns)
    }

    /// Bytes that wait.
    #[must_use]
    pub fn queue_bytes(&self) -> u64 {
        self.link.queue_bytes(self.now_ns)
    }

    /// What the link has counted.
    #[must_use]
    pub fn counters(&self) -> LinkCounters {
        self.link.counters
    }

    /// The two queues of `DualPI2`; none of another queue.
    #[must_use]
    pub fn dual_pi2(&self) -> Option<DualPi2View> {
        self.link.dual_pi2()
    }

    /// Its rate, or the mean rate of its trace.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        self.rate
    }
}
