// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the blocks so far say. All statistics are those of `ccctl-inference`; here they meet plans and blocks.

use std::collections::BTreeMap;

use ccctl_inference::flips::SignFlips;
use ccctl_inference::gates::{Gate, Verdict};
use ccctl_inference::guard_rail::{GuardFinding, GuardRail};
use ccctl_inference::pairs::{difference, mean, percent};
use ccctl_inference::planning::Redrawn;
use ccctl_inference::sequential::ConfidenceSequence;
use ccctl_inference::{Interval, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::completion::{completion_times, CompletionInfo};
use super::hold_out::{self, HoldOutInfo};
use super::metric::{Metric, Sums};
use super::plan::{Plan, ALPHA, GUARD_RAIL_ALPHA};
use super::store::Block;

/// From here to there; a limit that is missing excludes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeLimits {
    /// Smallest change that is not excluded, %.
    pub lower_pct: Option<f64>,
    /// Largest one, %.
    pub upper_pct: Option<f64>,
}

/// A metric of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairInfo {
    /// Number of the pair, counted from the epoch.
    pub pair: u64,
    /// Change of the metric from A to B, as a difference of logarithms.
    pub difference: f64,
    /// What may be said after it at any time.
    pub sequence: ChangeLimits,
}

/// A pair that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedPair {
    /// Number of the pair, counted from the epoch.
    pub pair: u64,
    /// Why.
    pub why: String,
}

/// A guard-rail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuardRailInfo {
    /// The metric.
    pub metric: Metric,
    /// By how much it may be worse, %.
    pub margin_pct: f64,
    /// Its value with A and with B, as people read it.
    pub values_text: String,
    /// Its change from A to B, %.
    pub estimate_pct: Option<f64>,
    /// Has it ended the experiment, or must it?
    pub is_harmful: bool,
    /// What the pairs say.
    pub finding: String,
}

/// A gate: what must hold so that the numbers mean anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateInfo {
    /// Does it make the run void?
    pub is_void: bool,
    /// What was found.
    pub text: String,
}

/// A metric that neither decides nor guards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherMetric {
    /// The metric.
    pub metric: Metric,
    /// Its change from A to B, %.
    pub estimate_pct: f64,
    /// p of no change, corrected for the number of these metrics (Holm).
    pub p_holm: Option<f64>,
}

/// What the blocks say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Pairs that count.
    pub pairs: Vec<PairInfo>,
    /// Pairs that do not.
    pub dropped_pairs: Vec<DroppedPair>,
    /// Mean change of the metric from A to B, %.
    pub estimate_pct: Option<f64>,
    /// The exact interval for the end of the experiment, 95 %.
    pub final_interval: Option<ChangeLimits>,
    /// p of no change, by flips of signs.
    pub p_final: Option<f64>,
    /// The interval that may be looked at any time, 95 %.
    pub sequence: ChangeLimits,
    /// p of no change that is valid at any time.
    pub p_anytime: f64,
    /// Metrics that must not get worse.
    pub guard_rails: Vec<GuardRailInfo>,
    /// Metrics that neither decide nor guard.
    pub other_metrics: Vec<OtherMetric>,
    /// Completion times of connections by size, which neither decide nor guard.
    pub completion_times: Vec<CompletionInfo>,
    /// What a split would have said; null without a hold-out.
    pub hold_out_info: Option<HoldOutInfo>,
    /// What must hold so that the numbers mean anything.
    pub gates: Vec<GateInfo>,
    /// Share of the host's acknowledged bytes that the scope had, %.
    pub host_share_pct: Option<f64>,
}

/// Two blocks that count.
struct Pair<'a> {
    number: u64,
    first: &'a Block,
    second: &'a Block,
}

impl Pair<'_> {
    fn difference(&self, plan: &Plan, metric: Metric, sums: fn(&Block) -> &Sums) -> Result<f64, Refusal> {
        let value = |block: &Block| hold_out::value(plan, metric, sums(block), block.held_out.as_ref());
        Ok(difference(value(self.first)?, value(self.second)?, self.first.is_treated))
    }

    fn has_value(&self, metric: Metric) -> Result<(), String> {
        for block in [self.first, self.second] {
            metric
                .log(&block.sums)
                .map_err(|refusal| format!("block {} has no {}: {refusal}", block.block, metric.label()))?;
        }
        Ok(())
    }
}

