// SPDX-License-Identifier: GPL-2.0-only
//! XCP's router: D. Katabi, M. Handley, C. Rohrs, "Congestion control for high bandwidth-delay product networks", ACM SIGCOMM
//! 2002, section 3.5; numbers in brackets are its equations.
//!
//! Each control interval, a mean RTT, has a decision about all traffic of the link and one about how it is shared: bytes are given to all
//! flows alike and taken from each in proportion to its rate. In rates, which are bytes over the interval, with X = rtt s / cwnd:
//!
//! ```text
//! phi / d = alpha (C - y / d) - beta Q / d                                          (1)
//! h / d = max(0, gamma y / d - |phi / d|)                                           (2)
//! p / rtt = (h + max(phi, 0)) / d * X / sum X                                       (4), (6)
//! n / rtt = (h + max(-phi, 0)) / d * s / sum s                                      (7), (9)
//! ```
//!
//! From `xcpq.cc` of ns-2 (2006), one author's module as ISI kept it, where the paper says nothing: the first interval, the least
//! one, and that Q is the least queue of half a propagation delay. Here alone: a packet gets its feedback when it comes and not when it
//! leaves, as nothing but the interval's decision enters, and timers are looked at when packets come, as nothing is seen between.

use crate::packet::CongestionHeader;

/// alpha, beta (section 4, theorem 1) and gamma (section 3.5.2), in thousandths.
const ALPHA_MILLI: i128 = 400;
const BETA_MILLI: i128 = 226;
const GAMMA_MILLI: i128 = 100;
const ONE_MILLI: i128 = 1000;
/// Control interval before an RTT is known.
const FIRST_INTERVAL_NS: u64 = 50_000_000;
const LEAST_INTERVAL_NS: u64 = 1_000_000;
const LEAST_QUEUE_PERIOD_NS: u64 = 2_000_000;
const NS_PER_S: u64 = 1_000_000_000;
const US_PER_S: i128 = 1_000_000;

/// Sums over the packets of a control interval.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// y: of all packets, those without a header too.
    input_bytes: u64,
    /// sum rtt s / cwnd: each flow adds one interval.
    spacing_ns: u128,
    /// sum rtt^2 s / cwnd; over the one above it is the mean RTT of flows, not of packets (appendix A).
    rtt_spacing_ns2: u128,
}

/// Feedback of one sign: a rate that is shared in proportion to a weight.
#[derive(Debug, Clone, Copy, Default)]
struct Allocation {
    /// All of it, in bytes/s.
    rate_q8: u64,
    /// What is left of it: no more is given if more packets come than before (appendix A, `residue`).
    left_q8: u64,
    /// The sum of all weights in the last interval.
    weights: u128,
}

impl Allocation {
    fn new(rate_q8: u64, weights: u128) -> Self {
        Self { rate_q8, left_q8: rate_q8, weights }
    }

    /// The share of one packet.
    fn share_q8(&self, weight: u64) -> u64 {
        let share_q8 = (u128::from(self.rate_q8) * u128::from(weight)).checked_div(self.weights).unwrap_or(0);
        self.left_q8.min(u64::try_from(share_q8).unwrap_or(u64::MAX))
    }
}

/// The queue that does not drain in a round trip.
#[derive(Debug)]
struct PersistentQueue {
    least_bytes: u64,
    standing_bytes: u64,
    ends_ns: u64,
}

impl PersistentQueue {
    /// A packet finds this queue.
    fn see(&mut self, now_ns: u64, queue_bytes: u64, period_ns: u64) {
        if now_ns < self.ends_ns {
            self.least_bytes = self.least_bytes.min(queue_bytes);
            return;
        }
        self.standing_bytes = self.least_bytes;
        self.least_bytes = queue_bytes;
        self.ends_ns = now_ns + period_ns;
    }
}

