// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may be looked at after every pair: an e-process, the confidence sequence that follows from it, and its p.
//!
//! `E_t(tau) = (1/K) sum_k prod_{i<=t} exp(b_k x_i) / cosh(b_k x_i)` with `x_i = D_i - tau`. Each factor has mean 1 if
//! `x_i` is symmetric given the past, so by Ville's inequality `P(E_t(tau) ever reaches 1/alpha) <= alpha`
//! (Howard et al., Ann. Stat. 2021, arXiv 1810.08240: the conditionally symmetric case).

use std::f64::consts::LN_2;

use crate::refusal::{finite, positive, share};
use crate::{Interval, Refusal};

/// Sizes of the bets, in standard deviations of the plan; each is placed on both sides.
pub const BETS: [f64; 9] = [0.08, 0.12, 0.18, 0.27, 0.4, 0.6, 0.9, 1.35, 2.0];

/// One half of the e-process: all bets on one side, for one effect.
#[derive(Debug, Clone)]
pub struct Side {
    scale: f64,
    /// `sum_i log factor` of each bet.
    logs: [f64; BETS.len()],
}

impl Side {
    /// Bets that `x` is above 0 (`sign` 1) or below (-1), at the standard deviation of the plan.
    #[must_use]
    pub fn new(sigma: f64, sign: f64) -> Self {
        Self { scale: sign / sigma, logs: [0.0; BETS.len()] }
    }

    /// The next `x = D - effect`.
    pub fn push(&mut self, x: f64) {
        for (log, bet) in self.logs.iter_mut().zip(BETS) {
            *log += log_factor(self.scale * bet * x);
        }
    }

    /// The mean of the bets' products, as a logarithm.
    #[must_use]
    pub fn log_mean(&self) -> f64 {
        log_sum(&self.logs) - (BETS.len() as f64).ln()
    }

    fn of(differences: &[f64], effect: f64, sigma: f64, sign: f64) -> f64 {
        let mut side = Self::new(sigma, sign);
        for difference in differences {
            side.push(difference - effect);
        }
        side.log_mean()
    }
}

/// `log E` of the two-sided e-process for this effect: both halves, each with half the weight.
#[must_use]
pub fn log_e(differences: &[f64], effect: f64, sigma: f64) -> f64 {
    log_mean_of_both(Side::of(differences, effect, sigma, 1.0), Side::of(differences, effect, sigma, -1.0))
}

fn log_mean_of_both(above: f64, below: f64) -> f64 {
    log_sum(&[above, below]) - LN_2
}

/// `log(exp(z) / cosh(z))`, which is at most log 2, without overflow.
fn log_factor(z: f64) -> f64 {
    LN_2 - (-2.0 * z).max(0.0) - (-2.0 * z.abs()).exp().ln_1p()
}

/// `log(sum exp)`.
fn log_sum(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + logs.iter().map(|log| (log - largest).exp()).sum::<f64>().ln()
}

/// Pairs as they come in, and what is known after each.
#[derive(Debug, Clone)]
pub struct ConfidenceSequence {
    differences: Vec<f64>,
    sigma: f64,
    /// For no effect.
    above: Side,
    below: Side,
    largest_log_e: f64,
}

impl ConfidenceSequence {
    /// `sigma` is the standard deviation of the plan. It must be fixed before the first pair; a wrong one costs width,
    /// not validity.
    pub fn new(sigma: f64) -> Result<Self, Refusal> {
        let sigma = positive(sigma)?;
        let (above, below) = (Side::new(sigma, 1.0), Side::new(sigma, -1.0));
        Ok(Self { differences: Vec::new(), sigma, above, below, largest_log_e: 0.0 })
    }

    /// The next pair.
    pub fn push(&mut self, difference: f64) -> Result<(), Refusal> {
        finite(&[difference])?;
        self.differences.push(difference);
        self.above.push(difference);
        self.below.push(difference);
        self.largest_log_e = self.largest_log_e.max(log_mean_of_both(self.above.log_mean(), self.below.log_mean()));
        Ok(())
    }

