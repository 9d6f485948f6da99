// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crate's answer to the input of a case, in the shape in which the oracle's is written.

use std::time::Duration;

use ccctl_inference::clusters::{self, Cluster, Flows, Ratio};
use ccctl_inference::cross_checks::{self, Comparison};
use ccctl_inference::flips::SignFlips;
use ccctl_inference::gates::Gate;
use ccctl_inference::guard_rail::{GuardRail, Worse};
use ccctl_inference::histogram::Histogram;
use ccctl_inference::pairs::{self, Totals};
use ccctl_inference::planning::{self, Demand};
use ccctl_inference::schedule::{Arm, Schedule};
use ccctl_inference::sequential::{log_e, ConfidenceSequence};
use ccctl_inference::split::{Estimate, HoldOut, HoldOutPair};
use ccctl_inference::{cuped as adjusting, distributions, hourly, multiplicity as multiple};
use serde_json::{json, Value};

fn number(input: &Value, key: &str) -> f64 {
    input[key].as_f64().unwrap_or_else(|| panic!("{key}: no number"))
}

fn whole(input: &Value, key: &str) -> u64 {
    input[key].as_u64().unwrap_or_else(|| panic!("{key}: no whole number"))
}

fn numbers_of(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|value| value.as_f64().expect("a number")).collect()
}

fn numbers(input: &Value, key: &str) -> Vec<f64> {
    numbers_of(&input[key])
}

fn rows(input: &Value, key: &str) -> Vec<Vec<f64>> {
    input[key].as_array().expect("an array").iter().map(numbers_of).collect()
}

pub fn schedule(input: &Value) -> Value {
    let text = |key: &str| input[key].as_str().expect("a text");
    let (block, burn_in) = (Duration::from_secs(600), Duration::from_secs(60));
    let schedule = Schedule::new(text("seed").as_bytes(), text("name"), text("cluster"), block, burn_in).unwrap();
    let coins: Vec<(u64, u8)> =
        (0..40).chain([2_964_000, 1 << 40]).map(|pair| (pair, u8::from(schedule.first_is_treated(pair)))).collect();
    json!({ "coins": coins })
}

pub fn quantiles(input: &Value) -> Value {
    let share = number(input, "share");
    let t: Vec<f64> = numbers(input, "freedoms").iter().map(|f| distributions::t_quantile(share, *f)).collect();
    json!({ "normal": distributions::normal_quantile(share), "t": t })
}

pub fn tails(input: &Value) -> Value {
    let value = number(input, "value");
    let each = |tail: fn(f64, f64) -> f64| -> Vec<f64> {
        numbers(input, "freedoms").iter().map(|freedom| tail(value, *freedom)).collect()
    };
    json!({
        "normal": distributions::normal_two_sided_p(value),
        "t": each(distributions::t_two_sided_p),
        "chi_square": each(distributions::chi_square_p),
    })
}

pub fn estimates(input: &Value) -> Value {
    let d = numbers(input, "d");
    json!({
        "mean": pairs::mean(&d).unwrap(),
        "deviation": pairs::deviation(&d).unwrap(),
        "hodges_lehmann": pairs::hodges_lehmann(&d).unwrap(),
        "percent": pairs::percent(pairs::mean(&d).unwrap()),
    })
}

pub fn flips(input: &Value) -> Value {
    let flips = SignFlips::new(&numbers(input, "d"), whole(input, "seed")).unwrap();
    let p: Vec<f64> = numbers(input, "effects").iter().map(|effect| flips.p_value(*effect)).collect();
    let interval = flips.interval(number(input, "alpha")).unwrap();
    json!({ "p": p, "lower": interval.lower, "upper": interval.upper })
}

pub fn sequence(input: &Value) -> Value {
    let (d, sigma) = (numbers(input, "d"), number(input, "sigma"));
    let mut sequence = ConfidenceSequence::new(sigma).unwrap();
    for difference in &d {
        sequence.push(*difference).unwrap();
    }
    let interval = sequence.interval(number(input, "alpha")).unwrap();
    let logs: Vec<f64> = numbers(input, "effects").iter().map(|effect| log_e(&d, *effect, sigma)).collect();
    json!({ "log_e": logs, "p": sequence.p_value(), "lower": interval.lower, "upper": interval.upper })
}

pub fn guard_rail(input: &Value) -> Value {
    let rail = |worse: Worse, sign: f64| {
        let mut rail = GuardRail::new(worse, number(input, "margin"), number(input, "sigma"), 0.01).unwrap();
        for difference in numbers(input, "d") {
            rail.push(sign * difference).unwrap();
        }
        rail
    };
    let (higher, lower) = (rail(Worse::Higher, 1.0), rail(Worse::Lower, -1.0));
    assert_eq!(higher.finding(), lower.finding());
    json!({ "p_harmful": higher.p_harmful(), "p_harmless": higher.p_harmless() })
}