fn of_block(block: &Block) -> &Sums {
    &block.sums
}

fn later(block: &Block) -> &Sums {
    block.later.as_ref().unwrap_or(&block.sums)
}

/// Whole pairs, and why others are none. A block that does not count takes its neighbour with it.
fn pairs_of<'a>(plan: &Plan, blocks: &'a [Block]) -> (Vec<Pair<'a>>, Vec<DroppedPair>) {
    let mut by_pair: BTreeMap<u64, BTreeMap<u64, &Block>> = BTreeMap::new();
    for block in blocks {
        by_pair.entry(block.block / 2).or_default().entry(block.block).or_insert(block);
    }
    let last = by_pair.keys().next_back().copied();
    let (mut pairs, mut dropped) = (Vec::new(), Vec::new());
    for (number, of_pair) in by_pair {
        let found: Vec<&Block> = of_pair.into_values().collect();
        let problem = found.iter().find_map(|block| block.problem.clone());
        let why = match (&found[..], problem) {
            (_, Some(problem)) => Some(problem),
            // its second block is under way
            ([first], None) if Some(number) == last && first.block.is_multiple_of(2) => continue,
            ([_], None) => Some("one of its blocks is missing".to_owned()),
            ([first, second, ..], None) => {
                let pair = Pair { number, first, second };
                let why = pair.has_value(plan.metric).err();
                if why.is_none() {
                    pairs.push(pair);
                }
                why
            }
            ([], None) => continue,
        };
        dropped.extend(why.map(|why| DroppedPair { pair: number, why }));
    }
    (pairs, dropped)
}

/// An interval of a difference of logarithms, in per cent.
pub(super) fn limits(interval: Interval) -> ChangeLimits {
    let limit = |value: f64| value.is_finite().then(|| percent(value));
    ChangeLimits { lower_pct: limit(interval.lower), upper_pct: limit(interval.upper) }
}

/// What the blocks of a plan say.
pub fn analyse(plan: &Plan, blocks: &[Block]) -> Result<Analysis, Refusal> {
    let (pairs, dropped_pairs) = pairs_of(plan, blocks);
    let mut sequence = ConfidenceSequence::new(plan.sigma)?;
    let (mut infos, mut differences) = (Vec::new(), Vec::new());
    for pair in &pairs {
        let difference = pair.difference(plan, plan.metric, of_block)?;
        sequence.push(difference)?;
        differences.push(difference);
        infos.push(PairInfo { pair: pair.number, difference, sequence: limits(sequence.interval(ALPHA)?) });
    }
    let flips = SignFlips::new(&differences, plan.coin_seed).ok();
    let interval = flips.as_ref().map(|flips| flips.interval(ALPHA)).transpose()?;
    let bytes = |of: fn(&Block) -> u64| -> u64 { pairs.iter().map(|pair| of(pair.first) + of(pair.second)).sum() };
    let host_bytes = bytes(|block| block.host_acked_bytes);
    let of_pairs: Vec<[&Block; 2]> = pairs.iter().map(|pair| [pair.first, pair.second]).collect();
    Ok(Analysis {
        estimate_pct: mean(&differences).ok().map(percent),
        final_interval: interval.map(limits),
        p_final: flips.map(|flips| flips.p_value(0.0)),
        sequence: limits(sequence.interval(ALPHA)?),
        p_anytime: sequence.p_value(),
        guard_rails: plan
            .guard_rail_plans
            .iter()
            .map(|rail| guard_rail(plan, rail, &pairs))
            .collect::<Result<_, _>>()?,
        other_metrics: others(plan, &pairs),
        completion_times: completion_times(&of_pairs, plan.coin_seed),
        hold_out_info: hold_out::analyse(plan, &of_pairs),
        gates: gates(plan, &pairs, &of_pairs, &differences)?,
        host_share_pct: (host_bytes > 0)
            .then(|| bytes(|block| block.sums.acked_bytes) as f64 * 100.0 / host_bytes as f64),
        pairs: infos,
        dropped_pairs,
    })
}

