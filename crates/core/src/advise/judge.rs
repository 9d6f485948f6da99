// SPDX-License-Identifier: MIT OR Apache-2.0
//! Candidates in the plausible paths: which is ahead, by how much, and what that costs others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::Performance;

/// Below this a difference is none, whatever its error is.
const LEAST_CHANGE: f64 = 0.03;
/// Of the standard errors of two means together.
const ERRORS: f64 = 2.0;

/// A range over the plausible paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathRange {
    /// Smallest value.
    pub least: f64,
    /// Mean, by how plausible the paths are.
    pub mean: f64,
    /// Largest value.
    pub most: f64,
}

/// How a candidate compares with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// More goodput in every plausible path, beyond the error of the simulations and 3 %.
    Ahead,
    /// Less in every one.
    Behind,
    /// Neither is shown.
    Open,
}

/// A candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// Algorithm, as `ccctl algorithms` lists it.
    pub algorithm: String,
    /// Is it what runs now?
    pub is_present: bool,
    /// Goodput of a connection, bytes/s.
    pub goodput_range: PathRange,
    /// Its change from the present algorithm, %.
    pub change_range_pct: PathRange,
    /// What a test that gives it to half of the connections would say: goodput of this half over that of the other half, %; null:
    /// there is only one connection.
    #[serde(default)]
    pub split_range_pct: Option<PathRange>,
    /// Mean smoothed RTT, us.
    pub srtt_range: PathRange,
    /// Retransmitted segments, %.
    pub retransmit_range_pct: PathRange,
    /// Change of a neighbour's goodput, which keeps the present algorithm, %: what others lose or gain.
    pub neighbour_range_pct: PathRange,
    /// Compared with the present algorithm.
    pub compared: Comparison,
    /// Another candidate is better in goodput, RTT and retransmissions.
    pub dominated_by: Option<String>,
}

/// The candidates, most goodput first; `found` has a row for each path, which counts by its weight (the weights add up to 1), and
/// `present` is the column of the present algorithm.
#[must_use]
pub fn judge(algorithms: &[String], found: &[Vec<Performance>], weights: &[f64], present: usize) -> Vec<Candidate> {
    let all = || algorithms.iter().enumerate();
    let mut candidates: Vec<Candidate> = all()
        .map(|(column, algorithm)| {
            let over = |of: &dyn Fn(&[Performance]) -> f64| range(found.iter().map(|path| of(path)), weights);
            let better = |other: &(usize, &String)| is_dominated(found, column, other.0);
            Candidate {
                algorithm: algorithm.clone(),
                is_present: column == present,
                goodput_range: over(&|path| path[column].goodput_bytes_per_s),
                change_range_pct: over(&|path| {
                    change(path[column].goodput_bytes_per_s, path[present].goodput_bytes_per_s)
                }),
                split_range_pct: found.iter().all(|path| path[column].split_bytes_per_s.is_some()).then(|| {
                    over(&|path| path[column].split_bytes_per_s.map_or(0.0, |[with, without]| change(with, without)))
                }),
                srtt_range: over(&|path| path[column].srtt_mean_us),
                retransmit_range_pct: over(&|path| path[column].retransmit_pct),
                neighbour_range_pct: over(&|path| {
                    let [own, before] = [column, present].map(|it| path[it].neighbour_bytes_per_s.unwrap_or(0.0));
                    change(own, before)
                }),
                compared: compare(found, column, present),
                dominated_by: all().find(better).map(|(_, other)| other.clone()),
            }
        })
        .collect();
    candidates.sort_by(|a, b| b.goodput_range.mean.total_cmp(&a.goodput_range.mean));
    candidates
}

fn range(values: impl Iterator<Item = f64>, weights: &[f64]) -> PathRange {
    let values: Vec<f64> = values.collect();
    let fold = |of: fn(f64, f64) -> f64| values.iter().copied().reduce(of).unwrap_or(0.0);
    let mean = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    PathRange { least: fold(f64::min), mean, most: fold(f64::max) }
}

fn change(to: f64, from: f64) -> f64 {
    if from > 0.0 {
        (to / from - 1.0) * 100.0
    } else {
        0.0
    }
}

/// In one path.
fn in_path(one: &Performance, other: &Performance) -> Comparison {
    let difference = one.goodput_bytes_per_s - other.goodput_bytes_per_s;
    let error = one.goodput_error_bytes_per_s.hypot(other.goodput_error_bytes_per_s) * ERRORS;
    let least = error.max(other.goodput_bytes_per_s * LEAST_CHANGE);
    match difference {
        ahead if ahead > least => Comparison::Ahead,
        behind if behind < -least => Comparison::Behind,
        _ => Comparison::Open,
    }
}