/// The controllers of one link.
#[derive(Debug)]
pub(crate) struct XcpRouter {
    bits_per_s: u64,
    mean_rtt_ns: u64,
    interval_ns: u64,
    ends_ns: u64,
    sums: Sums,
    queue: PersistentQueue,
    positive: Allocation,
    negative: Allocation,
}

impl XcpRouter {
    /// For a link of this rate, or with this mean rate.
    pub(crate) fn new(bits_per_s: u64) -> Self {
        Self {
            bits_per_s,
            mean_rtt_ns: FIRST_INTERVAL_NS,
            interval_ns: FIRST_INTERVAL_NS,
            ends_ns: FIRST_INTERVAL_NS,
            sums: Sums::default(),
            queue: PersistentQueue { least_bytes: 0, standing_bytes: 0, ends_ns: FIRST_INTERVAL_NS },
            positive: Allocation::default(),
            negative: Allocation::default(),
        }
    }

    /// A packet comes to a queue of this length. Its header, if it has one, gets the feedback of this link unless a link before it has
    /// given less.
    pub(crate) fn meet(
        &mut self,
        now_ns: u64,
        queue_bytes: u64,
        size_bytes: u16,
        header: Option<&mut CongestionHeader>,
    ) {
        self.queue.see(now_ns, queue_bytes, self.queue_period_ns(queue_bytes));
        self.pass_to(now_ns);
        self.sums.input_bytes += u64::from(size_bytes);
        let Some(header) = header else { return };
        if header.rtt_us == 0 {
            header.feedback_bytes_q8 = header.feedback_bytes_q8.min(0); // the first packets of a flow (section 3.3)
            return;
        }
        let spacing_ns = spacing_ns(header, size_bytes);
        self.sums.spacing_ns += u128::from(spacing_ns);
        let rtt_ns = u128::from(header.rtt_us) * 1000;
        self.sums.rtt_spacing_ns2 = self.sums.rtt_spacing_ns2.saturating_add(rtt_ns * u128::from(spacing_ns));
        self.give(header, spacing_ns, size_bytes);
    }

    /// Half of the mean RTT without the wait in this queue.
    fn queue_period_ns(&self, queue_bytes: u64) -> u64 {
        let wait_ns = u128::from(queue_bytes) * 8 * u128::from(NS_PER_S) / u128::from(self.bits_per_s.max(1));
        let wait_ns = u64::try_from(wait_ns).unwrap_or(u64::MAX);
        (self.mean_rtt_ns.saturating_sub(wait_ns) / 2).max(LEAST_QUEUE_PERIOD_NS)
    }

    /// The estimation-control timer.
    fn pass_to(&mut self, now_ns: u64) {
        if now_ns < self.ends_ns {
            return;
        }
        self.control();
        if now_ns >= self.ends_ns {
            // no packet came in at least one whole interval: there is nobody to give to or to take from
            (self.positive, self.negative) = (Allocation::default(), Allocation::default());
            self.ends_ns = now_ns + self.interval_ns;
        }
    }

    fn control(&mut self) {
        let sums = std::mem::take(&mut self.sums);
        if let Some(mean_ns) = sums.rtt_spacing_ns2.checked_div(sums.spacing_ns) {
            self.mean_rtt_ns = u64::try_from(mean_ns).unwrap_or(u64::MAX).max(LEAST_INTERVAL_NS);
        }
        let [positive_q8, negative_q8] = self.decide(sums.input_bytes);
        self.positive = Allocation::new(positive_q8, sums.spacing_ns);
        self.negative = Allocation::new(negative_q8, sums.input_bytes.into());
        self.interval_ns = self.mean_rtt_ns;
        self.ends_ns += self.interval_ns;
    }

