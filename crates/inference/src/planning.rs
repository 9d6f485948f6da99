// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many pairs an effect needs, which effect a day of pairs shows, and the spread that both follow from.

use std::time::Duration;

use crate::distributions::{normal_cdf, normal_quantile};
use crate::draws::Draws;
use crate::flips::{least_pairs, SignFlips, DRAWS, LEAST_PAIRS};
use crate::pairs::Totals;
use crate::refusal::{finite, positive, share};
use crate::Refusal;

/// An interval that may be looked at any time is about 1.6 times as wide as one of a fixed size, at 8 to 56 pairs; so
/// it needs 1.6^2 times the pairs.
pub const ANYTIME_FACTOR: f64 = 2.6;

/// From here on the formula of the plan holds.
pub const FEW_PAIRS: usize = 10;

/// Their power has a standard error of 0.6 points.
const POWER_EXPERIMENTS: usize = 5_000;

/// What is asked of an experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Chance to find an effect where there is none: 5 %.
    pub alpha: f64,
    /// Chance to find the effect if it is there: 80 %.
    pub power: f64,
    /// Decide by the confidence sequence, which may be looked at any time, instead of at the end?
    pub anytime: bool,
}

impl Default for Demand {
    fn default() -> Self {
        Self { alpha: 0.05, power: 0.8, anytime: false }
    }
}

impl Demand {
    /// Pairs for an effect of `effect` at a standard deviation of `sigma`, both in logarithms:
    /// `((z_(1-alpha/2) + z_power) sigma / effect)^2 + 2`, and 2.6 times that for looks at any time. The 2 makes up for
    /// the spread being estimated. A few pairs have so few sign vectors that the formula promises too much (80 % where
    /// 6 pairs have 66 %): up to [`FEW_PAIRS`] the power is simulated, and pairs are added until it is reached.
    pub fn pairs(&self, effect: f64, sigma: f64) -> Result<usize, Refusal> {
        let ratio = positive(effect.abs())? / positive(sigma)?;
        let formula = ((self.quantiles()? / ratio).powi(2) + 2.0) * self.factor();
        let mut pairs = (formula.ceil() as usize).max(least_pairs(self.alpha));
        while !self.anytime && pairs < FEW_PAIRS && power_at_end(pairs, ratio, self.alpha)? < self.power {
            pairs += 1;
        }
        Ok(pairs)
    }

    /// The smallest effect, in logarithms, that this number of pairs shows: the inverse of [`Demand::pairs`], for a few
    /// pairs in steps of 1 %.
    pub fn detectable_effect(&self, pairs: f64, sigma: f64) -> Result<f64, Refusal> {
        let least = least_pairs(share(self.alpha)?).max((2.0 * self.factor()).floor() as usize + 1);
        if pairs.is_nan() || pairs < least as f64 {
            return Err(Refusal::TooFewPairs { pairs: pairs as usize, least });
        }
        let mut ratio = self.quantiles()? / (pairs / self.factor() - 2.0).sqrt();
        let few = !self.anytime && pairs < FEW_PAIRS as f64;
        while few && power_at_end(pairs as usize, ratio, self.alpha)? < self.power {
            ratio *= 1.01;
        }
        Ok(ratio * positive(sigma)?)
    }

    fn quantiles(&self) -> Result<f64, Refusal> {
        Ok(normal_quantile(1.0 - share(self.alpha)? / 2.0) + normal_quantile(share(self.power)?))
    }

    fn factor(&self) -> f64 {
        if self.anytime {
            ANYTIME_FACTOR
        } else {
            1.0
        }
    }
}

/// The power of the test at the end for an effect of `ratio` standard deviations. A plan takes whole pairs, so its
/// power is at least what it asks for. From [`FEW_PAIRS`] on by the formula of [`Demand::pairs`], below by simulation.
pub fn power_at_end(pairs: usize, ratio: f64, alpha: f64) -> Result<f64, Refusal> {
    if pairs < FEW_PAIRS {
        return simulated_power(pairs, ratio, alpha);
    }
    Ok(normal_cdf(ratio.abs() * (pairs as f64 - 2.0).sqrt() - normal_quantile(1.0 - share(alpha)? / 2.0)))
}

