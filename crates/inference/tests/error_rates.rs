// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated experiments: no more false findings than promised, and the effects that a plan promises are found. The
//! long form is `cargo run --release -p ccctl-inference --example error-rates`.

mod simulation;

use ccctl_inference::planning::Demand;
use ccctl_inference::Refusal;
use simulation::{false_findings, power, Service, ALPHA, GUARD_ALPHA};

const EXPERIMENTS: usize = 10_000;
const SEED: u64 = 26;

fn check_false_findings(service: Service) -> Result<(), Refusal> {
    let found = false_findings(service, EXPERIMENTS, 12, 24, SEED)?;
    assert!((found.at_end - ALPHA).abs() <= 0.01, "{found:?}");
    assert!(found.ever <= ALPHA, "{found:?}");
    assert!(found.guard_ever <= GUARD_ALPHA, "{found:?}");
    // The data are of the kind that misleads: looked at again and again, the z-test is wrong far more often.
    assert!(found.z_ever > 2.0 * ALPHA, "{found:?}");
    Ok(())
}

#[test]
fn equal_arms_differ_no_more_often_than_promised() -> Result<(), Refusal> {
    check_false_findings(Service::SMOOTH)
}

#[test]
fn equal_arms_with_bursts_differ_no_more_often_than_promised() -> Result<(), Refusal> {
    check_false_findings(Service::BURSTY)
}

#[test]
fn planned_effects_are_found_as_often_as_planned() -> Result<(), Refusal> {
    // Pairs by hand: 7.849 / ratio^2 + 2. At 1.5 six have cdf(1.5)^6 = 66 % and a seventh is needed; at 1.85 they have
    // 82 %.
    for (ratio, pairs) in [(1.0, 10), (0.85, 13), (1.5, 7), (1.85, 6)] {
        let power = power(Service::SMOOTH, 2_000, ratio, Demand::default(), SEED)?;
        assert_eq!(power.pairs, pairs);
        assert!((power.found - power.planned).abs() <= 0.05, "{ratio}: {power:?}");
        assert!(power.planned >= 0.8 && power.found >= 0.75, "{ratio}: {power:?}");
    }
    Ok(())
}

#[test]
fn effects_are_found_at_any_time_at_least_as_often_as_planned() -> Result<(), Refusal> {
    let demand = Demand { anytime: true, ..Demand::default() };
    let power = power(Service::SMOOTH, 2_000, 1.0, demand, SEED)?;
    assert_eq!(power.pairs, 26);
    assert!(power.found >= 0.8, "{power:?}");
    Ok(())
}