    /// Pairs so far.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.differences.len()
    }

    /// The p of no effect that is valid whenever one looks: the least `1/E_t(0)` so far.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        (-self.largest_log_e).exp()
    }

    /// The effects with `E_t` below `1/alpha` now. With few pairs a limit is infinite: a product of t factors is at
    /// most 2^t. If even the best effect is excluded, the lower limit is above the upper: no constant effect fits.
    pub fn interval(&self, alpha: f64) -> Result<Interval, Refusal> {
        let threshold = -share(alpha)?.ln();
        let Some((smallest, largest)) = self.range() else { return Ok(Interval::ALL) };
        if (self.pairs() as f64 - 1.0) * LN_2 <= threshold {
            return Ok(Interval::ALL);
        }
        // One half of E falls with the effect, the other rises. Where one of them alone reaches the threshold, E does.
        let falling = |effect| Side::of(&self.differences, effect, self.sigma, 1.0) - LN_2;
        let rising = |effect| Side::of(&self.differences, effect, self.sigma, -1.0) - LN_2;
        let far_below = outwards(smallest, -self.sigma, |effect| falling(effect) >= threshold);
        let far_above = outwards(largest, self.sigma, |effect| rising(effect) >= threshold);
        let middle = bisect(smallest, largest, |effect| falling(effect) >= rising(effect));
        let open = |effect| log_e(&self.differences, effect, self.sigma) < threshold;
        if open(middle) {
            return Ok(Interval { lower: bisect(middle, far_below, open), upper: bisect(middle, far_above, open) });
        }
        // Either all is excluded, or a sliver next to the middle is not: what both halves leave is valid for both.
        let lower = bisect(largest, far_below, |effect| falling(effect) < threshold);
        let upper = bisect(smallest, far_above, |effect| rising(effect) < threshold);
        Ok(Interval { lower, upper })
    }

    fn range(&self) -> Option<(f64, f64)> {
        let mut values = self.differences.iter().copied();
        let first = values.next()?;
        Some(values.fold((first, first), |(least, most), value| (least.min(value), most.max(value))))
    }
}

/// From `start` in doubled steps to the first place that is out; infinite if the numbers end before.
fn outwards(start: f64, step: f64, out: impl Fn(f64) -> bool) -> f64 {
    let mut reach = step;
    while (start + reach).is_finite() {
        if out(start + reach) {
            return start + reach;
        }
        reach *= 2.0;
    }
    start + reach
}

/// The last place from `inside` towards `outside` for which `holds`, to the last bit.
fn bisect(mut inside: f64, mut outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if outside.is_infinite() {
        return outside;
    }
    loop {
        let middle = f64::midpoint(inside, outside);
        if middle <= inside.min(outside) || middle >= inside.max(outside) {
            return inside;
        }
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{log_e, ConfidenceSequence, Side};
    use crate::Interval;

    fn sequence(differences: &[f64], sigma: f64) -> ConfidenceSequence {
        let mut sequence = ConfidenceSequence::new(sigma).unwrap();
        for difference in differences {
            sequence.push(*difference).unwrap();
        }
        sequence
    }

    #[test]
    fn one_pair_has_the_mean_one_over_both_signs() {
        for x in [0.01, 0.7, 3.0, 40.0] {
            let mean = f64::midpoint(log_e(&[x], 0.0, 1.0).exp(), log_e(&[-x], 0.0, 1.0).exp());
            assert!((mean - 1.0).abs() < 1e-12);
            let side = f64::midpoint(Side::of(&[x], 0.0, 1.0, 1.0).exp(), Side::of(&[-x], 0.0, 1.0, 1.0).exp());
            assert!((side - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn few_pairs_exclude_nothing() {
        // 2^4 / 2 does not reach 20.
        assert_eq!(sequence(&[5.0; 5], 1.0).interval(0.05).unwrap(), Interval::ALL);
        assert_eq!(ConfidenceSequence::new(1.0).unwrap().interval(0.05).unwrap(), Interval::ALL);
        assert!(sequence(&[5.0; 6], 1.0).interval(0.05).unwrap().lower.is_finite());
    }

    #[test]
    fn limits_are_where_e_reaches_the_threshold() {
        let differences = [0.4, -0.2, 0.9, 0.3, 0.1, 0.6, -0.1, 0.5, 0.2, 0.7];
        let interval = sequence(&differences, 0.35).interval(0.05).unwrap();
        for limit in [interval.lower, interval.upper] {
            assert!((log_e(&differences, limit, 0.35) - 20.0_f64.ln()).abs() < 1e-9);
        }
        assert!(interval.lower < 0.34 && interval.upper > 0.34);
    }

    #[test]
    fn no_constant_effect_fits_two_heaps() {
        // Half of the pairs at -100 and half at 100 sigma: symmetric around 0, so 0 fits and little else.
        let heaps = [100.0, -100.0, 100.0, -100.0, 100.0, -100.0, 100.0, -100.0];
        assert!(sequence(&heaps, 1.0).interval(0.05).unwrap().contains(0.0));
        // One of three: around no value is this symmetric.
        let uneven = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 100.0, 100.0, 100.0, 100.0];
        let interval = sequence(&uneven, 1.0).interval(0.05).unwrap();
        assert!(interval.lower < interval.upper);
    }

    #[test]
    fn p_never_rises() {
        let mut sequence = sequence(&[1.0; 10], 1.0);
        let before = sequence.p_value();
        sequence.push(-30.0).unwrap();
        assert!(before < 0.05 && sequence.p_value() <= before);
    }
}