/// Share of simulated experiments with normal differences around `ratio` standard deviations for which the sign-flip
/// test finds an effect. The numbers are the same at each call.
fn simulated_power(pairs: usize, ratio: f64, alpha: f64) -> Result<f64, Refusal> {
    let mut draws = Draws::new(0);
    let mut found = 0;
    for _ in 0..POWER_EXPERIMENTS {
        let differences: Vec<f64> = (0..pairs).map(|_| ratio + draws.normal()).collect();
        found += usize::from(SignFlips::new(&differences, 0)?.p_value(0.0) <= alpha);
    }
    Ok(found as f64 / POWER_EXPERIMENTS as f64)
}

/// Pairs that a day has.
#[must_use]
pub fn pairs_per_day(block: Duration) -> f64 {
    86_400.0 / (2.0 * block.as_secs_f64())
}

/// What one length of blocks would do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    /// The length.
    pub block: Duration,
    /// Standard deviation of the differences at this length.
    pub sigma: f64,
    /// The smallest effect that a day shows, in logarithms.
    pub effect_per_day: f64,
}

/// Sums per step of time, of a service without treatment.
#[derive(Debug, Clone, Copy)]
pub struct Past<'a> {
    /// The sums of each step.
    pub series: &'a [Totals],
    /// Its length.
    pub step: Duration,
    /// What the plan adds to the sums above the line.
    pub constant: f64,
}

impl Past<'_> {
    /// The detectable effect per day for blocks of each number of steps, of which the first `burn_in` are dropped.
    pub fn lengths(&self, steps: &[usize], burn_in: usize, demand: Demand) -> Result<Vec<Length>, Refusal> {
        let length = |steps: &usize| {
            let block = self.step * *steps as u32;
            let sigma = sigma(&self.blocks(*steps, burn_in)?)?;
            Ok(Length { block, sigma, effect_per_day: demand.detectable_effect(pairs_per_day(block), sigma)? })
        };
        steps.iter().map(length).collect()
    }

    /// Values of whole blocks of this number of steps, without their burn-in.
    pub fn blocks(&self, steps: usize, burn_in: usize) -> Result<Vec<f64>, Refusal> {
        if burn_in >= steps {
            return Err(Refusal::Degenerate("the burn-in is as long as the block: nothing is left to measure"));
        }
        let value = |block: &[Totals]| {
            let sums = block[burn_in..].iter().fold(Totals::default(), |sum, totals| sum + *totals);
            sums.log_ratio(self.constant)
        };
        self.series.chunks_exact(steps).map(value).collect()
    }
}

/// The standard deviation of `D` that coins would give to a series of blocks without treatment: `sqrt(mean u^2)`, `u`
/// the difference of neighbours. It is the expectation, over all coins, of the variance of `D`; no draw is needed.
pub fn sigma(values: &[f64]) -> Result<f64, Refusal> {
    let differences = neighbours(values)?;
    let squares: f64 = differences.iter().map(|u| u * u).sum();
    Ok((squares / differences.len() as f64).sqrt())
}

/// The first of each two neighbours minus the second.
fn neighbours(values: &[f64]) -> Result<Vec<f64>, Refusal> {
    let differences: Vec<f64> = finite(values)?.chunks_exact(2).map(|pair| pair[0] - pair[1]).collect();
    if differences.len() < LEAST_PAIRS {
        return Err(Refusal::TooFewPairs { pairs: differences.len(), least: LEAST_PAIRS });
    }
    Ok(differences)
}

/// What re-drawn coins give on a series without treatment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Redrawn {
    /// Coin sequences that were drawn.
    pub sequences: usize,
    /// Those for which the sign-flip test found an effect.
    pub rejected: usize,
    /// Standard deviation of the differences.
    pub sigma: f64,
}