fn compare(found: &[Vec<Performance>], one: usize, other: usize) -> Comparison {
    let mut all = found.iter().map(|path| in_path(&path[one], &path[other]));
    match all.next() {
        Some(first) if all.all(|next| next == first) => first,
        _ => Comparison::Open,
    }
}

fn is_dominated(found: &[Vec<Performance>], one: usize, other: usize) -> bool {
    let is_worse = |path: &Vec<Performance>| {
        let (one, other) = (&path[one], &path[other]);
        in_path(one, other) == Comparison::Behind
            && one.srtt_mean_us >= other.srtt_mean_us
            && one.retransmit_pct >= other.retransmit_pct
    };
    one != other && found.iter().all(is_worse)
}

/// Those to be tried against the present algorithm: at most two that are ahead of it, the first ones.
#[must_use]
pub fn to_try(candidates: &[Candidate]) -> Vec<&Candidate> {
    candidates.iter().filter(|candidate| candidate.compared == Comparison::Ahead).take(2).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn performance(goodput: f64, srtt_ms: f64, retransmit_pct: f64, neighbour: f64) -> Performance {
        Performance {
            goodput_bytes_per_s: goodput,
            goodput_error_bytes_per_s: 1.0,
            srtt_mean_us: srtt_ms * 1e3,
            retransmit_pct,
            neighbour_bytes_per_s: Some(neighbour),
            ..Performance::default()
        }
    }

    fn candidates() -> Vec<Candidate> {
        let algorithms = ["cubic", "reno", "bbr", "vegas"].map(str::to_owned);
        let paths = [
            vec![
                performance(100.0, 44.0, 0.5, 50.0),
                performance(90.0, 44.0, 0.5, 55.0),
                performance(120.0, 41.0, 2.0, 40.0),
                performance(101.0, 40.0, 0.1, 60.0),
            ],
            vec![
                performance(100.0, 45.0, 0.5, 50.0),
                performance(80.0, 46.0, 0.6, 60.0),
                performance(110.0, 42.0, 3.0, 30.0),
                performance(90.0, 40.0, 0.1, 60.0),
            ],
        ];
        judge(&algorithms, &paths, &[0.5, 0.5], 0)
    }

    #[test]
    fn an_algorithm_is_ahead_where_it_is_so_in_every_path() {
        let found = candidates();
        let of = |name: &str| found.iter().find(|candidate| candidate.algorithm == name).unwrap();
        assert_eq!(found.iter().map(|it| it.algorithm.as_str()).collect::<Vec<_>>(), ["bbr", "cubic", "vegas", "reno"]);
        assert_eq!((of("bbr").compared, of("reno").compared), (Comparison::Ahead, Comparison::Behind));
        assert_eq!((of("vegas").compared, of("cubic").compared), (Comparison::Open, Comparison::Open));
        let change = of("bbr").change_range_pct;
        assert!((change.least - 10.0).abs() < 1e-9 && (change.most - 20.0).abs() < 1e-9);
        assert!((of("bbr").neighbour_range_pct.least + 40.0).abs() < 1e-9, "the neighbour has 30 instead of 50");
        assert_eq!(to_try(&found).len(), 1);
        assert_eq!(of("bbr").split_range_pct, None, "there was no split");
    }

    #[test]
    fn a_split_says_what_one_half_takes_from_the_other() {
        let split = |with, without| Performance { split_bytes_per_s: Some([with, without]), ..Performance::default() };
        let found = judge(&["bbr".to_owned()], &[vec![split(150.0, 50.0)], vec![split(120.0, 80.0)]], &[0.5, 0.5], 0);
        let range = found[0].split_range_pct.unwrap();
        assert!((range.least - 50.0).abs() < 1e-9 && (range.most - 200.0).abs() < 1e-9, "{range:?}");
    }

    #[test]
    fn what_is_worse_in_everything_is_dominated() {
        let found = candidates();
        let of = |name: &str| found.iter().find(|candidate| candidate.algorithm == name).unwrap();
        assert!(of("reno").dominated_by.is_some());
        assert_eq!((&of("bbr").dominated_by, &of("vegas").dominated_by), (&None, &None));
    }

    #[test]
    fn a_difference_within_the_error_is_none() {
        let with_error =
            |goodput, error| Performance { goodput_error_bytes_per_s: error, ..performance(goodput, 1.0, 0.0, 0.0) };
        assert_eq!(in_path(&with_error(110.0, 1.0), &with_error(100.0, 1.0)), Comparison::Ahead);
        assert_eq!(in_path(&with_error(110.0, 5.0), &with_error(100.0, 5.0)), Comparison::Open);
        assert_eq!(in_path(&with_error(102.0, 0.0), &with_error(100.0, 0.0)), Comparison::Open, "less than 3 %");
    }
}
