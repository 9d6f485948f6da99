// SPDX-License-Identifier: GPL-2.0-only
//! What a path is: the dumbbell that is asked for.

use std::time::Duration;

use ccctl_sim::{BitRate, Limit, LinkRate, LinkSpec, Queue, SendingEnd};

use ccctl_testbed::TestbedError;

/// Senders have addresses with a byte of their own.
const MOST_SENDERS: usize = 250;
/// A stall adds to an RTT: it does little harm as long as it is a small part of it.
const RTT_SHARE: u32 = 20;
/// Beyond this, whatever the path: algorithms take notice of delays by milliseconds.
const MOST_LATE: Duration = Duration::from_millis(10);
/// What every IPv4 host accepts (RFC 791), and the largest that an IPv4 header can tell.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 576..=65_535;
/// No window but that of the algorithm is to matter. While a loss is repaired, one flight waits for it, and each round trip that this
/// takes, three where a retransmission is lost, sends another; a packet of 1000 bytes takes up [`PACKET_MEMORY_BYTES`].
const BUFFER_PER_FLIGHT: u64 = 16;
const BUFFER_BYTES: std::ops::RangeInclusive<u64> = 6 << 20..=1 << 30;
/// What a packet of up to 1500 bytes from a TUN device takes of a receiver's buffer (`sk_buff.truesize`).
const PACKET_MEMORY_BYTES: u64 = 2304;
/// In 256ths: what a receiver expects to hold data of its buffer before the first packet (`TCP_DEFAULT_SCALING_RATIO`).
const FIRST_WINDOW_Q8: u64 = 128;
/// Of a TUN device.
const DEFAULT_MTU_BYTES: u32 = 1500;

/// A host, or several with the same delay: one namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderSpec {
    /// One way to the receiver, beside the delay of the link.
    pub delay: Duration,
    /// One way back.
    pub delay_back: Duration,
}

impl SenderSpec {
    /// The same delay both ways; together they are `rtt`.
    #[must_use]
    pub fn with_rtt(rtt: Duration) -> Self {
        let delay = rtt / 2;
        Self { delay, delay_back: rtt.saturating_sub(delay) }
    }
}

/// How the router waits for its next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// It asks again and again: it takes a whole processor and is never late by a wake-up. On the only processor it sleeps.
    Busy,
    /// It sleeps until a packet comes or is due: some 0.1 ms later each way, for CI and slow paths.
    Sleep,
}

/// A path: senders, a bottleneck, a receiver. The links are those of the simulator and mean the same.
#[derive(Debug, Clone)]
pub struct PathSpec {
    /// One namespace each.
    pub senders: Vec<SenderSpec>,
    /// From the senders to the receiver.
    pub forward: LinkSpec,
    /// From the receiver to the senders; without one there is nothing but delay.
    pub reverse: Option<LinkSpec>,
    /// Of which packets are lost.
    pub seed: u64,
    /// Largest IP packet; below 1280 bytes there is no IPv6.
    pub mtu_bytes: u32,
    /// How the router waits.
    pub waiting: Waiting,
    /// How often the queues are looked at.
    pub sampling: Duration,
    /// What makes a run invalid.
    pub bounds: Bounds,
}

/// How late the emulator may be before a run is not to be believed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// A window of 100 ms in which something was later than this is late.
    pub late: Duration,
    /// Largest share of late windows.
    pub late_windows_share: f64,
    /// A window in which something was later than this is very late.
    pub very_late: Duration,
    /// Largest share of very late windows.
    pub very_late_windows_share: f64,
    /// Largest relative error of the rate, over the times in which packets waited for the link for 100 ms or more.
    pub rate_error: f64,
    /// Largest share of time for which the path's clock stood still.
    pub clock_pause_share: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            late: Duration::from_millis(1),
            late_windows_share: 0.05,
            very_late: Duration::from_millis(5),
            very_late_windows_share: 0.01,
            rate_error: 0.001,
            clock_pause_share: 0.05,
        }
    }
}

impl Bounds {
    /// The usual bounds, all of them as many times wider as `late` is of the usual one.
    #[must_use]
    pub fn widened_to(late: Duration) -> Self {
        let usual = Self::default();
        let times = late.as_secs_f64() / usual.late.as_secs_f64();
        Self {
            late,
            very_late: usual.very_late.mul_f64(times),
            rate_error: usual.rate_error * times,
            clock_pause_share: (usual.clock_pause_share * times).min(1.0),
            ..usual
        }
    }