/// Draws coins again and again over a series without treatment, and counts in how many the sign-flip test rejects at
/// `alpha`. Flips of signs do not change under other coins, so one set of [`DRAWS`] vectors serves all sequences.
pub fn redraw(values: &[f64], sequences: usize, alpha: f64, seed: u64) -> Result<Redrawn, Refusal> {
    let differences = neighbours(values)?;
    let mut draws = Draws::new(seed);
    let mut far_out = || {
        let mut sum = 0.0;
        draws.coins(differences.len(), |pair, flip| sum += if flip { -differences[pair] } else { differences[pair] });
        sum.abs()
    };
    let mut reference: Vec<f64> = (0..DRAWS).map(|_| far_out()).collect();
    reference.sort_unstable_by(f64::total_cmp);
    let slack = 1e-12 * reference[DRAWS - 1];
    let share = share(alpha)?;
    let rejects = |statistic: f64| {
        let beyond = DRAWS - reference.partition_point(|other| *other < statistic - slack);
        (1.0 + beyond as f64) / (1.0 + DRAWS as f64) <= share
    };
    let rejected = (0..sequences).filter(|_| rejects(far_out())).count();
    Ok(Redrawn { sequences, rejected, sigma: sigma(values)? })
}

#[cfg(test)]
mod tests {
    use super::{pairs_per_day, Demand, Past};
    use crate::pairs::Totals;
    use std::time::Duration;

    #[test]
    fn pairs_are_those_of_the_formula() {
        // ((1.959964 + 0.841621) / 1)^2 = 7.849; with 90 %: 10.507.
        let at_90 = Demand { power: 0.9, ..Demand::default() };
        assert_eq!([1.0, 0.5, 0.25].map(|effect| Demand::default().pairs(effect, 1.0).unwrap()), [10, 34, 128]);
        assert_eq!([1.0, 0.5, 0.25].map(|effect| at_90.pairs(effect, 1.0).unwrap()), [13, 45, 171]);
        assert_eq!(Demand::default().pairs(9.0, 1.0).unwrap(), 6);
        assert_eq!(Demand { alpha: 0.001, ..Demand::default() }.pairs(9.0, 1.0).unwrap(), 11);
        assert_eq!(Demand { anytime: true, ..Demand::default() }.pairs(1.0, 1.0).unwrap(), 26);
    }

    #[test]
    fn a_day_of_ten_minutes_shows_a_third_of_sigma() {
        let pairs = pairs_per_day(Duration::from_secs(600));
        assert!((pairs - 72.0).abs() < 1e-12);
        assert!((Demand::default().detectable_effect(pairs, 1.0).unwrap() - 0.335).abs() < 0.001);
        assert!(Demand::default().detectable_effect(5.0, 1.0).is_err());
    }

    #[test]
    fn six_pairs_need_an_effect_that_makes_all_six_agree() {
        // Only "all of one sign" is rare enough: the power is cdf(ratio)^6, which is 80 % at 1.793.
        let effect = Demand::default().detectable_effect(6.0, 1.0).unwrap();
        assert!((effect - 1.793).abs() < 0.03, "{effect}");
        assert_eq!(Demand::default().pairs(1.85, 1.0).unwrap(), 6);
        assert_eq!(Demand::default().pairs(1.75, 1.0).unwrap(), 7);
    }

    #[test]
    fn blocks_are_ratios_of_sums_without_the_burn_in() {
        let series = [(9.0, 1.0), (2.0, 1.0), (6.0, 3.0), (9.0, 1.0), (1.0, 1.0), (7.0, 1.0), (5.0, 5.0)]
            .map(|(numerator, denominator)| Totals { numerator, denominator });
        let past = Past { series: &series, step: Duration::from_secs(60), constant: 0.0 };
        let values = past.blocks(3, 1).unwrap();
        assert!((values[0] - 2.0_f64.ln()).abs() < 1e-12 && (values[1] - 4.0_f64.ln()).abs() < 1e-12);
        assert_eq!(values.len(), 2);
        assert!(past.blocks(3, 3).is_err());
    }
}
