// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other ways to the same answers, to compare the exact ones with. None of them decides an experiment.

use crate::distributions::{mean, normal_quantile, normal_two_sided_p, t_quantile, t_two_sided_p, variance};
use crate::refusal::{at_least, positive, share};
use crate::{Interval, Refusal};

/// A test of no effect with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Chance of a mean as far out without an effect.
    pub p: f64,
    /// The effects that are not excluded.
    pub interval: Interval,
}

/// Student's interval for the mean: valid once, at a size fixed before, for nearly normal differences.
pub fn t_test(differences: &[f64], alpha: f64) -> Result<Comparison, Refusal> {
    let (mean, error) = mean_and_error(differences)?;
    let freedom = differences.len() as f64 - 1.0;
    let width = t_quantile(1.0 - share(alpha)? / 2.0, freedom) * error;
    Ok(Comparison { p: t_two_sided_p(mean / error, freedom), interval: Interval::around(mean, width) })
}

/// The normal interval for the mean: what most tools show, and wrong when looked at repeatedly.
pub fn z_test(differences: &[f64], alpha: f64) -> Result<Comparison, Refusal> {
    let (mean, error) = mean_and_error(differences)?;
    let width = normal_quantile(1.0 - share(alpha)? / 2.0) * error;
    Ok(Comparison { p: normal_two_sided_p(mean / error), interval: Interval::around(mean, width) })
}

/// `rho` that makes the asymptotic sequence narrowest at this many pairs (Waudby-Smith et al., arXiv 2103.06476).
pub fn asymptotic_rho(alpha: f64, pairs: f64) -> Result<f64, Refusal> {
    let doubled = -2.0 * share(alpha)?.ln();
    Ok(((doubled + doubled.ln() + 1.0) / positive(pairs)?).sqrt())
}

/// The asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas, arXiv 2103.06476):
/// `mean +- deviation * sqrt(2 (t rho^2 + 1) / (t^2 rho^2) * log(sqrt(t rho^2 + 1) / alpha))`. Not valid early.
pub fn asymptotic_sequence(differences: &[f64], alpha: f64, rho: f64) -> Result<Interval, Refusal> {
    let t = at_least(differences, 2)?.len() as f64;
    let spread = t * positive(rho)?.powi(2) + 1.0;
    let width = (2.0 * spread / (t * rho).powi(2) * (spread.sqrt() / share(alpha)?).ln()).sqrt();
    Ok(Interval::around(mean(differences), variance(differences).sqrt() * width))
}

/// `log` of the mixture likelihood ratio for no effect, known standard deviation `sigma` and a normal mixture of
/// deviation `nu` (Johari, Koomen, Pekelis, Walsh, Operations Research 2022, arXiv 1512.04922).
pub fn log_mixture_ratio(differences: &[f64], sigma: f64, nu: f64) -> Result<f64, Refusal> {
    let n = at_least(differences, 1)?.len() as f64;
    let (noise, prior) = (positive(sigma)?.powi(2), positive(nu)?.powi(2));
    let spread = noise + n * prior;
    Ok(0.5 * (noise / spread).ln() + (n * mean(differences)).powi(2) * prior / (2.0 * noise * spread))
}

/// The always-valid p of the mixture test: the least inverse ratio so far.
pub fn mixture_p(differences: &[f64], sigma: f64, nu: f64) -> Result<f64, Refusal> {
    let mut largest: f64 = 0.0;
    for pairs in 1..=at_least(differences, 1)?.len() {
        largest = largest.max(log_mixture_ratio(&differences[..pairs], sigma, nu)?);
    }
    Ok((-largest).exp())
}

/// The closed form of the symmetric case (Howard et al., arXiv 1810.08240): all effects with
/// `|sum x| <= sqrt((V + rho) log((V + rho) / (rho alpha^2)))`, `V = sum x^2`, `x = D - effect`: is this one of them?
pub fn symmetric_bound_holds(differences: &[f64], effect: f64, alpha: f64, rho: f64) -> Result<bool, Refusal> {
    let residuals: Vec<f64> = at_least(differences, 1)?.iter().map(|difference| difference - effect).collect();
    let squares: f64 = residuals.iter().map(|x| x * x).sum();
    Ok(residuals.iter().sum::<f64>().abs() <= symmetric_bound(squares, alpha, rho)?)
}

/// The bound on `|sum x|` in [`symmetric_bound_holds`].
pub fn symmetric_bound(squares: f64, alpha: f64, rho: f64) -> Result<f64, Refusal> {
    let spread = squares + positive(rho)?;
    Ok((spread * (spread / (rho * share(alpha)?.powi(2))).ln()).sqrt())
}

fn mean_and_error(differences: &[f64]) -> Result<(f64, f64), Refusal> {
    let n = at_least(differences, 2)?.len() as f64;
    let error = (variance(differences) / n).sqrt();
    if error > 0.0 {
        Ok((mean(differences), error))
    } else {
        Err(Refusal::Degenerate("all differences are equal: their spread says nothing"))
    }
}
