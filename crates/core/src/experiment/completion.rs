// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long connections took, by size: those that were opened and closed in a block. These numbers neither decide nor guard.

use ccctl_inference::flips::SignFlips;
use ccctl_inference::histogram::Histogram;
use ccctl_inference::multiplicity::holm;
use ccctl_inference::pairs::{difference, mean, percent};
use ccctl_telemetry::{fine_bound_us, CompletionCounts, METRIC_SIZES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Block;

const SIZES: usize = METRIC_SIZES as usize;
/// As people call them.
const LABELS: [&str; SIZES] = ["below 15 kB", "15 to 150 kB", "150 kB to 1.5 MB", "1.5 MB and more"];
/// A block with fewer connections of a size has no median of it.
const LEAST_CONNECTIONS: u64 = 10;

/// Connections by size and time: `by_size[s][b]`, bucket b as those of time in queues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completions {
    /// Of each size, the smallest first, connections by time; nothing where there were none.
    pub by_size: Vec<Vec<u64>>,
}

impl Completions {
    /// Of what the kernel has counted.
    #[must_use]
    pub fn of(counts: &CompletionCounts) -> Self {
        let trimmed = |times: &[u64]| {
            let used = times.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
            times[..used].to_vec()
        };
        Self { by_size: counts.times_us.iter().map(|times| trimmed(times)).collect() }
    }

    /// Adds others.
    pub fn add(&mut self, more: &Self) {
        self.by_size.resize(self.by_size.len().max(more.by_size.len()), Vec::new());
        for (own, more) in self.by_size.iter_mut().zip(&more.by_size) {
            own.resize(own.len().max(more.len()), 0);
            own.iter_mut().zip(more).for_each(|(sum, count)| *sum += count);
        }
    }

    /// What came since `before`; None where a counter went back.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<Self> {
        let count = |size: usize, bucket: usize| {
            before.by_size.get(size).and_then(|times| times.get(bucket)).copied().unwrap_or_default()
        };
        let of_size = |(size, times): (usize, &Vec<u64>)| {
            let times = times.iter().enumerate();
            times.map(|(bucket, now)| now.checked_sub(count(size, bucket))).collect::<Option<Vec<u64>>>()
        };
        self.by_size.iter().enumerate().map(of_size).collect::<Option<_>>().map(|by_size| Self { by_size })
    }

    fn times(&self, size: usize) -> &[u64] {
        self.by_size.get(size).map_or(&[], Vec::as_slice)
    }

    fn connections(&self, size: usize) -> u64 {
        self.times(size).iter().sum()
    }

    fn quantile_ms(&self, size: usize, below: f64) -> Option<f64> {
        let bounds = (0..self.times(size).len()).map(fine_bound_us).collect();
        let quantile = Histogram::new(bounds, self.times(size).to_vec()).and_then(|times| times.quantile(below));
        quantile.ok().map(|us| us / 1000.0)
    }

    fn log_median(&self, size: usize) -> Option<f64> {
        let has_enough = self.connections(size) >= LEAST_CONNECTIONS;
        self.quantile_ms(size, 0.5).filter(|ms| has_enough && *ms > 0.0).map(f64::ln)
    }
}

/// Times of the connections of one size and arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionTimes {
    /// How many connections.
    pub completed: u64,
    /// Median, ms; null where there were none.
    pub median_ms: Option<f64>,
    /// 95th percentile, ms.
    pub p95_ms: Option<f64>,
    /// 99th percentile, ms.
    pub p99_ms: Option<f64>,
}

/// Connections of one size with both arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionInfo {
    /// Their size, by bytes that their peers have acknowledged.
    pub size_text: String,
    /// With arm A.
    pub with_a: CompletionTimes,
    /// With arm B.
    pub with_b: CompletionTimes,
    /// Mean change of a pair's median from A to B, %; null where blocks have too few connections.
    pub median_change_pct: Option<f64>,
    /// p of no change of the median, corrected for the number of sizes (Holm); null with too few pairs.
    pub p_holm: Option<f64>,
}