    /// (1) and (2): what is given to and taken from all traffic, in bytes/s.
    fn decide(&self, input_bytes: u64) -> [u64; 2] {
        let per_s_q8 = |bytes: u64, ns: u64| ((i128::from(bytes) * i128::from(NS_PER_S)) << 8) / i128::from(ns.max(1));
        let capacity_q8 = i128::from(self.bits_per_s) << 5;
        let input_q8 = per_s_q8(input_bytes, self.interval_ns);
        let drain_q8 = per_s_q8(self.queue.standing_bytes, self.mean_rtt_ns);
        let phi_q8 = (ALPHA_MILLI * (capacity_q8 - input_q8) - BETA_MILLI * drain_q8) / ONE_MILLI;
        let shuffled_q8 = (GAMMA_MILLI * input_q8 / ONE_MILLI - phi_q8.abs()).max(0);
        [phi_q8, -phi_q8].map(|phi_q8| u64::try_from(shuffled_q8 + phi_q8.max(0)).unwrap_or(u64::MAX))
    }

    /// (3), and the accounts of appendix A as ns-2's module corrects them: where another link or the sender wants less, that is taken, and what
    /// is not given up is put down as taken.
    fn give(&mut self, header: &mut CongestionHeader, spacing_ns: u64, size_bytes: u16) {
        let rtt_us = i128::from(header.rtt_us);
        let mut positive_q8 = self.positive.share_q8(spacing_ns);
        let mut negative_q8 = self.negative.share_q8(size_bytes.into());
        let rate_q8 = i128::from(positive_q8) - i128::from(negative_q8);
        let feedback_q8 = (rate_q8 * rtt_us / US_PER_S).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        if header.feedback_bytes_q8 >= feedback_q8 {
            header.feedback_bytes_q8 = feedback_q8;
        } else {
            let asked_q8 = i128::from(header.feedback_bytes_q8) * US_PER_S / rtt_us;
            let more_q8 = u64::try_from(rate_q8 - asked_q8).unwrap_or(0);
            negative_q8 = negative_q8.saturating_add(more_q8).min(self.negative.left_q8);
            positive_q8 = u64::try_from(asked_q8 + i128::from(negative_q8)).unwrap_or(0);
        }
        self.positive.left_q8 = self.positive.left_q8.saturating_sub(positive_q8);
        self.negative.left_q8 = self.negative.left_q8.saturating_sub(negative_q8);
    }
}