    /// Those that a path asks for: a twentieth of its shortest RTT; not less than the usual ones, which a machine can keep, nor
    /// more than 10 ms.
    #[must_use]
    pub fn of(spec: &PathSpec) -> Self {
        let allowed = spec.rtts().min().unwrap_or_default() / RTT_SHARE;
        Self::widened_to(allowed.clamp(Self::default().late, MOST_LATE))
    }
}

impl PathSpec {
    /// One sender, drop-tail at the bottleneck, no queue on the way back.
    #[must_use]
    pub fn new(rate: BitRate, rtt: Duration, limit: Limit) -> Self {
        Self {
            senders: vec![SenderSpec::with_rtt(rtt)],
            forward: LinkSpec::new(LinkRate::Constant(rate), Duration::ZERO, Queue::DropTail(limit)),
            reverse: None,
            seed: 1,
            mtu_bytes: DEFAULT_MTU_BYTES,
            waiting: Waiting::Busy,
            sampling: Duration::from_millis(10),
            bounds: Bounds::default(),
        }
    }

    /// Whether the emulator can do it.
    pub fn check(&self) -> Result<(), TestbedError> {
        let refuse = |what: String| Err(TestbedError::Unexpected(what));
        if self.senders.is_empty() || self.senders.len() > MOST_SENDERS {
            return refuse(format!("a path has 1 to {MOST_SENDERS} senders, not {}", self.senders.len()));
        }
        if !MTU_BYTES.contains(&self.mtu_bytes) {
            return refuse(format!("the largest packet has 576 to 65535 bytes, not {}", self.mtu_bytes));
        }
        if self.sampling.is_zero() {
            return refuse("the time between two looks at the queue must be longer than 0".to_owned());
        }
        for link in std::iter::once(&self.forward).chain(&self.reverse) {
            if !link.jitter.is_zero() || link.reordering.is_some() {
                return refuse("the emulated path has no jitter and no reordering; the simulator has".to_owned());
            }
            if let Some(what) = link.queue.only_simulated() {
                return refuse(format!("the emulated path has no {what}; the simulator has"));
            }
        }
        Ok(())
    }

    /// The sending ends of both links.
    pub(super) fn endpoints(&self) -> (Option<SendingEnd>, Option<SendingEnd>) {
        let end = |link: &LinkSpec, index| SendingEnd::new(&link.rate, &link.queue, link.loss, self.seed, index);
        (end(&self.forward, 0), self.reverse.as_ref().and_then(|link| end(link, 1)))
    }

    /// One way to the receiver, for each sender.
    pub(super) fn delays(&self) -> Vec<Duration> {
        self.senders.iter().map(|sender| sender.delay + self.forward.delay).collect()
    }

    /// One way back, for each sender.
    pub(super) fn delays_back(&self) -> Vec<Duration> {
        let link = self.reverse.as_ref().map_or(Duration::ZERO, |link| link.delay);
        self.senders.iter().map(|sender| sender.delay_back + link).collect()
    }

    /// What the longest path and the queue hold at most: what a connection can have in flight.
    #[must_use]
    pub fn in_flight_bytes(&self) -> u64 {
        let rtt = self.rtts().max().unwrap_or_default();
        let rate = self.forward.rate.mean().as_bits_per_s();
        let bdp_bytes = u128::from(rate) * rtt.as_nanos() / 8_000_000_000;
        bdp_bytes as u64 + self.queue_bytes()
    }

    /// The buffer of a connection at either end.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        (BUFFER_PER_FLIGHT * self.in_flight_bytes()).clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end())
    }

    /// Packets of `mss_bytes` of data over which the receiver's window grows, each of which has its ACK at once. The kernel takes half
    /// of the buffer for data until the first packet tells how much of its memory is data (`tcp_measure_rcv_mss`, Linux 6.6 and
    /// later); from then on a packet adds two to the window until it is as large as the buffer allows (`tcp_grow_window`). 0 where packets
    /// may be larger than a device's usual ones: what these take of the buffer is not known here.
    #[must_use]
    pub fn growing_window_pkts(&self, mss_bytes: u16) -> u32 {
        if self.mtu_bytes > DEFAULT_MTU_BYTES {
            return 0;
        }
        let mss_bytes = u64::from(mss_bytes).max(1);
        let grown_q8 = (mss_bytes * 256 / PACKET_MEMORY_BYTES).saturating_sub(FIRST_WINDOW_Q8);
        (self.buffer_bytes() * grown_q8 / 256 / (2 * mss_bytes)) as u32
    }

    /// Base RTTs of the senders.
    fn rtts(&self) -> impl Iterator<Item = Duration> {
        self.delays().into_iter().zip(self.delays_back()).map(|(there, back)| there + back)
    }

    /// What the bottleneck's queue holds at most.
    fn queue_bytes(&self) -> u64 {
        match &self.forward.queue {
            Queue::DropTail(limit) | Queue::Threshold { limit, .. } | Queue::Step { limit, .. } | Queue::Xcp(limit) => {
                limit_bytes(*limit, self.mtu_bytes)
            }
            Queue::Red(red) => limit_bytes(Limit::Packets(red.limit_pkts), self.mtu_bytes),
            Queue::DualPi2(dual) => limit_bytes(Limit::Packets(dual.limit_pkts), self.mtu_bytes),
            Queue::Codel(codel) => limit_bytes(Limit::Packets(codel.limit_pkts), self.mtu_bytes),
        }
    }
}

