// SPDX-License-Identifier: GPL-2.0-only
//! Packets that a link loses for no reason of congestion.

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
}

/// A loss process at work.
#[derive(Debug)]
pub(crate) struct LossProcess {
    law: Loss,
    random: Random,
    is_bad: bool,
}

impl LossProcess {
    pub(crate) fn new(law: Loss, random: Random) -> Self {
        Self { law, random, is_bad: false }
    }

    #[inline]
    pub(crate) fn loses(&mut self) -> bool {
        match self.law {
            Loss::None => false,
            Loss::Bernoulli(probability) => self.random.happens(probability),
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                let (leave, lose) = if self.is_bad { (bad_to_good, loss_in_bad) } else { (good_to_bad, loss_in_good) };
                let is_lost = self.random.happens(lose);
                self.is_bad ^= self.random.happens(leave);
                is_lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn losses(law: Loss) -> Vec<bool> {
        let mut process = LossProcess::new(law, Random::new(1, Purpose::Loss, 0));
        (0..200_000).map(|_| process.loses()).collect()
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
}
