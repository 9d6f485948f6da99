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
/// Beyond, this many sign vectors are drawn.
pub const DRAWS: usize = 100_000;

/// Sums in another order differ in their last bits. What is closer than this, relative to the largest value, is equal.
const EQUAL: f64 = 1e-13;

/// Pairs with which p can be as small as `alpha`: the smallest is that of 2 vectors of 2^n.
#[must_use]
pub fn least_pairs(alpha: f64) -> usize {
    ((1.0 / alpha).log2().ceil() as usize + 1).max(LEAST_PAIRS)
}

/// A list of differences, and what flips of their signs say about effects.
#[derive(Debug, Clone)]
pub struct SignFlips {
    differences: Vec<f64>,
    mean: f64,
    largest: f64,
    /// Of the drawn vectors, where they are drawn.
    drawn: Option<SplitMeans>,
}

impl SignFlips {
    /// All sign vectors of at most [`MOST_EXACT_PAIRS`] differences; of more, [`DRAWS`] drawn from the seed.
    pub fn new(differences: &[f64], seed: u64) -> Result<Self, Refusal> {
        let pairs = finite(differences)?.len();
        if pairs < LEAST_PAIRS {
            return Err(Refusal::TooFewPairs { pairs, least: LEAST_PAIRS });
        }
        Ok(Self {
            differences: differences.to_vec(),
            mean: distributions::mean(differences),
            largest: differences.iter().fold(0.0, |largest, value| value.abs().max(largest)),
            drawn: (pairs > MOST_EXACT_PAIRS).then(|| SplitMeans::drawn(differences, seed)),
        })
    }

    /// Share of sign vectors at least as far out as the data if the effect is `effect`; where vectors were drawn, with
    /// 1 added to both counts (Phipson, Smyth, Stat. Appl. Genet. Mol. Biol. 9, 2010).
    #[must_use]
    pub fn p_value(&self, effect: f64) -> f64 {
        let slack = EQUAL * (self.largest + effect.abs());
        if (effect - self.mean).abs() <= slack {
            return 1.0;
        }
        match &self.drawn {
            None => self.exact_p(effect, slack * self.differences.len() as f64),
            Some(means) if effect < self.mean => {
                means.share(means.lower.iter().filter(|mean| **mean <= effect + slack).count())
            }
            Some(means) => means.share(means.upper.iter().filter(|mean| **mean >= effect - slack).count()),
        }
    }

    /// The effects with `p` above `alpha`.
    pub fn interval(&self, alpha: f64) -> Result<Interval, Refusal> {
        let limits = match &self.drawn {
            None => SplitMeans::all(&self.differences).limits(share(alpha)?),
            Some(means) => means.clone().limits(share(alpha)?),
        };
        limits.ok_or_else(|| self.refused(alpha))
    }

    /// Why no p is as small as `alpha`.
    fn refused(&self, alpha: f64) -> Refusal {
        if self.drawn.is_some() {
            return Refusal::Degenerate("alpha is smaller than one of the sign vectors that are drawn");
        }
        Refusal::TooFewPairs { pairs: self.differences.len(), least: least_pairs(alpha) }
    }

    /// Twice the share of sets whose flip leaves the sum as far out on its side, which are those whose own sum is not
    /// on that side. The sets are the unions of one out of each half of the pairs; with both halves sorted, one pass
    /// counts them: 2^(n/2) steps in place of 2^n (meet in the middle: Horowitz, Sahni, JACM 21, 1974).
    fn exact_p(&self, effect: f64, slack: f64) -> f64 {
        let side = (self.mean - effect).signum();
        let residuals: Vec<f64> = self.differences.iter().map(|difference| side * (difference - effect)).collect();
        let (first, second) = residuals.split_at(residuals.len() / 2);
        let (mut first, mut second) = (subset_sums(first), subset_sums(second));
        first.sort_unstable_by(f64::total_cmp);
        second.sort_unstable_by(f64::total_cmp);
        let (mut sets, mut low_enough) = (0, second.len());
        for sum in &first {
            while low_enough > 0 && sum + second[low_enough - 1] > slack {
                low_enough -= 1;
            }
            sets += low_enough;
        }
        2.0 * sets as f64 / (first.len() * second.len()) as f64
    }
}

/// The lower and the upper mean of each split of the pairs.
#[derive(Debug, Clone, Default)]
struct SplitMeans {
    /// Without that of the data themselves, which flip nothing.
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl SplitMeans {
    /// Each split once: the last pair is never flipped.
    fn all(differences: &[f64]) -> Self {
        let (total, pairs) = (differences.iter().sum(), differences.len());
        let sums = subset_sums(&differences[..pairs - 1]);
        let mut means = Self { lower: Vec::with_capacity(sums.len()), upper: Vec::with_capacity(sums.len()) };
        for (set, sum) in sums.iter().enumerate().skip(1) {
            means.add(*sum, set.count_ones() as usize, total, pairs);
        }
        means
    }

    fn drawn(differences: &[f64], seed: u64) -> Self {
        let total = differences.iter().sum();
        let mut draws = Draws::new(seed);
        let mut means = Self::default();
        for _ in 0..DRAWS {
            let (mut sum, mut flipped) = (0.0, 0);
            draws.coins(differences.len(), |pair, flip| {
                if flip {
                    sum += differences[pair];
                    flipped += 1;
                }
            });
            means.add(sum, flipped, total, differences.len());
        }
        means
    }

    fn add(&mut self, flipped_sum: f64, flipped: usize, total: f64, pairs: usize) {
        if flipped == 0 || flipped == pairs {
            // Drawn, it is as far out as the data whatever the effect.
            self.lower.push(f64::NEG_INFINITY);
            self.upper.push(f64::INFINITY);
            return;
        }
        let flipped_mean = flipped_sum / flipped as f64;
        let other_mean = (total - flipped_sum) / (pairs - flipped) as f64;
        self.lower.push(flipped_mean.min(other_mean));
        self.upper.push(flipped_mean.max(other_mean));
    }

    /// These splits and the data, of all and the data.
    fn share(&self, splits: usize) -> f64 {
        (1.0 + splits as f64) / (1.0 + self.lower.len() as f64)
    }

    /// The least and the greatest effect with `share` above `alpha`; none if all effects have.
    fn limits(mut self, alpha: f64) -> Option<Interval> {
        let count = self.lower.len();
        let rank = (alpha * (1.0 + count as f64)) as usize;
        if rank == 0 {
            return None;
        }
        let (_, lower, _) = self.lower.select_nth_unstable_by(rank - 1, f64::total_cmp);
        let (_, upper, _) = self.upper.select_nth_unstable_by(count - rank, f64::total_cmp);
        Some(Interval { lower: *lower, upper: *upper })
    }
}

/// The sum of each subset, in the order of the binary numbers whose bits say which values are in it.
fn subset_sums(values: &[f64]) -> Vec<f64> {
    let mut sums = Vec::with_capacity(1 << values.len());
    sums.push(0.0);
    for value in values {
        for set in 0..sums.len() {
            sums.push(sums[set] + value);
        }
    }
    sums
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
