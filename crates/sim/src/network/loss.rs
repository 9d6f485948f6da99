// SPDX-License-Identifier: GPL-2.0-only
//! Packets that a link loses for no reason of congestion.

use super::clock::BitRate;
use crate::random::{Probability, Random};

/// How a link loses packets that it has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loss {
    /// It does not.
    #[default]
    None,
    /// Each packet alike, independently of the others.
    Bernoulli(Probability),
    /// In one of two states, which may change after each packet (E. Gilbert, 1960; E. Elliott, 1963).
    GilbertElliott {
        /// From good to bad.
        good_to_bad: Probability,
        /// From bad to good.
        bad_to_good: Probability,
        /// Of a packet in the good state.
        loss_in_good: Probability,
        /// Of a packet in the bad state.
        loss_in_bad: Probability,
    },
    /// A policer: what comes faster than `rate` is lost once `burst_bytes` have been let through. One token bucket, RFC 2698's
    /// without a peak rate and colours.
    Policer {
        /// Of packets with their headers.
        rate: BitRate,
        /// Size of the bucket, which is full at first.
        burst_bytes: u64,
    },
}

/// A loss process at work.
#[derive(Debug)]
pub(crate) struct LossProcess {
    law: Loss,
    random: Random,
    is_bad: bool,
    /// When a policer's bucket will be full, if nothing comes.
    full_at_ns: u64,
}

impl LossProcess {
    pub(crate) fn new(law: Loss, random: Random) -> Self {
        Self { law, random, is_bad: false, full_at_ns: 0 }
    }

    /// A packet that leaves at this time, which does not run backwards.
    #[inline]
    pub(crate) fn loses(&mut self, now_ns: u64, size_bytes: u16) -> bool {
        match self.law {
            Loss::None => false,
            Loss::Bernoulli(probability) => self.random.happens(probability),
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                let (leave, lose) = if self.is_bad { (bad_to_good, loss_in_bad) } else { (good_to_bad, loss_in_good) };
                let is_lost = self.random.happens(lose);
                self.is_bad ^= self.random.happens(leave);
                is_lost
            }
            Loss::Policer { rate, burst_bytes } => self.polices(now_ns, rate, burst_bytes, size_bytes),
        }
    }

    /// The bucket in time: it lacks what fills until `full_at_ns`.
    fn polices(&mut self, now_ns: u64, rate: BitRate, burst_bytes: u64, size_bytes: u16) -> bool {
        let full_at_ns = self.full_at_ns.max(now_ns) + rate.time_ns(u64::from(size_bytes));
        let is_lost = full_at_ns - now_ns > rate.time_ns(burst_bytes);
        if !is_lost {
            self.full_at_ns = full_at_ns;
        }
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn losses(law: Loss) -> Vec<bool> {
        let mut process = LossProcess::new(law, Random::new(1, Purpose::Loss, 0));
        (0..200_000).map(|_| process.loses(0, 1500)).collect()
    }

    /// In the stationary state 0.01 / (0.01 + 0.1) = 1/11 of the packets are sent in the bad state, and bursts of
    /// losses have a mean length of 1 / 0.1 where all packets of that state are lost.
    #[test]
    fn gilbert_and_elliott_lose_in_bursts() {
        let lost = losses(Loss::GilbertElliott {
            good_to_bad: Probability::ratio(1, 100),
            bad_to_good: Probability::ratio(1, 10),
            loss_in_good: Probability::NEVER,
            loss_in_bad: Probability::ALWAYS,
        });
        let count = lost.iter().filter(|lost| **lost).count();
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        assert!(count.abs_diff(200_000 / 11) < 1500, "{count}");
        assert!((count * 10 / bursts).abs_diff(100) < 10, "{count} in {bursts}");
    }

    #[test]
    fn bernoulli_losses_have_their_probability() {
        let count = losses(Loss::Bernoulli(Probability::ratio(1, 50))).iter().filter(|lost| **lost).count();
        assert!(count.abs_diff(4000) < 250, "{count}");
        assert!(losses(Loss::None).iter().all(|lost| !lost));
    }

    /// 1500 bytes each ms are 12 Mbit/s; the bucket has 10 packets and gets back half of what each takes, so the first 19 pass
    /// (the 19th finds one packet's worth left, the 20th half of one), and every second one after them.
    #[test]
    fn a_policer_lets_a_burst_through_and_then_its_rate() {
        let law = Loss::Policer { rate: BitRate::mbit_per_s(6), burst_bytes: 15_000 };
        let mut process = LossProcess::new(law, Random::new(1, Purpose::Loss, 0));
        let lost: Vec<bool> = (0..1000).map(|ms| process.loses(ms * 1_000_000, 1500)).collect();
        assert_eq!(lost.iter().position(|lost| *lost), Some(19));
        assert!(lost[19..].iter().enumerate().all(|(after, lost)| *lost == (after % 2 == 0)), "{:?}", &lost[..40]);
        assert!(!process.loses(2_000_000_000, 15_000) && process.loses(2_000_000_000, 1), "full again, then empty");
    }
}
