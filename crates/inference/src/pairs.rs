// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two blocks make a pair, a pair makes a difference, differences make an estimate.

use std::ops::Add;

use crate::distributions;
use crate::refusal::{at_least, positive};
use crate::Refusal;

/// Sums of a block, of which the metric is the ratio: a ratio of sums, never a mean of ratios.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// Sum above the line: bytes acknowledged, bytes retransmitted.
    pub numerator: f64,
    /// Sum below the line: seconds in which the network limited, bytes sent.
    pub denominator: f64,
}

impl Totals {
    /// The logarithm of the ratio, after adding to the numerator the constant that the plan declares (0 for most).
    pub fn log_ratio(&self, constant: f64) -> Result<f64, Refusal> {
        Ok((positive(self.numerator + constant)? / positive(self.denominator)?).ln())
    }
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { numerator: self.numerator + other.numerator, denominator: self.denominator + other.denominator }
    }
}

/// `D` of a pair: treated minus control, of values on the log scale.
#[must_use]
pub fn difference(first: f64, second: f64, first_is_treated: bool) -> f64 {
    if first_is_treated {
        first - second
    } else {
        second - first
    }
}

/// A difference of logarithms as a change in percent: `(exp(difference) - 1) * 100`.
#[must_use]
pub fn percent(difference: f64) -> f64 {
    difference.exp_m1() * 100.0
}

/// The mean of the differences: what the exact test and the sequences are about.
pub fn mean(differences: &[f64]) -> Result<f64, Refusal> {
    Ok(distributions::mean(at_least(differences, 1)?))
}

/// Hodges and Lehmann's estimate (Ann. Math. Stat. 34, 1963): the median of the means of all pairs of values, each
/// with itself included. Barely moved by the largest values, for heavy tails.
pub fn hodges_lehmann(differences: &[f64]) -> Result<f64, Refusal> {
    let differences = at_least(differences, 1)?;
    let mut means = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (index, first) in differences.iter().enumerate() {
        means.extend(differences[index..].iter().map(|second| f64::midpoint(*first, *second)));
    }
    Ok(distributions::median(&mut means))
}

/// The standard deviation of the differences.
pub fn deviation(differences: &[f64]) -> Result<f64, Refusal> {
    Ok(distributions::variance(at_least(differences, 2)?).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{difference, percent, Totals};

    #[test]
    fn a_difference_is_treated_minus_control() {
        assert!((difference(3.0, 1.0, true) - 2.0).abs() < 1e-15);
        assert!((difference(3.0, 1.0, false) + 2.0).abs() < 1e-15);
    }

    #[test]
    fn a_doubling_is_a_hundred_percent() {
        assert!((percent(2.0_f64.ln()) - 100.0).abs() < 1e-12);
        assert!((percent(0.5_f64.ln()) + 50.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_retransmitted_has_no_logarithm_without_a_constant() {
        let clean = Totals { numerator: 0.0, denominator: 1e9 };
        assert!(clean.log_ratio(0.0).is_err());
        assert!((clean.log_ratio(1.0).unwrap() - 1e-9_f64.ln()).abs() < 1e-12);
    }
}
