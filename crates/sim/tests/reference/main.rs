// SPDX-License-Identifier: GPL-2.0-only
//! A second implementation of the algorithms for which there is no kernel module to compare with: from the formulas of papers
//! and RFCs, in floating point, written without a look at the C files. It is given the calls that the C code's hooks got,
//! recorded in the simulator, and must come to the same windows. Where the two disagreed the paper's text decided;
//! `docs/internals/second-implementations.md` tells of it.

#![allow(clippy::unwrap_used)] // all of this is a test
#![allow(clippy::float_cmp)] // whole numbers, and zero
#![allow(clippy::doc_markdown)] // formulas

mod africa;
mod bbr3;
mod bic;
mod cases;
mod compound;
mod cubic;
mod fast;
mod file;
mod highspeed;
mod highspeed_lp;
mod htcp;
mod libra;
mod page;
mod reno;
mod replay;
mod rounds;
mod runs;
mod scalable;
mod search;
mod tcp;
mod yeah;

use std::sync::{Arc, OnceLock};

use ccctl_sim::{Call, Instance};

use cases::{Subject, SUBJECTS};
use replay::{replay, Outcome, Tolerance};
use tcp::Values;

fn replayed(algorithm: &str, values: &Values, calls: &[Call], tolerance: Tolerance) -> Outcome {
    match algorithm {
        "africa" => replay(calls, africa::Africa::new(values), tolerance),
        "bbr3" => replay(calls, bbr3::Bbr3::new(values), tolerance),
        "bic" => replay(calls, bic::Bic::new(values), tolerance),
        "compound" => replay(calls, compound::Compound::new(values), tolerance),
        "cubic" => replay(calls, cubic::Cubic::new(values), tolerance),
        "fast" => replay(calls, fast::Fast::new(values), tolerance),
        "highspeed" => replay(calls, highspeed::HighSpeed::new(values), tolerance),
        "highspeed_lp" => replay(calls, highspeed_lp::HighSpeedLp::new(values), tolerance),
        "htcp" => replay(calls, htcp::Htcp::new(values), tolerance),
        "libra" => replay(calls, libra::Libra::new(values), tolerance),
        "reno" => replay(calls, reno::Reno::new(values), tolerance),
        "scalable" => replay(calls, scalable::Scalable::new(values), tolerance),
        "yeah" => replay(calls, yeah::Yeah::new(values), tolerance),
        _ => panic!("there is no second implementation of {algorithm}"),
    }
}

/// What a subject's runs have shown.
struct Findings {
    outcome: Outcome,
    /// Of each planted error: after how many calls it was found.
    planted: Vec<Option<usize>>,
}

impl Subject {
    /// Made once, for the test and for the page.
    fn findings(&self) -> &'static Findings {
        static FINDINGS: [OnceLock<Findings>; SUBJECTS.len()] = [const { OnceLock::new() }; SUBJECTS.len()];
        let index = SUBJECTS.iter().position(|it| it.algorithm == self.algorithm).unwrap();
        FINDINGS[index].get_or_init(|| self.find())
    }

    fn find(&self) -> Findings {
        let mut runs = runs::weather();
        runs.extend(runs::more_for(self.algorithm));
        let mut findings = Findings { outcome: Outcome::default(), planted: vec![None; self.planted.len()] };
        for (number, variant) in self.variants.iter().enumerate() {
            let parameters = variant.parameters(self.algorithm);
            let instance = Arc::new(Instance::new(self.algorithm, &parameters).unwrap());
            let values = Values::of(&parameters);
            for (seed, run) in runs.iter().enumerate() {
                let calls = run.calls(&instance, seed as u64);
                let outcome = replayed(self.algorithm, &values, &calls, self.tolerance);
                findings.outcome.add(&outcome, &format!("{}, run {seed}", variant.name()));
                self.plant(number, &values, &calls, &mut findings);
            }
        }
        findings
    }

    fn plant(&self, variant: usize, values: &Values, calls: &[Call], findings: &mut Findings) {
        for ((of_variant, parameter, value), found) in self.planted.iter().zip(&mut findings.planted) {
            if *of_variant == variant && found.is_none() {
                let wrong = values.with(parameter, *value);
                *found = replayed(self.algorithm, &wrong, calls, self.tolerance).first_call;
            }
        }
    }

    fn check(&self) {
        let findings = self.findings();
        let outcome = &findings.outcome;
        assert!(outcome.calls >= 20_000, "{} calls", outcome.calls);
        assert_eq!(outcome.disagreements, 0, "{}", outcome.first.as_deref().unwrap_or_default());
        for (branch, least) in self.branches {
            let count = outcome.branches.get(branch).copied().unwrap_or_default();
            assert!(count >= *least, "{branch}: {count} times, {:?}", outcome.branches);
        }
        for ((_, parameter, value), found) in self.planted.iter().zip(&findings.planted) {
            assert!(found.is_some(), "{parameter} = {value} is not noticed");
        }
        assert!(outcome.edges * 10_000 < outcome.calls, "{} decisions were too close to call", outcome.edges);
    }
}

fn check(algorithm: &str) {
    SUBJECTS.iter().find(|it| it.algorithm == algorithm).unwrap().check();
}

#[test]
fn compound_agrees() {
    check("compound");
}

#[test]
fn fast_agrees() {
    check("fast");
}

#[test]
fn africa_agrees() {
    check("africa");
}

#[test]
fn libra_agrees() {
    check("libra");
}

#[test]
fn highspeed_lp_agrees() {
    check("highspeed_lp");
}

#[test]
fn yeah_agrees() {
    check("yeah");
}

#[test]
fn htcp_agrees() {
    check("htcp");
}

#[test]
fn bbr3_agrees() {
    check("bbr3");
}

#[test]
fn bic_agrees() {
    check("bic");
}

#[test]
fn cubic_agrees() {
    check("cubic");
}

#[test]
fn scalable_agrees() {
    check("scalable");
}

#[test]
fn highspeed_agrees() {
    check("highspeed");
}

#[test]
fn reno_agrees() {
    check("reno");
}
