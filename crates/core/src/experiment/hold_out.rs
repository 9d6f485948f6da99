// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a split would have said: in each block a share of the connections, the hold-out, has the other arm.
//!
//! With a share e, blocks of B have B's connections at 1-e and blocks of A at e. Let `T(p)` and `C(p)` be a metric's value of
//! those with B and of those with A where the share p has B, as logarithms.

use ccctl_inference::clusters::{log_ratio, Cluster, Flows};
use ccctl_inference::gates::Gate;
use ccctl_inference::pairs::percent;
use ccctl_inference::split::{Estimate, HoldOut, HoldOutPair};
use ccctl_inference::{Interval, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::analysis::{limits, ChangeLimits};
use super::metric::{Metric, Sums};
use super::plan::{Plan, ALPHA};
use super::store::Block;

/// What the sockets of a cluster and arm have done in a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSums {
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Segments with data that were sent.
    pub data_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time in which the network limited sockets, in seconds of all sockets together.
    pub network_limited_s: f64,
}

impl FlowSums {
    /// What was done since `before`; None where a counter went back.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            acked_bytes: self.acked_bytes.checked_sub(before.acked_bytes)?,
            retransmitted_bytes: self.retransmitted_bytes.checked_sub(before.retransmitted_bytes)?,
            data_segments: self.data_segments.checked_sub(before.data_segments)?,
            timeouts: self.timeouts.checked_sub(before.timeouts)?,
            network_limited_s: (self.network_limited_s - before.network_limited_s).max(0.0),
        })
    }

    /// Sums above and below the line of a metric that is a ratio.
    fn flows(&self, metric: Metric) -> Flows {
        let (sum, count) = match metric {
            Metric::Goodput => (self.acked_bytes as f64, self.network_limited_s),
            Metric::Retransmits => {
                (self.retransmitted_bytes as f64, (self.acked_bytes + self.retransmitted_bytes) as f64)
            }
            Metric::Timeouts => (self.timeouts as f64, self.data_segments as f64 / 1e6),
            Metric::QueueingP50 | Metric::QueueingP95 => (0.0, 0.0),
        };
        Flows { count, sum }
    }
}

/// A cluster in a block: peers of some prefixes, IPv4 /24 and IPv6 /48.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterSums {
    /// Its number.
    pub cluster_number: u32,
    /// Those on the block's arm.
    pub arm_flows: FlowSums,
    /// Those on the other one.
    pub held_out_flows: FlowSums,
}

/// A change with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectInfo {
    /// The change, %.
    pub change_pct: f64,
    /// What is not excluded, 95 %.
    pub change_limits: ChangeLimits,
}

/// What a split at a share would have said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SplitInfo {
    /// Share of the connections that have B, %.
    pub treated_pct: f64,
    /// Change from those with A to those with B; null where it is refused.
    pub split_effect: Option<EffectInfo>,
    /// Clusters of peers and blocks, over which the error is.
    pub cluster_count: usize,
    /// Why it is refused.
    pub refusal: Option<String>,
}

/// What the hold-out shows of the metric that decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldOutInfo {
    /// Small share and large one.
    pub splits: Vec<SplitInfo>,
    /// Change of those with A from where nobody has B to where the large share has it; null with too few pairs.
    pub spill_over: Option<EffectInfo>,
    /// Change of the large split to the small one, as ratios: 0 if the arms do not interfere; null with too few pairs.
    pub interference: Option<EffectInfo>,
}

/// Value of a block, as a logarithm. With a hold-out, all sockets count, and the differences of pairs are too small by the
/// factor `1 - 2e`: that is put right here. Quantiles of a mix are not mixes of quantiles: they are those on the block's arm.
pub fn value(plan: &Plan, metric: Metric, sums: &Sums, held_out: Option<&Sums>) -> Result<f64, Refusal> {
    let Some(share) = plan.hold_out() else { return metric.log(sums) };
    if metric.is_ratio() {
        return Ok(metric.log(sums)? / (1.0 - 2.0 * share));
    }
    metric.log(&on_arm(sums, held_out)?)
}

