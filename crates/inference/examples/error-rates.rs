// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo run --release -p ccctl-inference --example error-rates [EXPERIMENTS]`: error rates and power over simulated
//! experiments (10,000 unless given), compared with what is promised. Exits with 1 if a promise is broken.

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use std::process::ExitCode;

use ccctl_inference::planning::Demand;
use ccctl_inference::Refusal;
use simulation::{false_findings, power, Service, ALPHA, GUARD_ALPHA};

const SEED: u64 = 1;
const PAIRS_AT_END: [usize; 2] = [12, 20];
const LOOKS: usize = 60;
/// Effects in standard deviations. The last needs more pairs than are looked at exhaustively, which takes long.
const RATIOS: [(f64, usize); 5] = [(1.85, 1), (1.5, 1), (1.0, 1), (0.75, 1), (0.5, 10)];

fn main() -> ExitCode {
    let experiments = match std::env::args().nth(1).map(|text| text.parse()) {
        None => 10_000,
        Some(Ok(count)) if count > 0 => count,
        _ => {
            eprintln!("error-rates: the number of experiments must be at least 1");
            return ExitCode::from(2);
        }
    };
    match report(experiments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(refusal) => {
            eprintln!("error-rates: {refusal}");
            ExitCode::FAILURE
        }
    }
}

fn report(experiments: usize) -> Result<bool, Refusal> {
    let mut kept = true;
    println!("{experiments} experiments each; seed {SEED}");
    for (name, service) in [("smooth", Service::SMOOTH), ("bursts", Service::BURSTY)] {
        for pairs in PAIRS_AT_END {
            let found = false_findings(service, experiments, pairs, LOOKS, SEED)?;
            println!("{name}: equal arms");
            kept &= line(&format!("  sign flips after {pairs} pairs"), found.at_end, 0.04, 0.06);
            kept &= line(&format!("  sequence, ever in {LOOKS} pairs"), found.ever, 0.0, ALPHA);
            kept &= line(&format!("  guard-rail at its margin, ever in {LOOKS}"), found.guard_ever, 0.0, GUARD_ALPHA);
            println!("  {:<44} {:6.2} %", format!("z-test, ever in {LOOKS} pairs"), found.z_ever * 100.0);
        }
    }
    for (ratio, divisor) in RATIOS {
        for (name, service) in [("smooth", Service::SMOOTH), ("bursts", Service::BURSTY)] {
            let power = power(service, experiments.div_ceil(divisor), ratio, Demand::default(), SEED)?;
            let label = format!("{name}: effect of {ratio} sigma, {} pairs", power.pairs);
            // The plan is for nearly normal differences; bursts inflate sigma, and the test does better than planned.
            let most = if name == "smooth" { power.planned + 0.05 } else { 1.0 };
            kept &= line(&label, power.found, power.planned - 0.05, most);
        }
    }
    for ratio in [1.0, 0.5] {
        let demand = Demand { anytime: true, ..Demand::default() };
        let power = power(Service::SMOOTH, experiments, ratio, demand, SEED)?;
        let label = format!("any time: effect of {ratio} sigma, {} pairs", power.pairs);
        kept &= line(&label, power.found, 0.8, 1.0);
    }
    Ok(kept)
}

fn line(label: &str, share: f64, least: f64, most: f64) -> bool {
    let kept = (least..=most).contains(&share);
    let word = if kept { "ok" } else { "OUT OF BOUNDS" };
    println!("{label:<46} {:6.2} %  {:.0} to {:.0}  {word}", share * 100.0, least * 100.0, most * 100.0);
    kept
}
