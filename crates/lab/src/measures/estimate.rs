// SPDX-License-Identifier: GPL-2.0-only
//! Means over repeats, and how well they are known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interval is shown of at least this many repeats.
pub const INTERVAL_REPEATS: usize = 3;

/// A measure over all repeats of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Mean of the repeats that have a value.
    pub mean: f64,
    /// Standard error of the mean: sample deviation over the root of their number; none of one repeat.
    pub standard_error: Option<f64>,
    /// Half the width of the 95 % confidence interval, by Student's t.
    pub half_width_95: Option<f64>,
    /// The values, by repeat; none where the measure has none.
    pub values: Vec<Option<f64>>,
}

impl Estimate {
    /// Repeats that have a value.
    #[must_use]
    pub fn repeats(&self) -> usize {
        self.values.iter().flatten().count()
    }

    /// Half of the interval that is worth showing. Of two values Student's t makes one of 12.7 standard errors, which says
    /// nothing: two values are shown as they are.
    #[must_use]
    pub fn shown_half_width(&self) -> Option<f64> {
        self.half_width_95.filter(|_| self.repeats() >= INTERVAL_REPEATS)
    }

    /// Of these values; none where there is none at all.
    #[must_use]
    pub fn of(values: &[Option<f64>]) -> Option<Self> {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let count = known.len() as f64;
        let mean = super::fairness::mean(&known)?;
        let squares: f64 = known.iter().map(|value| (value - mean).powi(2)).sum();
        let standard_error = (known.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt());
        let half_width_95 = standard_error.map(|error| error * student_t_975(known.len() - 1));
        Some(Self { mean, standard_error, half_width_95, values: values.to_vec() })
    }
}

/// The 97.5 % quantile of Student's t.
#[must_use]
pub fn student_t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    match degrees {
        0 => f64::INFINITY,
        1..=30 => TABLE[degrees - 1],
        _ => {
            // First terms of the expansion in 1/degrees: Abramowitz, Stegun 26.7.5
            let (z, n) = (1.959_964_f64, degrees as f64);
            z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, sample deviation sqrt(32/7) = 2.138, standard error 0.7559; t of 7 degrees 2.365
    #[test]
    fn a_mean_comes_with_its_error_and_interval() {
        let values: Vec<Option<f64>> = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].map(Some).to_vec();
        let estimate = Estimate::of(&values).unwrap();
        assert!((estimate.mean - 5.0).abs() < 1e-12);
        assert!((estimate.standard_error.unwrap() - 0.755_929).abs() < 1e-6);
        assert!((estimate.half_width_95.unwrap() - 1.787_772).abs() < 1e-5);
    }

    #[test]
    fn one_value_has_no_error_and_none_is_no_estimate() {
        let one = Estimate::of(&[Some(3.0), None]).unwrap();
        assert_eq!((one.mean, one.standard_error, one.half_width_95), (3.0, None, None));
        assert_eq!(Estimate::of(&[None, None]), None);
        assert_eq!(Estimate::of(&[]), None);
    }

    /// Published tables: 40 degrees 2.021, 60 degrees 2.000, 120 degrees 1.980, infinitely many 1.960.
    #[test]
    fn quantiles_beyond_the_table_are_those_of_longer_tables() {
        for (degrees, expected) in [(31, 2.040), (40, 2.021), (60, 2.000), (120, 1.980), (1_000_000, 1.960)] {
            assert!((student_t_975(degrees) - expected).abs() < 0.0006, "{degrees}: {}", student_t_975(degrees));
        }
    }
}