fn guard_rail(plan: &Plan, rail: &super::plan::GuardRailPlan, pairs: &[Pair<'_>]) -> Result<GuardRailInfo, Refusal> {
    let mut guard = GuardRail::new(rail.metric.worse(), rail.margin, rail.sigma, GUARD_RAIL_ALPHA)?;
    let mut differences = Vec::new();
    for difference in pairs.iter().filter_map(|pair| pair.difference(plan, rail.metric, of_block).ok()) {
        guard.push(difference)?;
        differences.push(difference);
    }
    let finding = guard.finding();
    Ok(GuardRailInfo {
        metric: rail.metric,
        margin_pct: percent(rail.margin),
        values_text: values_text(rail.metric, pairs),
        estimate_pct: mean(&differences).ok().map(percent),
        is_harmful: matches!(finding, GuardFinding::Harmful { .. }),
        finding: finding.to_string(),
    })
}

/// Over all blocks of each arm.
fn values_text(metric: Metric, pairs: &[Pair<'_>]) -> String {
    let [mut a, mut b] = [Sums::default(), Sums::default()];
    for block in pairs.iter().flat_map(|pair| [pair.first, pair.second]) {
        if block.is_treated { &mut b } else { &mut a }.add(&block.sums);
    }
    let text = |sums: &Sums| metric.log(sums).map_or_else(|_| "none".to_owned(), |log| metric.text(log));
    format!("{} → {}", text(&a), text(&b))
}

fn others(plan: &Plan, pairs: &[Pair<'_>]) -> Vec<OtherMetric> {
    let is_other =
        |metric: &Metric| *metric != plan.metric && plan.guard_rail_plans.iter().all(|rail| rail.metric != *metric);
    let mut found = Vec::new();
    let mut p_values = Vec::new();
    for metric in Metric::ALL.into_iter().filter(is_other) {
        let differences: Vec<f64> =
            pairs.iter().filter_map(|pair| pair.difference(plan, metric, of_block).ok()).collect();
        let (Ok(mean), Ok(flips)) = (mean(&differences), SignFlips::new(&differences, plan.coin_seed)) else {
            continue;
        };
        p_values.push(flips.p_value(0.0));
        found.push(OtherMetric { metric, estimate_pct: percent(mean), p_holm: None });
    }
    for (other, p) in found.iter_mut().zip(ccctl_inference::multiplicity::holm(&p_values)) {
        other.p_holm = Some(p);
    }
    found
}

fn gates(
    plan: &Plan,
    pairs: &[Pair<'_>],
    of_pairs: &[[&Block; 2]],
    differences: &[f64],
) -> Result<Vec<GateInfo>, Refusal> {
    let blocks = || pairs.iter().flat_map(|pair| [pair.first, pair.second]);
    let segments: u64 = blocks().map(|block| block.sums.data_segments).sum();
    let on_arm: u64 = blocks().map(|block| block.segments_on_arm).sum();
    let mut gates = vec![(Gate::on_arm(on_arm, segments), Some(on_arm_text(on_arm, segments)))];
    if let Some(gate) = hold_out::sample_ratio(plan, of_pairs) {
        gates.push((gate?, None));
    }
    let twice: Result<Vec<f64>, Refusal> = pairs.iter().map(|pair| pair.difference(plan, plan.metric, later)).collect();
    let is_known = blocks().all(|block| block.later.is_some());
    if let Some(twice) = twice.ok().filter(|twice| is_known && !twice.is_empty()) {
        gates.push((Gate::carry_over(differences, &twice, plan.coin_seed)?, None));
    }
    if let Some((sequences, rejected)) = plan.redrawn {
        gates.push((Gate::redrawn(Redrawn { sequences, rejected, sigma: plan.sigma }, ALPHA)?, None));
    }
    let info = |(gate, text): (Gate, Option<String>)| GateInfo {
        is_void: gate.verdict() == Verdict::Void,
        text: text.unwrap_or_else(|| gate.to_string()),
    };
    Ok(gates.into_iter().map(info).collect())
}

/// The gate counts segments: a socket that is not on its arm weighs as much as it sends.
fn on_arm_text(on_arm: u64, segments: u64) -> String {
    match Gate::on_arm(on_arm, segments).verdict() {
        Verdict::Passed => format!("passed: {on_arm} of {segments} segments were sent with the arm of their block"),
        Verdict::Void => format!("void: only {on_arm} of {segments} segments were sent with the arm of their block"),
        Verdict::NotDecided => "not decided: no segments were sent".to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::experiment::plan::tests::plan;

    /// Blocks of pairs in which B has `effect` more goodput.
    pub(crate) fn blocks(pairs: u64, effect: f64, retransmits: u64) -> Vec<Block> {
        let schedule = plan().schedule().expect("a schedule");
        let one = |number: u64| {
            let is_treated = schedule.arm(number) == ccctl_inference::schedule::Arm::Treated;
            let load = 1.0 + 0.03 * (number % 5) as f64;
            let goodput = 1e6 * load * if is_treated { effect.exp() } else { 1.0 };
            let sums = Sums {
                opened: 10,
                acked_bytes: (goodput * 16.0) as u64,
                retransmitted_bytes: if is_treated { retransmits } else { 10_000 },
                data_segments: 10_000,
                timeouts: 1,
                network_limited_s: 16.0,
                queueing_acks: vec![0, 0, 0, 5, 10, 5],
            };
            Block {
                block: number,
                began_at: "2026-11-25T00:00:00Z".to_owned(),
                congestion_control: plan().algorithm(schedule.arm(number)).to_owned(),
                is_treated,
                problem: None,
                later: Some(sums.clone()),
                held_out: None,
                clusters: Vec::new(),
                completions: super::super::Completions::default(),
                segments_on_arm: 10_000,
                host_acked_bytes: 2 * sums.acked_bytes,
                sums,
            }
        };
        (200..200 + 2 * pairs).map(one).collect()
    }

    #[test]
    fn an_effect_is_found_with_its_size() {
        let analysis = analyse(&plan(), &blocks(8, 0.3, 10_000)).expect("numbers");
        assert_eq!(analysis.pairs.len(), 8);
        let interval = analysis.final_interval.expect("8 pairs have one");
        let truth = percent(0.3);
        assert!(interval.lower_pct.unwrap() < truth && truth < interval.upper_pct.unwrap(), "{interval:?}");
        assert!(interval.lower_pct.unwrap() > 0.0 && analysis.p_final.unwrap() < 0.01);
        assert!((analysis.host_share_pct.unwrap() - 50.0).abs() < 1e-9);
        assert!(analysis.gates.iter().all(|gate| !gate.is_void), "{:?}", analysis.gates);
        assert!(analysis.guard_rails.iter().all(|rail| !rail.is_harmful));
    }

    #[test]
    fn harm_beyond_a_margin_is_found_after_seven_pairs() {
        let harmful = |pairs| analyse(&plan(), &blocks(pairs, 0.0, 40_000)).expect("numbers").guard_rails[0].is_harmful;
        assert!(!harmful(6) && harmful(8));
    }

    #[test]
    fn a_block_that_does_not_count_takes_its_neighbour_with_it() {
        let mut blocks = blocks(8, 0.3, 10_000);
        blocks[3].problem = Some("the clock was set".to_owned());
        blocks.remove(8);
        blocks.pop();
        let analysis = analyse(&plan(), &blocks).expect("numbers");
        let whys: Vec<&str> = analysis.dropped_pairs.iter().map(|pair| pair.why.as_str()).collect();
        assert_eq!(whys, ["the clock was set", "one of its blocks is missing"]);
        assert_eq!(analysis.pairs.len(), 5, "the last pair is under way");
    }

    #[test]
    fn sockets_off_their_arm_void_the_run() {
        let mut blocks = blocks(8, 0.3, 10_000);
        for block in &mut blocks {
            block.segments_on_arm = 9_800;
        }
        let gates = analyse(&plan(), &blocks).expect("numbers").gates;
        assert!(gates[0].is_void && gates[0].text.starts_with("void: only"), "{gates:?}");
    }
}
