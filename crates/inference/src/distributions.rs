// SPDX-License-Identifier: MIT OR Apache-2.0
//! The normal, t and chi-square distributions.

use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF, Normal, StudentsT};

/// Steps of Newton's method after a library's quantile: two suffice, more cost nothing.
const POLISHING_STEPS: usize = 4;

/// Share of a normal distribution below `z`.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// `z` with this share of a normal distribution below it.
#[must_use]
pub fn normal_quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

/// Twice the share of a normal distribution beyond `|z|`.
#[must_use]
pub fn normal_two_sided_p(z: f64) -> f64 {
    2.0 * Normal::standard().sf(z.abs())
}

/// `t` with this share of Student's distribution with `freedom` degrees below it.
///
/// # Panics
///
/// If `freedom` is not above 0.
#[must_use]
pub fn t_quantile(share: f64, freedom: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom are above 0");
    let mut t = distribution.inverse_cdf(share);
    for _ in 0..POLISHING_STEPS {
        let step = (distribution.cdf(t) - share) / distribution.pdf(t);
        if !step.is_finite() {
            break;
        }
        t -= step;
    }
    t
}

/// Twice the share of Student's distribution with `freedom` degrees beyond `|t|`.
///
/// # Panics
///
/// If `freedom` is not above 0.
#[must_use]
pub fn t_two_sided_p(t: f64, freedom: f64) -> f64 {
    2.0 * StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom are above 0").sf(t.abs())
}

/// Share of the chi-square distribution with `freedom` degrees beyond `chi_square`.
///
/// # Panics
///
/// If `freedom` is not above 0.
#[must_use]
pub fn chi_square_p(chi_square: f64, freedom: f64) -> f64 {
    ChiSquared::new(freedom).expect("degrees of freedom are above 0").sf(chi_square)
}

/// The mean.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance, with one degree of freedom less than there are values.
#[must_use]
pub fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

/// The middle value, or the mean of the two middle ones; not a number without values.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if odd {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(lower, upper)
}