/// What the pairs say of each size.
#[must_use]
pub fn completion_times(pairs: &[[&Block; 2]], seed: u64) -> Vec<CompletionInfo> {
    let mut arms = [Completions::default(), Completions::default()];
    for block in pairs.iter().flatten() {
        arms[usize::from(block.is_treated)].add(&block.completions);
    }
    let times = |arm: &Completions, size| CompletionTimes {
        completed: arm.connections(size),
        median_ms: arm.quantile_ms(size, 0.5),
        p95_ms: arm.quantile_ms(size, 0.95),
        p99_ms: arm.quantile_ms(size, 0.99),
    };
    let mut found: Vec<CompletionInfo> = Vec::new();
    let mut tested = Vec::new();
    for (size, label) in LABELS.iter().enumerate() {
        let differences: Vec<f64> = pairs.iter().filter_map(|pair| median_difference(pair, size)).collect();
        let p = SignFlips::new(&differences, seed).ok().map(|flips| flips.p_value(0.0));
        tested.extend(p.map(|p| (size, p)));
        found.push(CompletionInfo {
            size_text: (*label).to_owned(),
            with_a: times(&arms[0], size),
            with_b: times(&arms[1], size),
            median_change_pct: mean(&differences).ok().map(percent),
            p_holm: None,
        });
    }
    let p_values: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
    for ((size, _), p) in tested.iter().zip(holm(&p_values)) {
        found[*size].p_holm = Some(p);
    }
    found
}

fn median_difference([first, second]: &[&Block; 2], size: usize) -> Option<f64> {
    let (one, two) = (first.completions.log_median(size)?, second.completions.log_median(size)?);
    Some(difference(one, two, first.is_treated))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::tests::blocks;

    /// Bucket 40 is 2^20 to 1.5 * 2^20 us, bucket 42 twice of it.
    fn completions(bucket: usize, connections: u64) -> Completions {
        let mut times = vec![0; bucket + 1];
        times[bucket] = connections;
        Completions { by_size: vec![Vec::new(), times] }
    }

    #[test]
    fn an_arm_that_takes_twice_as_long_is_shown_with_its_size() {
        let mut blocks = blocks(8, 0.0, 0);
        for block in &mut blocks {
            block.completions = completions(if block.is_treated { 42 } else { 40 }, 20);
        }
        let pairs: Vec<[&Block; 2]> = blocks.chunks(2).map(|pair| [&pair[0], &pair[1]]).collect();
        let found = completion_times(&pairs, 1);
        let median_ms = (1.0 + 0.25) * f64::from(1 << 20) / 1000.0;
        assert_eq!((found[1].with_a.completed, found[1].with_b.completed), (160, 160));
        assert!((found[1].with_a.median_ms.unwrap() - median_ms).abs() < 1e-6);
        assert!((found[1].with_b.median_ms.unwrap() - 2.0 * median_ms).abs() < 1e-6);
        assert!((found[1].median_change_pct.unwrap() - 100.0).abs() < 1e-6);
        assert!((found[1].p_holm.unwrap() - 2.0 / 256.0).abs() < 1e-9, "8 pairs of one sign, and one size was tested");
        assert_eq!((found[0].with_a.completed, found[0].with_a.median_ms, found[0].p_holm), (0, None, None));
    }

    #[test]
    fn few_connections_have_quantiles_but_no_test() {
        let mut blocks = blocks(8, 0.0, 0);
        for block in &mut blocks {
            block.completions = completions(40, LEAST_CONNECTIONS - 1);
        }
        let pairs: Vec<[&Block; 2]> = blocks.chunks(2).map(|pair| [&pair[0], &pair[1]]).collect();
        let found = &completion_times(&pairs, 1)[1];
        assert!(found.with_a.p99_ms.is_some() && found.median_change_pct.is_none() && found.p_holm.is_none());
    }

    #[test]
    fn what_came_since_is_a_difference_and_a_new_beginning_is_seen() {
        let (mut later, before) = (completions(40, 3), completions(42, 2));
        later.add(&before);
        assert_eq!(later.since(&before).map(|since| since.connections(1)), Some(3));
        assert_eq!(before.since(&later).map(|since| since.connections(1)), None);
        assert_eq!(before.since(&Completions::default()), Some(before));
    }
}