fn comparison(found: Comparison) -> Value {
    json!({ "p": found.p, "lower": found.interval.lower, "upper": found.interval.upper })
}

pub fn t_test(input: &Value) -> Value {
    comparison(cross_checks::t_test(&numbers(input, "d"), number(input, "alpha")).unwrap())
}

pub fn z_test(input: &Value) -> Value {
    comparison(cross_checks::z_test(&numbers(input, "d"), number(input, "alpha")).unwrap())
}

pub fn asymptotic(input: &Value) -> Value {
    let (d, alpha) = (numbers(input, "d"), number(input, "alpha"));
    let rho = cross_checks::asymptotic_rho(alpha, number(input, "pairs")).unwrap();
    let interval = cross_checks::asymptotic_sequence(&d, alpha, rho).unwrap();
    json!({ "rho": rho, "lower": interval.lower, "upper": interval.upper })
}

pub fn symmetric_bound(input: &Value) -> Value {
    let (d, alpha, rho) = (numbers(input, "d"), number(input, "alpha"), number(input, "rho"));
    let bound = cross_checks::symmetric_bound(d.iter().map(|x| x * x).sum(), alpha, rho).unwrap();
    let holds = cross_checks::symmetric_bound_holds(&d, 0.0, alpha, rho).unwrap();
    assert_eq!(holds, d.iter().sum::<f64>().abs() <= bound);
    json!({ "bound": bound })
}

pub fn mixture(input: &Value) -> Value {
    let (d, sigma, nu) = (numbers(input, "d"), number(input, "sigma"), number(input, "nu"));
    json!({
        "log_ratio": cross_checks::log_mixture_ratio(&d, sigma, nu).unwrap(),
        "p": cross_checks::mixture_p(&d, sigma, nu).unwrap(),
    })
}

pub fn plan(input: &Value) -> Value {
    let demand = Demand { power: number(input, "power"), ..Demand::default() };
    let ratio = number(input, "ratio");
    json!({
        "pairs": demand.pairs(ratio, 1.0).unwrap(),
        "anytime": Demand { anytime: true, ..demand }.pairs(ratio, 1.0).unwrap(),
        "effect_of_72": demand.detectable_effect(72.0, 1.0).unwrap(),
        "power_of_20": planning::power_at_end(20, ratio, demand.alpha).unwrap(),
    })
}

pub fn plan_few(input: &Value) -> Value {
    let demand = Demand { power: number(input, "power"), ..Demand::default() };
    json!({ "pairs": demand.pairs(number(input, "ratio"), 1.0).unwrap() })
}

pub fn sigma(input: &Value) -> Value {
    json!({ "sigma": planning::sigma(&numbers(input, "y")).unwrap() })
}

pub fn redraw(input: &Value) -> Value {
    let sequences = whole(input, "sequences") as usize;
    let redrawn =
        planning::redraw(&numbers(input, "y"), sequences, number(input, "alpha"), whole(input, "seed")).unwrap();
    json!({ "rejected": redrawn.rejected })
}

pub fn lengths(input: &Value) -> Value {
    let totals = |row: Vec<f64>| Totals { numerator: row[0], denominator: row[1] };
    let series: Vec<Totals> = rows(input, "minutes").into_iter().map(totals).collect();
    let past = planning::Past { series: &series, step: Duration::from_secs(60), constant: 0.0 };
    let steps: Vec<usize> = numbers(input, "steps").iter().map(|steps| *steps as usize).collect();
    let lengths = past.lengths(&steps, whole(input, "burn_in") as usize, Demand::default()).unwrap();
    json!({ "sigmas": lengths.iter().map(|length| length.sigma).collect::<Vec<_>>() })
}

pub fn sample_ratio(input: &Value) -> Value {
    match Gate::sample_ratio(&numbers(input, "opened"), &numbers(input, "weights")).unwrap() {
        Gate::SampleRatio { chi_square, p, .. } => json!({ "chi_square": chi_square, "p": p }),
        other => panic!("another gate: {other}"),
    }
}

pub fn cuped(input: &Value) -> Value {
    let adjusted = adjusting::adjust(&numbers(input, "d"), &numbers(input, "x")).unwrap();
    json!({ "theta": adjusted.theta, "explained": adjusted.explained, "differences": adjusted.differences })
}

