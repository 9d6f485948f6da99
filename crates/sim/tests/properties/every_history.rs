// SPDX-License-Identifier: GPL-2.0-only
//! Random histories of algorithms of the catalogue.

use ccctl_catalog::Algorithm;
use ccctl_sim::checks::{broken, History};
use proptest::test_runner::TestCaseResult;

/// Runs `property` on random histories of every algorithm in the catalogue.
pub fn for_every_algorithm(cases: u32, property: impl Fn(&History) -> TestCaseResult) {
    for algorithm in ccctl_catalog::algorithms() {
        for_algorithm(algorithm, cases, &property);
    }
}

/// Other histories in every run.
pub fn for_algorithm(algorithm: &'static Algorithm, cases: u32, property: impl Fn(&History) -> TestCaseResult) {
    if let Some(broken) = broken(algorithm, cases, None, property) {
        panic!("{}: {broken}", algorithm.name());
    }
}
