// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quantiles from counts per bucket, merged over flows and blocks: never a mean of quantiles.

use crate::refusal::share;
use crate::Refusal;

/// Counts per bucket. A bucket holds what is above the upper bound of the one before and at most its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    bounds: Vec<f64>,
    counts: Vec<u64>,
}

impl Histogram {
    /// Upper bounds in ascending order, the last of which may be infinite, and a count for each.
    pub fn new(bounds: Vec<f64>, counts: Vec<u64>) -> Result<Self, Refusal> {
        if bounds.len() != counts.len() {
            return Err(Refusal::Lengths { first: bounds.len(), second: counts.len() });
        }
        if bounds.is_empty() || bounds.iter().any(|bound| bound.is_nan()) || !bounds.is_sorted_by(|a, b| a < b) {
            return Err(Refusal::Degenerate("the bounds of a histogram must ascend"));
        }
        Ok(Self { bounds, counts })
    }

    /// Adds the counts of another histogram with the same bounds.
    pub fn merge(&mut self, other: &Self) -> Result<(), Refusal> {
        if self.bounds.iter().ne(&other.bounds) {
            return Err(Refusal::Degenerate("histograms of different bounds cannot be merged"));
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        Ok(())
    }

    /// The value with this share of all below it, linear inside its bucket; the first bucket begins at 0, or at its
    /// bound if that is negative. In an open last bucket the answer is where it begins: the quantile is at least that.
    pub fn quantile(&self, below: f64) -> Result<f64, Refusal> {
        let all: u64 = self.counts.iter().sum();
        let rank = share(below)? * all as f64;
        let mut before = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            if *count > 0 && (before + count) as f64 >= rank {
                let upper = self.bounds[bucket];
                let lower = if bucket > 0 { self.bounds[bucket - 1] } else { upper.min(0.0) };
                let inside = (rank - before as f64) / *count as f64;
                return Ok(if upper.is_finite() { lower + (upper - lower) * inside } else { lower });
            }
            before += count;
        }
        Err(Refusal::Degenerate("an empty histogram has no quantiles"))
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn merged_counts_give_the_quantile_of_all() {
        let bounds = vec![10.0, 20.0, 40.0, f64::INFINITY];
        let mut both = Histogram::new(bounds.clone(), vec![0, 10, 0, 0]).unwrap();
        both.merge(&Histogram::new(bounds, vec![0, 0, 20, 10]).unwrap()).unwrap();
        assert!((both.quantile(0.5).unwrap() - 30.0).abs() < 1e-12);
        assert!((both.quantile(0.125).unwrap() - 15.0).abs() < 1e-12);
        assert!((both.quantile(0.99).unwrap() - 40.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_a_histogram_is_refused() {
        assert!(Histogram::new(vec![2.0, 1.0], vec![1, 1]).is_err());
        assert!(Histogram::new(vec![1.0], vec![1, 1]).is_err());
        assert!(Histogram::new(vec![1.0], vec![0]).unwrap().quantile(0.5).is_err());
    }
}