/// Sums per cluster out of rows of cluster, arm, value.
fn clusters_of(input: &Value) -> Vec<Cluster> {
    let rows = rows(input, "rows");
    let count = 1 + rows.iter().map(|row| row[0] as usize).max().expect("rows");
    let mut clusters = vec![Cluster::default(); count];
    for row in rows {
        let cluster = &mut clusters[row[0] as usize];
        let flows = if row[1] > 0.0 { &mut cluster.treated } else { &mut cluster.control };
        flows.count += 1.0;
        flows.sum += row[2];
    }
    clusters
}

pub fn cr2(input: &Value) -> Value {
    let effect = clusters::cr2(&clusters_of(input)).unwrap();
    json!({ "difference": effect.difference, "error": effect.error, "freedom": effect.freedom })
}

pub fn wild(input: &Value) -> Value {
    let draws = whole(input, "draws") as usize;
    json!({ "p": clusters::wild_bootstrap_p(&clusters_of(input), draws, whole(input, "seed")).unwrap() })
}

pub fn intraclass(input: &Value) -> Value {
    let mut groups = vec![Vec::new(); clusters_of(input).len()];
    for row in rows(input, "rows") {
        groups[row[0] as usize].push(row[2]);
    }
    json!({ "correlation": clusters::intraclass_correlation(&groups).unwrap() })
}

pub fn ratio(input: &Value) -> Value {
    let arm = |key| -> Ratio {
        let flows: Vec<Flows> = rows(input, key).iter().map(|row| Flows { sum: row[0], count: row[1] }).collect();
        Ratio::of(&flows).unwrap()
    };
    let (own, other) = (arm("own"), arm("other"));
    let (difference, error) = own.log_difference(&other).unwrap();
    json!({ "ratio": own.ratio, "error": own.error, "log_difference": difference, "log_error": error })
}

pub fn log_ratio(input: &Value) -> Value {
    let rows = rows(input, "rows");
    let mut found = vec![Cluster::default(); 1 + rows.iter().map(|row| row[0] as usize).max().expect("rows")];
    for row in rows {
        let cluster = &mut found[row[0] as usize];
        let flows = if row[1] > 0.0 { &mut cluster.treated } else { &mut cluster.control };
        *flows = Flows { sum: row[2], count: row[3] };
    }
    let effect = clusters::log_ratio(&found).unwrap();
    json!({ "difference": effect.difference, "error": effect.error, "freedom": effect.freedom })
}

pub fn newey_west(input: &Value) -> Value {
    let arm = |treated: &f64| if *treated > 0.0 { Arm::Treated } else { Arm::Control };
    let arms: Vec<Arm> = numbers(input, "treated").iter().map(arm).collect();
    let effect = hourly::newey_west(&numbers(input, "y"), &arms, whole(input, "lags") as usize).unwrap();
    json!({ "difference": effect.difference, "error": effect.error })
}

pub fn autocorrelation(input: &Value) -> Value {
    json!({ "phi": hourly::autocorrelation(&numbers(input, "y")).unwrap() })
}

pub fn multiplicity(input: &Value) -> Value {
    let p = numbers(input, "p");
    json!({ "holm": multiple::holm(&p), "benjamini_hochberg": multiple::benjamini_hochberg(&p) })
}

pub fn histogram(input: &Value) -> Value {
    let bounds = numbers(input, "bounds");
    let one =
        |counts: Vec<f64>| Histogram::new(bounds.clone(), counts.iter().map(|count| *count as u64).collect()).unwrap();
    let mut all = one(vec![0.0; bounds.len()]);
    for counts in rows(input, "counts") {
        all.merge(&one(counts)).unwrap();
    }
    let quantiles: Vec<f64> = numbers(input, "shares").iter().map(|share| all.quantile(*share).unwrap()).collect();
    json!({ "quantiles": quantiles })
}

pub fn hold_out(input: &Value) -> Value {
    let pair = |row: &Vec<f64>| HoldOutPair {
        treated_of_many: row[0],
        rest_of_many: row[1],
        treated_of_few: row[2],
        rest_of_few: row[3],
    };
    let pairs: Vec<HoldOutPair> = rows(input, "rows").iter().map(pair).collect();
    let found = HoldOut::of(&pairs, number(input, "alpha")).unwrap();
    let three = |estimate: Estimate| [estimate.value, estimate.interval.lower, estimate.interval.upper];
    json!({
        "split_effect_of_many": three(found.split_effect_of_many),
        "split_effect_of_few": three(found.split_effect_of_few),
        "total_effect": three(found.total_effect),
        "spill_over": three(found.spill_over),
        "bias_of_few": three(found.bias_of_few),
        "interference": three(found.interference),
    })
}
