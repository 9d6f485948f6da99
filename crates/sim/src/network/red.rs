// SPDX-License-Identifier: GPL-2.0-only
//! Random early detection: S. Floyd, V. Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993; its gentle form: S. Floyd, 2000.

use crate::native::arithmetic::{cc_exp2_q32, cc_log2_q40};
use crate::random::{Probability, Random};

/// What RED is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Red {
    /// `min_th`: no early drops while the average is below.
    pub min_threshold_pkts: u32,
    /// `max_th`: `max_probability` is reached.
    pub max_threshold_pkts: u32,
    /// `max_p`
    pub max_probability: Probability,
    /// `w_q` = 2^-shift; the paper's 0.002 is 2^-9.
    pub weight_shift: u32,
    /// Beyond `max_th` the probability rises to 1 at twice that, instead of at once.
    pub gentle: bool,
    /// Marks instead of dropping, up to `max_th`.
    pub ecn: bool,
    /// What waits at most, in packets.
    pub limit_pkts: u32,
}

const ONE_Q32: u64 = 1 << 32;

/// The average, and how long ago the last drop was.
#[derive(Debug)]
pub(crate) struct RedState {
    spec: Red,
    random: Random,
    average_q32: u64,
    since_last: Option<u32>,
    decay_per_pkt_q40: u64, // -log2(1 - w_q)
}

/// What is to become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Enqueue,
    Mark,
    Drop,
}

impl RedState {
    pub(crate) fn new(spec: Red, random: Random) -> Self {
        let shift = spec.weight_shift.clamp(1, 30);
        let decay_per_pkt_q40 = (u64::from(shift) << 40) - cc_log2_q40((1 << shift) - 1);
        Self { spec: Red { weight_shift: shift, ..spec }, random, average_q32: 0, since_last: None, decay_per_pkt_q40 }
    }

    /// A packet comes to a queue of this length; `idle_pkts` could have been sent since the queue was empty.
    pub(crate) fn arrives(&mut self, queue_pkts: u32, idle_pkts: u64) -> Verdict {
        self.average(queue_pkts, idle_pkts);
        let average_pkts = self.average_q32 >> 32;
        let (min, max) = (u64::from(self.spec.min_threshold_pkts), u64::from(self.spec.max_threshold_pkts));
        if average_pkts < min {
            self.since_last = None;
            return Verdict::Enqueue;
        }
        if average_pkts >= max && (!self.spec.gentle || average_pkts >= 2 * max) {
            self.since_last = Some(0);
            return Verdict::Drop;
        }
        let count = self.since_last.map_or(0, |count| count.saturating_add(1));
        self.since_last = Some(count);
        let base_q32 = self.probability_q32();
        let share_q32 = ONE_Q32.saturating_sub(base_q32.saturating_mul(u64::from(count)));
        if !self.random.happens(Probability::ratio(base_q32, share_q32)) {
            return Verdict::Enqueue;
        }
        self.since_last = Some(0);
        if self.spec.ecn && average_pkts < max {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    fn average(&mut self, queue_pkts: u32, idle_pkts: u64) {
        if idle_pkts > 0 {
            let exponent_q40 = u128::from(idle_pkts) * u128::from(self.decay_per_pkt_q40);
            self.average_q32 = match u64::try_from(exponent_q40) {
                Ok(exponent_q40) if exponent_q40 < 31 << 40 => {
                    ((u128::from(self.average_q32) << 32) / u128::from(cc_exp2_q32(exponent_q40))) as u64
                }
                _ => 0,
            };
        }
        self.average_q32 -= self.average_q32 >> self.spec.weight_shift;
        self.average_q32 += u64::from(queue_pkts) << (32 - self.spec.weight_shift);
    }

    /// `p_b`
    fn probability_q32(&self) -> u64 {
        let (min, max) = (self.spec.min_threshold_pkts, self.spec.max_threshold_pkts);
        let max_probability_q32 = self.spec.max_probability.in_q32();
        let between = |from_pkts: u32, width_pkts: u32, rise_q32: u64| {
            let above_q32 = self.average_q32.saturating_sub(u64::from(from_pkts) << 32);
            ((u128::from(above_q32) * u128::from(rise_q32) / u128::from(width_pkts.max(1))) >> 32) as u64
        };
        if self.average_q32 >> 32 < u64::from(max) {
            between(min, max - min, max_probability_q32)
        } else {
            max_probability_q32 + between(max, max, ONE_Q32 - max_probability_q32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const SPEC: Red = Red {
        min_threshold_pkts: 5,
        max_threshold_pkts: 15,
        max_probability: Probability::ALWAYS,
        weight_shift: 9,
        gentle: true,
        ecn: false,
        limit_pkts: 100,
    };

    fn state(max_percent: u64, gentle: bool) -> RedState {
        let max_probability = Probability::ratio(max_percent, 100);
        RedState::new(Red { max_probability, gentle, ..SPEC }, Random::new(1, Purpose::Queue, 0))
    }

    /// Share dropped of packets that come to a queue of constant length, in thousandths, once the average is there.
    fn dropped_milli(red: &mut RedState, queue_pkts: u32) -> u64 {
        (0..20_000).for_each(|_| _ = red.arrives(queue_pkts, 0));
        (0..100_000).filter(|_| red.arrives(queue_pkts, 0) == Verdict::Drop).count() as u64 / 100
    }

    /// Below the lower threshold none; halfway p is half of the largest, where drops are (1/p + 1) / 2 packets apart by
    /// section 7's text and 1 / 2p by its pseudo-code; beyond the upper threshold all, or in the gentle form rising to all at twice that.
    #[test]
    fn the_share_of_drops_follows_the_average() {
        assert_eq!(dropped_milli(&mut state(10, false), 4), 0);
        let halfway = dropped_milli(&mut state(10, false), 10);
        assert!((94..=101).contains(&halfway), "{halfway}");
        assert_eq!(dropped_milli(&mut state(10, false), 16), 1000);
        let gentle = dropped_milli(&mut state(10, true), 16);
        assert!((190..400).contains(&gentle), "{gentle}");
        assert_eq!(dropped_milli(&mut state(10, true), 31), 1000);
    }

    /// Section 9: a burst of L packets into an empty queue raises the average to L + 1 + ((1 - w)^(L+1) - 1) / w.
    #[test]
    fn the_average_follows_a_burst_slowly() {
        let mut red = state(10, true);
        (1..=50).for_each(|queue_pkts| _ = red.arrives(queue_pkts, 0));
        let w = 1.0 / 512.0_f64;
        let expected = 51.0 + ((1.0 - w).powi(51) - 1.0) / w;
        let average = red.average_q32 as f64 / ONE_Q32 as f64;
        assert!((average - expected).abs() < 0.01, "{average}, not {expected}");
    }

    /// Section 11: as if m small packets had come to an empty queue.
    #[test]
    fn idle_time_lowers_the_average() {
        let (mut idle, mut empty) = (state(10, true), state(10, true));
        for red in [&mut idle, &mut empty] {
            (0..5000).for_each(|_| _ = red.arrives(12, 0));
        }
        (0..300).for_each(|_| empty.average(0, 0));
        idle.average(0, 299);
        assert!(idle.average_q32.abs_diff(empty.average_q32) < ONE_Q32 / 1000);
    }
}