fn on_arm(sums: &Sums, held_out: Option<&Sums>) -> Result<Sums, Refusal> {
    let own = held_out.and_then(|held_out| sums.since(held_out));
    own.ok_or(Refusal::Degenerate("the hold-out was not counted"))
}

/// Connections opened in the arms of blocks against their weights; None without a hold-out, and where none was opened.
#[must_use]
pub fn sample_ratio(plan: &Plan, pairs: &[[&Block; 2]]) -> Option<Result<Gate, Refusal>> {
    let weights = plan.weights()?;
    let blocks = || pairs.iter().flatten();
    let held_out: u64 = blocks().filter_map(|block| block.held_out.as_ref()).map(|sums| sums.opened).sum();
    let all: u64 = blocks().map(|block| block.sums.opened).sum();
    let opened = [all.saturating_sub(held_out) as f64, held_out as f64];
    (all > 0).then(|| Gate::sample_ratio(&opened, &weights.map(f64::from)))
}

/// What the hold-out shows; None without one.
#[must_use]
pub fn analyse(plan: &Plan, pairs: &[[&Block; 2]]) -> Option<HoldOutInfo> {
    let share = plan.hold_out()?;
    let blocks = |is_treated: bool| pairs.iter().flatten().filter(move |block| block.is_treated == is_treated);
    let splits = vec![
        split(plan.metric, share, &blocks(false).copied().collect::<Vec<_>>()),
        split(plan.metric, 1.0 - share, &blocks(true).copied().collect::<Vec<_>>()),
    ];
    let logs: Vec<HoldOutPair> = pairs.iter().filter_map(|pair| logs(plan.metric, pair).ok()).collect();
    let found = HoldOut::of(&logs, ALPHA).ok();
    // C is a line in p: from C(1-e) - C(e) to C(1-e) - C(0)
    let stretch = (1.0 - share) / (1.0 - 2.0 * share);
    let effect = |estimate: Estimate, factor: f64| EffectInfo {
        change_pct: percent(estimate.value * factor),
        change_limits: limits(Interval {
            lower: estimate.interval.lower * factor,
            upper: estimate.interval.upper * factor,
        }),
    };
    Some(HoldOutInfo {
        splits,
        spill_over: found.map(|found| effect(found.spill_over, stretch)),
        interference: found.map(|found| effect(found.interference, 1.0)),
    })
}

fn logs(metric: Metric, [first, second]: &[&Block; 2]) -> Result<HoldOutPair, Refusal> {
    let (many, few) = if first.is_treated { (first, second) } else { (second, first) };
    let of_arm = |block: &Block| metric.log(&on_arm(&block.sums, block.held_out.as_ref())?);
    let rest = |block: &Block| {
        let sums = block.held_out.as_ref().ok_or(Refusal::Degenerate("the hold-out was not counted"))?;
        metric.log(sums)
    };
    Ok(HoldOutPair {
        treated_of_many: of_arm(many)?,
        rest_of_many: rest(many)?,
        treated_of_few: rest(few)?,
        rest_of_few: of_arm(few)?,
    })
}

/// Blocks of one arm, whose clusters are independent.
fn split(metric: Metric, treated: f64, blocks: &[&Block]) -> SplitInfo {
    let clusters: Vec<Cluster> = blocks.iter().flat_map(|block| clusters_of(metric, block)).collect();
    let found = log_ratio(&clusters).and_then(|effect| Ok((effect, effect.interval(ALPHA)?)));
    let effect = found.as_ref().ok().map(|(effect, interval)| EffectInfo {
        change_pct: percent(effect.difference),
        change_limits: limits(*interval),
    });
    SplitInfo {
        treated_pct: treated * 100.0,
        split_effect: effect,
        cluster_count: clusters.len(),
        refusal: found.err().map(|refusal| refusal.to_string()),
    }
}

