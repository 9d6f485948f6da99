// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exact test and interval at the end of an experiment, by flips of signs (Fisher 1935; Hartigan, JASA 64, 1969).
//!
//! `p(tau)` is the share of sign vectors `s` with `|sum s_i (D_i - tau)| >= |sum (D_i - tau)|`. The coin of each pair
//! makes all of them equally likely if the effect is `tau`, whatever the load does.
//!
//! A vector splits the pairs in two sets, those that it flips and the others. For `tau` below the mean it counts
//! exactly if the mean of one of the two sets is at most `tau`: from `sum s x >= sum x` follows `sum over the flipped
//! x <= 0`. The lower of the two means of each split therefore holds everything about `p` below the mean, the upper
//! everything above it, and the limits of the interval are order statistics of them: no search is needed.

use crate::draws::Draws;
use crate::refusal::{finite, share};
use crate::{distributions, Interval, Refusal};

/// Fewer pairs can never be significant at 5 %: five have 2/32 as their smallest p.
pub const LEAST_PAIRS: usize = 6;
/// Up to here every sign vector is looked at.
pub const MOST_EXACT_PAIRS: usize = 20;
/// Beyond, as many are drawn.
pub const DRAWS: usize = 100_000;

/// Sums in another order differ in their last bits. What is closer than this, relative to the largest value, is equal.
const EQUAL: f64 = 1e-13;

/// The sign vectors of a list of differences, and what they say about effects.
#[derive(Debug, Clone)]
pub struct SignFlips {
    pairs: usize,
    mean: f64,
    largest: f64,
    /// The lower and the upper mean of each split, except the one that flips nothing or everything.
    lower_means: Vec<f64>,
    upper_means: Vec<f64>,
    /// With the split that flips nothing.
    splits: f64,
}

impl SignFlips {
    /// All sign vectors of at most [`MOST_EXACT_PAIRS`] differences; of more, [`DRAWS`] drawn from the seed.
    pub fn new(differences: &[f64], seed: u64) -> Result<Self, Refusal> {
        let pairs = finite(differences)?.len();
        if pairs < LEAST_PAIRS {
            return Err(Refusal::TooFewPairs { pairs, least: LEAST_PAIRS });
        }
        let mut flips = Self {
            pairs,
            mean: distributions::mean(differences),
            largest: differences.iter().fold(0.0, |largest, value| value.abs().max(largest)),
            lower_means: Vec::new(),
            upper_means: Vec::new(),
            splits: 0.0,
        };
        if pairs <= MOST_EXACT_PAIRS {
            flips.split_all(differences);
        } else {
            flips.split_drawn(differences, seed);
        }
        flips.splits = flips.lower_means.len() as f64 + 1.0;
        Ok(flips)
    }

    /// Share of sign vectors at least as far out as the data if the effect is `effect`; where vectors were drawn, with
    /// 1 added to both counts (Phipson, Smyth, Stat. Appl. Genet. Mol. Biol. 9, 2010).
    #[must_use]
    pub fn p_value(&self, effect: f64) -> f64 {
        let slack = EQUAL * (self.largest + effect.abs());
        let beyond = if (effect - self.mean).abs() <= slack {
            return 1.0;
        } else if effect < self.mean {
            self.lower_means.iter().filter(|mean| **mean <= effect + slack).count()
        } else {
            self.upper_means.iter().filter(|mean| **mean >= effect - slack).count()
        };
        (1.0 + beyond as f64) / self.splits
    }

    /// The effects with `p` above `alpha`.
    pub fn interval(&self, alpha: f64) -> Result<Interval, Refusal> {
        let rank = (share(alpha)? * self.splits) as usize;
        if rank == 0 {
            return Err(self.refused(alpha));
        }
        let mut means = self.lower_means.clone();
        let (_, lower, _) = means.select_nth_unstable_by(rank - 1, f64::total_cmp);
        let lower = *lower;
        means.clone_from(&self.upper_means);
        let last = means.len() - rank;
        let (_, upper, _) = means.select_nth_unstable_by(last, f64::total_cmp);
        Ok(Interval { lower, upper: *upper })
    }