/// X = rtt s / cwnd: the time between two packets of the flow.
fn spacing_ns(header: &CongestionHeader, size_bytes: u16) -> u64 {
    let ns = u128::from(header.rtt_us) * 1000 * u128::from(size_bytes) / u128::from(header.cwnd_bytes.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PKT_BYTES: u16 = 1000;
    /// 1 MB/s: 100 kB in an RTT of 100 ms.
    const BITS_PER_S: u64 = 8_000_000;

    /// Its window in packets, its RTT, and how often it sends one.
    #[derive(Clone, Copy)]
    struct Sender {
        cwnd_pkts: u64,
        rtt_ms: u64,
    }

    impl Sender {
        fn header(self) -> CongestionHeader {
            CongestionHeader {
                cwnd_bytes: self.cwnd_pkts * u64::from(PKT_BYTES),
                rtt_us: self.rtt_ms as u32 * 1000,
                feedback_bytes_q8: i32::MAX,
            }
        }

        /// Packets that it sends in this time.
        fn pkts(self, time_ms: u64) -> u64 {
            self.cwnd_pkts * time_ms / self.rtt_ms
        }
    }

    /// What one packet of each gets, in bytes.
    fn feedback(router: &mut XcpRouter, now_ns: u64, senders: &[Sender]) -> Vec<f64> {
        let mut one = |sender: &Sender| {
            let mut header = sender.header();
            router.meet(now_ns, 0, PKT_BYTES, Some(&mut header));
            f64::from(header.feedback_bytes_q8) / 256.0
        };
        senders.iter().map(&mut one).collect()
    }

    /// A router after its first interval, in which it has learned of an RTT of 100 ms, and another of 100 ms with these senders at work
    /// and this queue. The next packet comes at 150 ms and meets its decision.
    fn router(queue_bytes: u64, senders: &[Sender]) -> XcpRouter {
        let mut router = XcpRouter::new(BITS_PER_S);
        router.meet(0, queue_bytes, PKT_BYTES, Some(&mut Sender { cwnd_pkts: 10, rtt_ms: 100 }.header()));
        for sender in senders {
            for pkt in 0..sender.pkts(100) {
                let now_ns = 50 * MS + pkt * 100 * MS / sender.pkts(100);
                router.meet(now_ns, queue_bytes, PKT_BYTES, Some(&mut sender.header()));
            }
        }
        assert_eq!((router.mean_rtt_ns, router.ends_ns), (100 * MS, 150 * MS));
        router
    }

    fn assert_all_near(found: &[f64], expected: &[f64], what: &str) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            // units of 2^-8 bytes, of p and of n
            assert!(
                (found - expected).abs() <= 2.0 / 256.0 + expected.abs() / 1000.0,
                "{what}: {found}, not {expected}"
            );
        }
    }

    /// Half of the link is spare: phi = 0.4 * 0.1 s * 0.5 MB/s = 20 kB (1), h = max(0, 0.1 * 50 kB - 20 kB) = 0 (2). Two flows with 25
    /// packets each: `xi_p` = 20 kB / (0.1 s * 2 * 0.1 s) (6), p = `xi_p` * (0.1 s)^2 / 25 = 400 bytes (4): 10 kB each.
    #[test]
    fn spare_bandwidth_is_shared_in_equal_parts() {
        let senders = [Sender { cwnd_pkts: 25, rtt_ms: 100 }; 2];
        assert_all_near(&feedback(&mut router(0, &senders), 150 * MS, &senders), &[400.0, 400.0], "p");
    }

    /// The same phi for 40 and 10 packets: p = 10 kB / 40 = 250 bytes, and 10 kB / 10 = 1000 bytes: the windows grow alike.
    #[test]
    fn the_increase_is_the_same_for_a_large_and_a_small_window() {
        let senders = [Sender { cwnd_pkts: 40, rtt_ms: 100 }, Sender { cwnd_pkts: 10, rtt_ms: 100 }];
        assert_all_near(&feedback(&mut router(0, &senders), 150 * MS, &senders), &[250.0, 1000.0], "p");
    }

    /// The link is full and has no queue: phi = 0, and a tenth of 100 kB is shuffled (2). Each flow gets 5 kB, and the one with 75 packets
    /// gives up 7.5 kB, the one with 25 packets 2.5 kB: n = 0.1 of a packet (7).
    #[test]
    fn a_tenth_of_a_full_link_is_shuffled() {
        let senders = [Sender { cwnd_pkts: 75, rtt_ms: 100 }, Sender { cwnd_pkts: 25, rtt_ms: 100 }];
        let found = feedback(&mut router(0, &senders), 150 * MS, &senders);
        assert_all_near(&found, &[5000.0 / 75.0 - 100.0, 5000.0 / 25.0 - 100.0], "p - n");
        assert!((found[0] * 75.0 + found[1] * 25.0).abs() < 1.0, "together nothing: {found:?}");
    }

    /// A queue of 10 kB stands: phi = -0.226 * 10 kB = -2260 bytes (1), h = 10 kB - 2260 = 7740 bytes (2): n = 100 bytes of each of 100
    /// packets (9), p = 7740 / 2 / 50.
    #[test]
    fn a_standing_queue_is_drained() {
        let senders = [Sender { cwnd_pkts: 50, rtt_ms: 100 }; 2];
        let found = feedback(&mut router(10_000, &senders), 150 * MS, &senders);
        assert_all_near(&found, &[7740.0 / 100.0 - 100.0; 2], "p - n");
    }

    /// Twice the link's rate comes: phi = -0.4 * 100 kB, more than what would be shuffled (h = 0): n = 40 kB / 200 packets (9), p = 0.
    #[test]
    fn what_is_too_much_is_taken_from_each_packet() {
        let senders = [Sender { cwnd_pkts: 150, rtt_ms: 100 }, Sender { cwnd_pkts: 50, rtt_ms: 100 }];
        assert_all_near(&feedback(&mut router(0, &senders), 150 * MS, &senders), &[-200.0, -200.0], "n");
    }

    /// Two flows with the same rate, 25 packets per 50 ms and 75 per 150 ms: the mean RTT of flows is 100 ms. phi / d = 0; each gains a
    /// twentieth of the link's 1 MB/s in rate, times its RTT, and gives up as much: nothing changes, whatever the RTT.
    #[test]
    fn flows_with_equal_rates_keep_them_whatever_their_rtts() {
        let senders = [Sender { cwnd_pkts: 25, rtt_ms: 50 }, Sender { cwnd_pkts: 75, rtt_ms: 150 }];
        assert_all_near(&feedback(&mut router(0, &senders), 150 * MS, &senders), &[0.0, 0.0], "p - n");
    }

    /// Appendix A: an interval gives what was decided, not more, though twice as many packets come. phi / d = 200 kB/s; all that is
    /// given, divided by the RTT, is that.
    #[test]
    fn no_more_is_given_than_was_decided() {
        let senders = [Sender { cwnd_pkts: 25, rtt_ms: 100 }; 2];
        let mut router = router(0, &senders);
        let crowd = [Sender { cwnd_pkts: 25, rtt_ms: 100 }; 100];
        let given: f64 = feedback(&mut router, 150 * MS, &crowd).iter().sum();
        assert!((given - 20_000.0).abs() < 1.0, "{given}");
    }

    /// Section 3.1: a link changes the header only to lower what is there.
    #[test]
    fn the_least_feedback_of_a_path_counts() {
        let senders = [Sender { cwnd_pkts: 25, rtt_ms: 100 }; 2];
        for (asked_q8, expected_q8) in [(100 * 256, 100 * 256), (-7 * 256, -7 * 256), (401 * 256, 400 * 256)] {
            let mut header = CongestionHeader { feedback_bytes_q8: asked_q8, ..senders[0].header() };
            router(0, &senders).meet(150 * MS, 0, PKT_BYTES, Some(&mut header));
            assert!(header.feedback_bytes_q8.abs_diff(expected_q8) <= 1, "{header:?}, not {expected_q8}");
        }
    }

    /// Section 3.3: without an RTT there is nothing to reckon with; such a packet, and one without a header, counts as traffic.
    #[test]
    fn packets_without_an_rtt_or_a_header_are_traffic() {
        let mut router = XcpRouter::new(BITS_PER_S);
        let sender = Sender { cwnd_pkts: 10, rtt_ms: 100 };
        router.meet(0, 0, PKT_BYTES, Some(&mut sender.header()));
        for pkt in 0..100 {
            let now_ns = 50 * MS + pkt * MS;
            let mut first = CongestionHeader { rtt_us: 0, ..sender.header() };
            router.meet(now_ns, 0, 500, Some(&mut first));
            assert_eq!(first.feedback_bytes_q8, 0);
            router.meet(now_ns, 0, 400, None);
            if pkt % 10 == 0 {
                router.meet(now_ns, 0, PKT_BYTES, Some(&mut sender.header()));
            }
        }
        // 50 kB without an RTT, 40 kB without a header, 10 kB of the sender: 100 kB. It gets all 10 kB that are shuffled, in 10 packets,
        // and gives up a tenth of each: 1000 - 100 bytes.
        assert_all_near(&feedback(&mut router, 150 * MS, &[sender]), &[900.0], "p - n");
    }

    /// After intervals without any packet nothing is left of older decisions.
    #[test]
    fn an_idle_link_has_nothing_to_give_until_it_knows_its_flows() {
        let senders = [Sender { cwnd_pkts: 25, rtt_ms: 100 }; 2];
        let mut router = router(0, &senders);
        assert_eq!(feedback(&mut router, 900 * MS, &senders), [0.0, 0.0]);
        let after = feedback(&mut router, 1000 * MS, &senders);
        assert!(after[0] > 400.0, "{after:?}");
    }
}
