// SPDX-License-Identifier: MIT OR Apache-2.0
//! Less variance by what was known before (CUPED: Deng, Xu, Kohavi, Walker, WSDM 2013).

use crate::refusal::alike;
use crate::Refusal;

/// Differences from which a covariate was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjusted {
    /// `D - theta X` of each pair.
    pub differences: Vec<f64>,
    /// Slope of `D` on `X`.
    pub theta: f64,
    /// Share of the mean square of `D` that is gone: `rho^2`.
    pub explained: f64,
}

/// `D' = D - theta X`, `theta = sum D X / sum X^2`.
///
/// `X` is the same difference, treated minus control, of a value that the arm cannot change: the pre-period of both
/// blocks, or the same two blocks a week before. The coins that sign `D` sign `X`, so the mean of `X` is 0 by design
/// and is not estimated: subtracting the sample's mean instead would leave the estimate as it is and only look more
/// certain. For the same reason `theta` has no intercept: flips of signs leave it as it is, and the exact test of no
/// effect stays exact on `D'`.
pub fn adjust(differences: &[f64], covariates: &[f64]) -> Result<Adjusted, Refusal> {
    alike(differences, covariates, 2)?;
    let product = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
    let (squares, cross) = (product(covariates, covariates), product(differences, covariates));
    let total = product(differences, differences);
    if squares <= 0.0 || total <= 0.0 {
        return Err(Refusal::Degenerate("all differences are 0: there is nothing to adjust"));
    }
    let theta = cross / squares;
    let differences = differences.iter().zip(covariates).map(|(d, x)| d - theta * x).collect();
    Ok(Adjusted { differences, theta, explained: cross * cross / (squares * total) })
}

#[cfg(test)]
mod tests {
    use super::adjust;
    use crate::flips::SignFlips;

    #[test]
    fn what_the_covariate_explains_is_gone() {
        let covariates = [1.0, -2.0, 0.5, 3.0, -1.0, 0.2, -0.7, 1.4];
        let differences = covariates.map(|x| 3.0 * x);
        let adjusted = adjust(&differences, &covariates).unwrap();
        assert!((adjusted.theta - 3.0).abs() < 1e-12 && (adjusted.explained - 1.0).abs() < 1e-12);
        assert!(adjusted.differences.iter().all(|d| d.abs() < 1e-12));
    }

    #[test]
    fn coins_leave_the_slope_as_it_is() {
        let covariates = [1.0, -2.0, 0.5, 3.0, -1.0, 0.2, -0.7, 1.4];
        let differences = [1.3, -1.0, 0.1, 2.0, 0.4, 0.3, -0.2, 0.9];
        let flip = |values: [f64; 8], mask: u32| -> Vec<f64> {
            values.iter().enumerate().map(|(pair, v)| if mask >> pair & 1 == 1 { -v } else { *v }).collect()
        };
        let theta = adjust(&differences, &covariates).unwrap().theta;
        let p_values: Vec<f64> = (0..256)
            .map(|mask| {
                let adjusted = adjust(&flip(differences, mask), &flip(covariates, mask)).unwrap();
                assert!((adjusted.theta - theta).abs() < 1e-12);
                SignFlips::new(&adjusted.differences, 0).unwrap().p_value(0.0)
            })
            .collect();
        // Exact: 12 of 256 vectors have a p of at most 5 %.
        assert_eq!(p_values.iter().filter(|p| **p <= 0.05).count(), 12);
    }
}
