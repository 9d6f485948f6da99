// SPDX-License-Identifier: GPL-2.0-only
//! Runs that their backend calls invalid: tried again, told with their reasons, and in no measure.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ccctl_lab::backend::{Backend, BackendError, Outcome, Sim, Watch};
use ccctl_lab::experiment::PointSpec;
use ccctl_lab::run::{run, summary_schema, Options, Report, RunError};
use ccctl_lab::scenario::Scenario;

use crate::running::TEN_RUNS;
use crate::scenario;
use crate::scratch::Scratch;

/// A simulator whose first runs are invalid.
struct Flaky {
    invalid: AtomicUsize, // runs from now on
    bound: &'static str,
}

impl Flaky {
    fn new(invalid: usize) -> Self {
        Self { invalid: AtomicUsize::new(invalid), bound: "1ms" }
    }
}

impl Backend for Flaky {
    fn name(&self) -> &'static str {
        "flaky"
    }

    fn is_deterministic(&self) -> bool {
        false
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("bound".to_owned(), self.bound.to_owned())])
    }

    fn check(&self, setup: &PointSpec) -> Result<(), BackendError> {
        Sim.check(setup)
    }

    fn run(&self, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
        let left = self.invalid.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match left {
            Ok(_) => Err(BackendError::Invalid { reasons: vec!["too late".to_owned(), "too slow".to_owned()] }),
            Err(_) => Sim.run(setup, seed, watch),
        }
    }
}

fn run_all(scenario: &Scenario, backend: &Flaky, out: &Path, retries: u32) -> Result<Report, RunError> {
    let options = Options { out: out.to_owned(), jobs: 1, shard: None, series: false, retries, commit: None };
    run(scenario, backend, &options, &|_| (), &AtomicBool::new(false))
}

#[test]
fn invalid_runs_are_tried_again_and_are_no_results() {
    let (scratch, scenario) = (Scratch::new("invalid"), scenario(TEN_RUNS).unwrap());
    let out = scratch.path("out");
    // Three tries of the first run, three of the second, two of the third.
    let report = run_all(&scenario, &Flaky::new(8), &out, 2).unwrap();
    assert_eq!((report.ran, report.kept, report.invalid, report.cancelled), (8, 0, 2, false));
    let invalid = &report.summary.invalid;
    assert_eq!(
        invalid.iter().map(|run| (run.point, run.repeat, run.tries)).collect::<Vec<_>>(),
        [(1, 1, 3), (2, 1, 3)]
    );
    assert_eq!(invalid[0].reasons, ["too late", "too slow"]);
    assert_eq!(invalid[1].place["buffer"], "1 BDP");
    assert_eq!(
        (report.summary.runs_done, report.summary.points[0].repeats, report.summary.points[2].repeats),
        (8, 1, 2)
    );
    let json = serde_json::to_value(&report.summary).unwrap();
    assert!(jsonschema::validator_for(&summary_schema()).unwrap().is_valid(&json));

    // The same again tries these two, and one comes to a result.
    let report = run_all(&scenario, &Flaky::new(1), &out, 0).unwrap();
    assert_eq!((report.ran, report.kept, report.invalid), (1, 8, 1));
    assert_eq!(report.summary.invalid.iter().map(|run| (run.point, run.tries)).collect::<Vec<_>>(), [(1, 1)]);
    let report = run_all(&scenario, &Flaky::new(0), &out, 0).unwrap();
    assert_eq!((report.ran, report.invalid, report.summary.invalid.len()), (1, 0, 0));
}

#[test]
fn runs_with_other_settings_are_another_experiment() {
    let (scratch, scenario) = (Scratch::new("settings"), scenario(TEN_RUNS).unwrap());
    let out = scratch.path("out");
    run_all(&scenario, &Flaky::new(0), &out, 0).unwrap();
    let other = Flaky { bound: "2ms", ..Flaky::new(0) };
    assert!(matches!(run_all(&scenario, &other, &out, 0), Err(RunError::Foreign { .. })));
}

/// The simulator, in which a window is seen that no algorithm gives.
struct Garbled {
    cwnd_pkts: u32,
}

impl Backend for Garbled {
    fn name(&self) -> &'static str {
        "garbled"
    }

    fn is_deterministic(&self) -> bool {
        false
    }

    fn check(&self, setup: &PointSpec) -> Result<(), BackendError> {
        Sim.check(setup)
    }

    fn run(&self, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
        let mut outcome = Sim.run(setup, seed, watch)?;
        let middle = outcome.times.len() / 2;
        outcome.flows[0].samples[middle].cwnd_pkts = self.cwnd_pkts;
        Ok(outcome)
    }
}

/// Whichever backend it comes from, and in one sample of hundreds: 135,332,890 packets were seen where `ssthresh` was not called.
#[test]
fn a_run_with_an_impossible_window_is_invalid() {
    let (scratch, scenario) = (Scratch::new("garbled"), scenario(TEN_RUNS).unwrap());
    for (cwnd_pkts, is_valid) in [(1 << 20, true), ((1 << 20) + 1, false), (135_332_890, false)] {
        let out = scratch.path(&format!("out-{cwnd_pkts}"));
        let options = Options { out, jobs: 1, shard: None, series: false, retries: 0, commit: None };
        let report = run(&scenario, &Garbled { cwnd_pkts }, &options, &|_| (), &AtomicBool::new(false)).unwrap();
        if is_valid {
            assert_eq!((report.ran, report.invalid), (10, 0));
            continue;
        }
        assert_eq!((report.ran, report.invalid), (0, 10), "{cwnd_pkts}");
        let reasons = &report.summary.invalid[0].reasons;
        assert!(reasons[0].contains(&format!("flow 0 had a window of {cwnd_pkts} packets")), "{reasons:?}");
        assert!(report.summary.points.iter().all(|point| point.measures.is_empty()), "in no measure");
    }
}