    /// Why no p is as small as `alpha`.
    fn refused(&self, alpha: f64) -> Refusal {
        if self.pairs > MOST_EXACT_PAIRS {
            return Refusal::Degenerate("alpha is smaller than one of the sign vectors that are drawn");
        }
        // The smallest p is that of 2 vectors of 2^n.
        Refusal::TooFewPairs { pairs: self.pairs, least: (1.0 / alpha).log2().ceil() as usize + 1 }
    }

    /// Each split once: the last pair is never flipped.
    fn split_all(&mut self, differences: &[f64]) {
        let total: f64 = differences.iter().sum();
        let pairs = differences.len();
        let mut sums = vec![0.0; 1 << (pairs - 1)];
        for mask in 1..sums.len() {
            sums[mask] = sums[mask & (mask - 1)] + differences[mask.trailing_zeros() as usize];
            self.add(sums[mask], mask.count_ones() as usize, total, pairs);
        }
    }

    fn split_drawn(&mut self, differences: &[f64], seed: u64) {
        let total: f64 = differences.iter().sum();
        let mut draws = Draws::new(seed);
        for _ in 0..DRAWS {
            let (mut sum, mut flipped) = (0.0, 0);
            draws.coins(differences.len(), |pair, flip| {
                if flip {
                    sum += differences[pair];
                    flipped += 1;
                }
            });
            self.add(sum, flipped, total, differences.len());
        }
    }

    fn add(&mut self, flipped_sum: f64, flipped: usize, total: f64, pairs: usize) {
        if flipped == 0 || flipped == pairs {
            // Drawn, it is as far out as the data whatever the effect.
            self.lower_means.push(f64::NEG_INFINITY);
            self.upper_means.push(f64::INFINITY);
            return;
        }
        let flipped_mean = flipped_sum / flipped as f64;
        let other_mean = (total - flipped_sum) / (pairs - flipped) as f64;
        self.lower_means.push(flipped_mean.min(other_mean));
        self.upper_means.push(flipped_mean.max(other_mean));
    }
}

#[cfg(test)]
mod tests {
    use super::SignFlips;
    use crate::Refusal;

    #[test]
    fn five_pairs_are_refused() {
        let refused = SignFlips::new(&[1.0; 5], 0).unwrap_err();
        assert_eq!(refused, Refusal::TooFewPairs { pairs: 5, least: 6 });
    }

    #[test]
    fn the_smallest_p_is_two_of_all_vectors() {
        // Six of one sign: only "none flipped" and "all flipped" are as far out.
        let differences = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert!((SignFlips::new(&differences, 0).unwrap().p_value(0.0) - 2.0 / 64.0).abs() < 1e-15);
        let eight = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert!((SignFlips::new(&eight, 0).unwrap().p_value(0.0) - 2.0 / 256.0).abs() < 1e-15);
    }

    #[test]
    fn six_pairs_span_from_the_least_to_the_greatest() {
        let flips = SignFlips::new(&[0.3, -0.1, 0.8, 0.2, 0.4, 0.5], 0).unwrap();
        let interval = flips.interval(0.05).unwrap();
        assert!((interval.lower + 0.1).abs() < 1e-12 && (interval.upper - 0.8).abs() < 1e-12);
        assert_eq!(flips.interval(0.01), Err(Refusal::TooFewPairs { pairs: 6, least: 8 }));
    }

    #[test]
    fn a_limit_is_where_p_passes_alpha() {
        let differences: Vec<f64> = (0..14).map(|pair| f64::from(pair * pair % 11) / 7.0 - 0.3).collect();
        let flips = SignFlips::new(&differences, 0).unwrap();
        let interval = flips.interval(0.05).unwrap();
        for (inside, outside) in [(interval.lower, interval.lower - 1e-9), (interval.upper, interval.upper + 1e-9)] {
            assert!(flips.p_value(inside) > 0.05);
            assert!(flips.p_value(outside) <= 0.05);
        }
    }

    #[test]
    fn values_that_are_not_numbers_are_refused() {
        assert!(SignFlips::new(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN], 0).is_err());
    }
}