fn clusters_of(metric: Metric, block: &Block) -> impl Iterator<Item = Cluster> + use<'_> {
    let is_treated = block.is_treated;
    let flows = move |sums: &ClusterSums| {
        let (own, other) = (sums.arm_flows.flows(metric), sums.held_out_flows.flows(metric));
        let (treated, control) = if is_treated { (own, other) } else { (other, own) };
        Cluster { control, treated }
    };
    block.clusters.iter().map(flows).filter(|cluster| cluster.control.count + cluster.treated.count > 0.0)
}

/// The sentences of `status` and of the report.
#[must_use]
pub fn lines(info: &HoldOutInfo, metric: Metric) -> Vec<String> {
    let mut lines: Vec<String> = info.splits.iter().map(split_line).collect();
    if let (Some(spill_over), Some(split)) = (&info.spill_over, info.splits.last()) {
        lines.push(format!(
            "Where {:.0} % have B, the others have {:+.1} % {} (95 %: {}).",
            split.treated_pct,
            spill_over.change_pct,
            metric.label(),
            super::words::range(&spill_over.change_limits)
        ));
    }
    lines
}

fn split_line(split: &SplitInfo) -> String {
    let share = format!("A split with {:.0} % on B", split.treated_pct);
    match (&split.split_effect, &split.refusal) {
        (Some(effect), _) => format!(
            "{share} would have said {:+.1} % (95 %: {}, {} clusters of peers and blocks).",
            effect.change_pct,
            super::words::range(&effect.change_limits),
            split.cluster_count
        ),
        (None, why) => format!("{share} says nothing yet: {}.", why.as_deref().unwrap_or("nothing was counted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::analysis::analyse as analyse_all;
    use crate::experiment::plan::tests::plan;
    use crate::experiment::tests::blocks;

    const SHARE: f64 = 0.05;

    fn with_hold_out() -> Plan {
        Plan { hold_out_pct: Some(SHARE * 100.0), ..plan() }
    }

    /// Spang's first example: with a share p treated, they have 2 / (1 + p), the others 1 / (1 + p). Every user waits all the
    /// time, so shares of the connections are shares of the time.
    fn two_connections(pairs: u64, clusters: u32) -> Vec<Block> {
        let mut blocks = blocks(pairs, 0.0, 0);
        for (number, block) in blocks.iter_mut().enumerate() {
            let load = 1e9 * (1.0 + 0.02 * (number % 7) as f64);
            let p = if block.is_treated { 1.0 - SHARE } else { SHARE };
            let flows = |share: f64, connections: f64, part: f64| FlowSums {
                acked_bytes: (load * part * share * connections / (1.0 + p)) as u64,
                data_segments: 1000,
                network_limited_s: 1000.0 * part * share,
                ..FlowSums::default()
            };
            let sums = |flows: FlowSums, opened| Sums {
                opened,
                acked_bytes: flows.acked_bytes,
                data_segments: 1000,
                network_limited_s: flows.network_limited_s,
                ..Sums::default()
            };
            let own = if block.is_treated { [2.0, 1.0] } else { [1.0, 2.0] };
            let both = |part: f64| (flows(1.0 - SHARE, own[0], part), flows(SHARE, own[1], part));
            let (on_arm, held_out) = both(1.0);
            block.held_out = Some(sums(held_out, 50));
            block.sums = sums(on_arm, 950);
            block.sums.add(&sums(held_out, 50));
            block.later = Some(block.sums.clone());
            block.segments_on_arm = 2000;
            block.clusters = (0..clusters)
                .map(|cluster| {
                    let part = (1.0 + 0.3 * f64::from((cluster + number as u32) % 5)) / f64::from(clusters);
                    let (on_arm, held_out) = both(part);
                    ClusterSums { cluster_number: cluster, arm_flows: on_arm, held_out_flows: held_out }
                })
                .collect();
        }
        blocks
    }

    /// The closed form: a split says +100 % at every share, the others lose 1 - 1 / (1 + p), and nothing is gained in all.
    #[test]
    fn two_connections_double_in_a_split_harm_the_others_and_gain_nothing() {
        let analysis = analyse_all(&with_hold_out(), &two_connections(8, 10)).expect("numbers");
        let found = analysis.hold_out_info.as_ref().expect("there is a hold-out");
        for (split, treated_pct) in found.splits.iter().zip([5.0, 95.0]) {
            let effect = split.split_effect.as_ref().expect("80 clusters are enough");
            assert!((split.treated_pct - treated_pct).abs() < 1e-9 && split.cluster_count == 80, "{split:?}");
            assert!((effect.change_pct - 100.0).abs() < 0.1, "{effect:?}");
        }
        assert!(analysis.estimate_pct.expect("8 pairs").abs() < 4.0, "{:?}", analysis.estimate_pct);
        let spill_over = found.spill_over.as_ref().expect("8 pairs");
        // -48.7 % by the closed form, -48.0 % by the line from p = 0.05 to 0.95; the load changes by up to 12 %
        assert!((spill_over.change_pct + 48.0).abs() < 2.0, "{spill_over:?}");
        assert!(spill_over.change_limits.lower_pct < Some(-48.0) && spill_over.change_limits.upper_pct > Some(-48.7));
        let said = lines(found, Metric::Goodput).join(" ");
        assert!(said.contains("A split with 5 % on B would have said +100.0 %"), "{said}");
        assert!(said.contains("Where 95 % have B, the others have -4"), "{said}");
        assert!(analysis.gates.iter().all(|gate| !gate.is_void), "{:?}", analysis.gates);
    }

    #[test]
    fn fewer_than_thirty_clusters_are_refused_in_words() {
        let analysis = analyse_all(&with_hold_out(), &two_connections(7, 4)).expect("numbers");
        let found = analysis.hold_out_info.expect("there is a hold-out");
        assert!(found.splits[0].split_effect.is_none());
        let said = lines(&found, Metric::Goodput)[0].clone();
        assert_eq!(said, "A split with 5 % on B says nothing yet: 28 clusters: at least 30 are needed.");
    }

    #[test]
    fn opened_connections_that_are_not_those_of_the_weights_void_the_run() {
        let gates = |held_out: u64| {
            let mut blocks = two_connections(8, 10);
            for block in &mut blocks {
                block.held_out.as_mut().expect("it has one").opened = held_out;
            }
            analyse_all(&with_hold_out(), &blocks).expect("numbers").gates
        };
        // of 16,000 connections 800 are expected, with a deviation of 27.6: 3.29 of these are the limit
        let is_void = |held_out| gates(held_out).iter().any(|gate| gate.is_void);
        assert!(!is_void(55) && is_void(56) && !is_void(45) && is_void(44));
        let text = gates(80).into_iter().find(|gate| gate.is_void).expect("it is void").text;
        assert!(text.starts_with("void: 14720 and 1280 connections opened in the arms"), "{text}");
    }

    /// Without interference the mix of both arms has `1 - 2e` of the effect, and the estimate all of it.
    #[test]
    fn the_estimate_is_that_of_everything_switched() {
        let mut blocks = blocks(8, 0.0, 0);
        for block in &mut blocks {
            let goodput = |is_treated: bool| if is_treated { 1e6 * 0.1_f64.exp() } else { 1e6 };
            let sums = |share: f64, goodput: f64| Sums {
                acked_bytes: (share * goodput * 1e4) as u64,
                data_segments: 10,
                network_limited_s: share * 1e4,
                ..Sums::default()
            };
            block.held_out = Some(sums(SHARE, goodput(!block.is_treated)));
            block.sums = sums(1.0 - SHARE, goodput(block.is_treated));
            let held_out = block.held_out.clone().expect("it has one");
            block.sums.add(&held_out);
        }
        let analysis = analyse_all(&with_hold_out(), &blocks).expect("numbers");
        assert!((analysis.estimate_pct.expect("8 pairs") - percent(0.1)).abs() < 0.05, "{:?}", analysis.estimate_pct);
    }
}
