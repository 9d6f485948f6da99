// SPDX-License-Identifier: MIT OR Apache-2.0
//! Series of hours without coins (before and after, paired links): errors that allow for dependence over time.

use crate::clusters::SplitEffect;
use crate::distributions::mean;
use crate::refusal::{at_least, positive};
use crate::schedule::Arm;
use crate::Refusal;

/// The difference of the arms' means with the error of Newey and West (Econometrica 55, 1987): Bartlett's weights up to
/// `lags` values apart, no correction for small samples, as most programs do it.
pub fn newey_west(values: &[f64], arms: &[Arm], lags: usize) -> Result<SplitEffect, Refusal> {
    if values.len() != arms.len() {
        return Err(Refusal::Lengths { first: values.len(), second: arms.len() });
    }
    at_least(values, 4)?;
    let of = |arm: Arm| -> Vec<f64> {
        values.iter().zip(arms).filter(|(_, own)| **own == arm).map(|(value, _)| *value).collect()
    };
    let (treated, control) = (of(Arm::Treated), of(Arm::Control));
    let (treated, control) = (at_least(&treated, 2)?, at_least(&control, 2)?);
    let (treated_mean, control_mean) = (mean(treated), mean(control));
    let influence = |(value, arm): (&f64, &Arm)| match arm {
        Arm::Treated => (value - treated_mean) / treated.len() as f64,
        Arm::Control => -(value - control_mean) / control.len() as f64,
    };
    let influences: Vec<f64> = values.iter().zip(arms).map(influence).collect();
    let at_lag = |lag: usize| influences[lag..].iter().zip(&influences).map(|(now, then)| now * then).sum::<f64>();
    let weight = |lag: usize| 2.0 * (1.0 - lag as f64 / (lags as f64 + 1.0));
    let variance = at_lag(0) + (1..=lags.min(values.len() - 1)).map(|lag| weight(lag) * at_lag(lag)).sum::<f64>();
    Ok(SplitEffect {
        difference: treated_mean - control_mean,
        error: positive(variance)?.sqrt(),
        freedom: values.len() as f64 - 2.0,
    })
}

/// The correlation of a series with itself one value later.
pub fn autocorrelation(values: &[f64]) -> Result<f64, Refusal> {
    let mean = mean(at_least(values, 3)?);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|next| (next[0] - mean) * (next[1] - mean)).sum();
    Ok(products / positive(squares)?)
}

/// By how much autocorrelation `phi` inflates the variance of a mean: `(1 + phi) / (1 - phi)`.
#[must_use]
pub fn variance_inflation(phi: f64) -> f64 {
    (1.0 + phi) / (1.0 - phi)
}

#[cfg(test)]
mod tests {
    use super::variance_inflation;

    #[test]
    fn inflation_is_what_the_textbook_says() {
        assert!((variance_inflation(0.3) - 1.857_142_857).abs() < 1e-9);
        assert!((variance_inflation(0.6) - 4.0).abs() < 1e-12);
    }
}