fn limit_bytes(limit: Limit, mtu_bytes: u32) -> u64 {
    match limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(pkts) => u64::from(pkts) * u64::from(mtu_bytes),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ccctl_sim::Codel;

    fn spec() -> PathSpec {
        PathSpec::new(BitRate::mbit_per_s(100), Duration::from_millis(80), Limit::Packets(100))
    }

    /// 100 Mbit/s * 80 ms = 1 MB, and 100 packets of 1500 bytes.
    #[test]
    fn a_connection_can_have_bdp_and_queue_in_flight() {
        assert_eq!(spec().in_flight_bytes(), 1_000_000 + 150_000);
    }

    /// `ss` of a receiver over 250 Mbit/s, 162 ms and a queue of 20 % BDP (Linux 6.18): a buffer of 97,200,000 bytes, `rcv_ssthresh` of
    /// 48,598,552 at first and of 60,748,560 in the end, and two segments of 1448 bytes for each packet between them.
    #[test]
    fn a_receivers_window_grows_over_its_first_packets() {
        let queue = Limit::Bytes(250_000_000 / 8 * 162 / 1000 / 5);
        let spec = PathSpec::new(BitRate::mbit_per_s(250), Duration::from_millis(162), queue);
        assert_eq!(spec.buffer_bytes(), 97_200_000);
        let seen_pkts = (60_748_560 - 48_598_552) / (2 * 1448);
        assert_eq!(spec.growing_window_pkts(1448), seen_pkts);
        assert_eq!(spec.growing_window_pkts(1000), 0); // not half of 2304
        assert_eq!(PathSpec { mtu_bytes: 9000, ..spec }.growing_window_pkts(8948), 0);
    }

    /// Ten times the usual 1 ms, 5 ms, 0.1 % and 5 % of standing still; shares of windows stay.
    #[test]
    fn bounds_widen_together() {
        let bounds = Bounds::widened_to(Duration::from_millis(10));
        assert_eq!(bounds.very_late, Duration::from_millis(50));
        assert!((bounds.rate_error - 0.01).abs() < 1e-12 && (bounds.clock_pause_share - 0.5).abs() < 1e-12);
        assert!(Bounds::widened_to(Duration::from_secs(1)).clock_pause_share <= 1.0);
        assert_eq!(Bounds::widened_to(Duration::from_millis(1)), Bounds::default());
    }

    /// 80 ms / 20 = 4 ms, of the sender that is nearest; 1 and 10 ms are the ends.
    #[test]
    fn lateness_is_held_against_the_rtt() {
        let late_ms = |rtts_ms: &[u64]| {
            let senders = rtts_ms.iter().map(|ms| SenderSpec::with_rtt(Duration::from_millis(*ms))).collect();
            Bounds::of(&PathSpec { senders, ..spec() }).late.as_millis()
        };
        assert_eq!(late_ms(&[300, 80]), 4);
        assert_eq!((late_ms(&[10]), late_ms(&[400])), (1, 10));
    }

    #[test]
    fn what_the_emulator_cannot_do_is_refused() {
        spec().check().unwrap();
        let link = spec().forward;
        let refused = [
            PathSpec { senders: Vec::new(), ..spec() },
            PathSpec { mtu_bytes: 575, ..spec() },
            PathSpec { sampling: Duration::ZERO, ..spec() },
            PathSpec { forward: LinkSpec { jitter: Duration::from_millis(1), ..link.clone() }, ..spec() },
            PathSpec { reverse: Some(LinkSpec { queue: Queue::Codel(Codel::default()), ..link }), ..spec() },
        ];
        assert!(refused.iter().all(|spec| spec.check().is_err()));
    }
}
