// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what is asked for to a frozen plan, or why that cannot be decided, and what would do.

use std::collections::BTreeMap;
use std::time::Duration;

use ccctl_catalog::did_you_mean;
use ccctl_console::{output, UsageError};
use ccctl_inference::flips::LEAST_PAIRS;
use ccctl_inference::planning::{pairs_per_day, redraw, sigma, Demand};
use ccctl_inference::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::design::{Design, Moves};
use super::metric::{Metric, Sums};
use super::plan::{GuardRailPlan, Plan, ALPHA, FORMAT};
use super::ring::STEP_S;
use super::text::{Margin, Percent};

/// Lengths of blocks that are compared.
const LENGTHS_MIN: [u64; 5] = [2, 5, 10, 30, 60];
const BLOCK: std::ops::RangeInclusive<Duration> = Duration::from_secs(2)..=Duration::from_secs(86_400);
const BURN_IN: Duration = Duration::from_secs(60);
const WITHIN: Duration = Duration::from_secs(14 * 86_400);
const HOLD_OUT_PCT: std::ops::RangeInclusive<f64> = 1.0..=25.0;
/// With `moves = new`, blocks have at least this many times the P90 of connections' lives.
const LIVES: u32 = 5;
/// A metric that never changed may do so in the experiment. A wrong spread costs width, not validity.
const LEAST_SIGMA: f64 = 0.001;
const SEQUENCES: usize = 1000;
/// From the start to the first block at least: the rule is set before, and counted from the beginning.
pub const LEAD: Duration = Duration::from_secs(3);

/// What a plan has to know of the host.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// What the scope is called, and the path of its cgroup.
    pub scope: (String, String),
    /// Names that the kernel has or will have, and for instances what tells two apart.
    pub algorithms: BTreeMap<String, Option<String>>,
    /// What the scope gets now.
    pub present: Option<String>,
    /// The scope's rule, if it was made by hand.
    pub rule_by_hand: Option<u32>,
    /// An experiment that has connections of the scope.
    pub taken_by: Option<String>,
    /// P90 of the lives of the scope's connections.
    pub life: Option<Duration>,
    /// What its sockets did, minute by minute.
    pub past: Vec<Sums>,
    /// Of the coins, if none is given.
    pub fresh_seed: u64,
}

/// What blocks of one length would show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Length {
    /// Length of a block, ms.
    pub block_ms: u64,
    /// Standard deviation of a pair's difference, as a difference of logarithms.
    pub sigma: f64,
    /// Smallest change that a day shows, %.
    pub detectable_pct: f64,
}

/// Refuses a design that this host cannot carry out now, whatever its numbers are.
pub fn require(design: &Design, host: &Host) -> anyhow::Result<()> {
    arms(design, host)?;
    require_scope(host)
}

/// The plan, and what other lengths of blocks would show.
pub fn freeze(design: &Design, host: &Host) -> anyhow::Result<(Plan, Vec<Length>)> {
    ccctl_loader::check_name(&design.name)?;
    let (arm_a, arm_b) = arms(design, host)?;
    require_scope(host)?;
    let rails = guard_rails(design)?;
    if design.pairs.is_some_and(|pairs| pairs < LEAST_PAIRS) {
        let cause = format!("{} pairs can never show anything at 5 %", design.pairs.unwrap_or_default());
        return refuse(cause, format!("--pairs {LEAST_PAIRS} or more"));
    }
    let lengths = lengths(design, host);
    let block = block(design, host, &lengths)?;
    let burn_in = design.burn_in.map_or_else(|| burn_in(block), |span| span.0);
    if burn_in >= block {
        let cause =
            format!("a burn-in of {} leaves nothing of blocks of {}", output::span(burn_in), output::span(block));
        return refuse(cause, "--burn-in of a tenth to a fifth of --block");
    }
    let spread = Spread { design, host, block, burn_in };
    let stretch = stretch(design)?;
    let (sigma, sigma_origin) = spread.of(design.metric)?;
    let sigma = sigma * stretch;
    let (wanted_pairs, detectable) = pairs(design, block, sigma)?;
    let rails: anyhow::Result<Vec<GuardRailPlan>> = rails
        .iter()
        .map(|rail| {
            let (sigma, _) = spread.of(rail.metric)?;
            let sigma = if rail.metric.is_ratio() { sigma * stretch } else { sigma };
            Ok(GuardRailPlan { metric: rail.metric, margin: rail.percent.log(), sigma })
        })
        .collect();
    let plan = Plan {
        plan_format: FORMAT,
        name: design.name.clone(),
        arm_a,
        arm_b,
        scope: host.scope.0.clone(),
        cgroup: host.scope.1.clone(),
        dst: design.dst.clone(),
        port: design.port,
        metric: design.metric,
        block_ms: u64::try_from(block.as_millis())?,
        burn_in_ms: u64::try_from(burn_in.as_millis())?,
        wanted_pairs,
        moves: design.moves,
        hold_out_pct: design.hold_out.map(|percent| percent.0),
        coin_seed: design.seed.unwrap_or(host.fresh_seed),
        cluster: design.cluster.clone().unwrap_or_default(),
        sigma,
        sigma_origin,
        detectable,
        power: Demand::default().power,
        guard_rail_plans: rails?,
        redrawn: spread.redrawn(),
        asked: serde_json::to_string(design)?,
    };
    require_time(design, &plan)?;
    Ok((plan, lengths))
}

fn refuse<T>(cause: impl Into<String>, remedy: impl Into<String>) -> anyhow::Result<T> {
    Err(UsageError::new(cause, remedy).into())
}

fn arms(design: &Design, host: &Host) -> anyhow::Result<(String, String)> {
    let Some(a) = design.a.as_ref().or(host.present.as_ref()) else {
        return refuse(format!("the rule of {} gives several algorithms", host.scope.0), "name arm A: --a NAME");
    };
    for (option, name) in [("--a", a), ("--b", &design.b)] {
        if !host.algorithms.contains_key(name) {
            let names: Vec<&str> = host.algorithms.keys().map(String::as_str).collect();
            let remedy = did_you_mean(name, names.iter().copied(), || {
                format!("there are {}; ccctl load makes more", names.join(", "))
            });
            return refuse(format!("{option}: the kernel has no {name:?}"), remedy);
        }
    }
    let of = |name: &str| host.algorithms.get(name).cloned().flatten();
    let is_same = *a == design.b || of(a).is_some() && of(a) == of(&design.b);
    if is_same && !design.same_arms {
        let cause = format!("arms {a} and {} are the same algorithm with the same parameters", design.b);
        return refuse(cause, "name another one with --b, or add --same-arms for an experiment that must find nothing");
    }
    Ok((a.clone(), design.b.clone()))
}

fn require_scope(host: &Host) -> anyhow::Result<()> {
    if let Some(name) = &host.taken_by {
        let cause = format!("experiment {name} has connections of {}", host.scope.0);
        return refuse(cause, format!("ccctl experiment stop {name}, or wait for its end"));
    }
    match host.rule_by_hand {
        Some(id) => {
            let cause = format!("rule {id}, which was made by hand, is for {}", host.scope.0);
            refuse(cause, format!("ccctl unassign {id}, or put the rule into ccctl.toml"))
        }
        None => Ok(()),
    }
}

fn guard_rails(design: &Design) -> anyhow::Result<Vec<Margin>> {
    if let Some(rail) = design.guard_rails.iter().find(|rail| rail.percent.0 <= 0.0) {
        let cause = format!("--guard-rail {rail}: a margin of 0 can never be kept");
        return refuse(cause, format!("say by how much it may be worse: --guard-rail {}=20%", rail.metric));
    }
    if let Some(rail) = design.guard_rails.iter().find(|rail| rail.metric == design.metric) {
        let cause = format!("--guard-rail {rail}: it is the metric that decides");
        return refuse(cause, "name another metric");
    }
    if !design.guard_rails.is_empty() {
        return Ok(design.guard_rails.clone());
    }
    let defaults = [(Metric::Goodput, 10.0), (Metric::Retransmits, 100.0), (Metric::QueueingP95, 100.0)];
    let others = defaults.into_iter().filter(|(metric, _)| *metric != design.metric);
    Ok(others.map(|(metric, percent)| Margin { metric, percent: Percent(percent) }).collect())
}

/// By how much a hold-out widens the differences of pairs: their blocks differ by less than all of the connections.
fn stretch(design: &Design) -> anyhow::Result<f64> {
    let Some(hold_out) = design.hold_out else { return Ok(1.0) };
    if !HOLD_OUT_PCT.contains(&hold_out.0) {
        let cause = format!("--hold-out {hold_out}: this share of the connections has the other arm in each block");
        return refuse(cause, "use 1% to 25%, such as --hold-out 5%");
    }
    if design.same_arms {
        return refuse(
            "--hold-out: with equal arms nothing tells the hold-out from the others",
            "leave out one of both",
        );
    }
    if !design.metric.is_ratio() {
        let cause = format!("--hold-out: {} is a quantile, for which a split has no interval", design.metric);
        return refuse(cause, "--metric goodput, retransmits or timeouts, or leave out --hold-out");
    }
    Ok(1.0 / (1.0 - hold_out.0 / 50.0))
}

fn burn_in(block: Duration) -> Duration {
    if block >= BURN_IN * 5 {
        BURN_IN
    } else {
        block / 5
    }
}

fn minutes(time: Duration) -> usize {
    usize::try_from(time.as_secs() / STEP_S).unwrap_or(usize::MAX)
}

/// Those for which the past has enough pairs, and lives of connections leave time.
fn lengths(design: &Design, host: &Host) -> Vec<Length> {
    let one = |minutes: &u64| {
        let block = Duration::from_secs(minutes * 60);
        let burn_in = design.burn_in.map_or_else(|| burn_in(block), |span| span.0);
        let sigma = sigma(&values(&host.past, block, burn_in, design.metric).ok()?).ok()?;
        let effect = Demand::default().detectable_effect(pairs_per_day(block).floor(), sigma).ok()?;
        let fits = design.moves == Moves::Live || host.life.is_none_or(|life| block >= life * LIVES);
        let detectable_pct = ccctl_inference::pairs::percent(effect);
        fits.then(|| Length { block_ms: minutes * 60_000, sigma, detectable_pct })
    };
    LENGTHS_MIN.iter().filter_map(one).collect()
}

fn block(design: &Design, host: &Host, lengths: &[Length]) -> anyhow::Result<Duration> {
    let block = if let Some(span) = design.block {
        span.0
    } else {
        let best = lengths.iter().min_by(|a, b| a.detectable_pct.total_cmp(&b.detectable_pct));
        best.map(|length| Duration::from_millis(length.block_ms)).ok_or_else(|| no_past(design, host, None))?
    };
    if !BLOCK.contains(&block) {
        return refuse(format!("blocks of {} are not possible", output::span(block)), "--block 2s to 1d");
    }
    if design.moves == Moves::New {
        let Some(life) = host.life else {
            let cause = "--moves new: the lives of connections are not known, because nothing has counted them";
            return refuse(cause, "set [metrics] enabled = true and wait, or use --moves live");
        };
        if block < life * LIVES {
            let cause = format!(
                "--moves new: 90 % of the connections live up to {}; blocks of {} would mix both arms",
                output::span(life),
                output::span(block)
            );
            return refuse(cause, format!("--block {} or longer, or --moves live", output::span(life * LIVES)));
        }
    }
    Ok(block)
}

/// The values of each whole pair of blocks of the past, as logarithms.
fn values(past: &[Sums], block: Duration, burn_in: Duration, metric: Metric) -> Result<Vec<f64>, Refusal> {
    let (block, burn_in) = (minutes(block), minutes(burn_in));
    if burn_in >= block {
        return Err(Refusal::Degenerate("blocks are shorter than the minutes that are kept"));
    }
    let value = |steps: &[Sums]| {
        let mut sums = Sums::default();
        steps[burn_in..].iter().for_each(|more| sums.add(more));
        metric.log(&sums)
    };
    // a pair without traffic would be dropped in the experiment, too
    let pair = |steps: &[Sums]| Some([value(&steps[..block]).ok()?, value(&steps[block..]).ok()?]);
    Ok(past.chunks_exact(2 * block).filter_map(pair).flatten().collect())
}

/// Where standard deviations come from.
struct Spread<'a> {
    design: &'a Design,
    host: &'a Host,
    block: Duration,
    burn_in: Duration,
}

impl Spread<'_> {
    fn of(&self, metric: Metric) -> anyhow::Result<(f64, String)> {
        if let Some(spread) = self.design.spread {
            if spread.0 <= 0.0 {
                return refuse("--spread 0: no service is without variation", "--spread 10%");
            }
            return Ok((spread.log(), "as given".to_owned()));
        }
        let measured = values(&self.host.past, self.block, self.burn_in, metric).and_then(|values| sigma(&values));
        match measured {
            Ok(sigma) => {
                let hours = self.host.past.len() as f64 / 60.0;
                Ok((
                    sigma.max(LEAST_SIGMA),
                    format!("the service itself, without a change, in the {hours:.1} hours before"),
                ))
            }
            Err(refusal) => Err(no_past(self.design, self.host, Some(&refusal))),
        }
    }

    fn redrawn(&self) -> Option<(usize, usize)> {
        let values = values(&self.host.past, self.block, self.burn_in, self.design.metric).ok()?;
        let redrawn = redraw(&values, SEQUENCES, ALPHA, 0).ok()?;
        Some((redrawn.sequences, redrawn.rejected))
    }
}

fn no_past(design: &Design, host: &Host, refusal: Option<&Refusal>) -> anyhow::Error {
    let shortest = Duration::from_secs(LENGTHS_MIN[0] * 60);
    let block = design.block.map_or(shortest, |span| span.0.max(shortest));
    let needed = block * 2 * LEAST_PAIRS as u32;
    let why = refusal.map_or_else(String::new, |refusal| format!(" ({refusal})"));
    let cause = format!(
        "the spread of {} is not known: there are {} min of counters with traffic of it{why}",
        host.scope.0,
        host.past.len()
    );
    let remedy = format!(
        "set [metrics] enabled = true, give the scope a rule, and wait {} to a day; or give --block, --pairs and --spread",
        output::span(needed)
    );
    UsageError::new(cause, remedy).into()
}

/// Pairs, and the effect that they find.
fn pairs(design: &Design, block: Duration, sigma: f64) -> anyhow::Result<(usize, f64)> {
    let demand = Demand::default();
    let effect = design.effect.map(Percent::log);
    if effect.is_some_and(|effect| effect <= 0.0) {
        return refuse("--effect 0: no number of pairs shows that nothing is different", "--effect 5%");
    }
    let needed = effect.map(|effect| demand.pairs(effect, sigma)).transpose()?;
    let pairs = match (design.pairs, needed) {
        (Some(pairs), Some(needed)) if pairs < needed => {
            let effect = design.effect.unwrap_or(Percent(0.0));
            let finds = ccctl_inference::pairs::percent(demand.detectable_effect(pairs as f64, sigma)?);
            let cause = format!("{pairs} pairs cannot decide an effect of {effect}: they find {finds:.1} %");
            let time = output::span(block * 2 * u32::try_from(needed)?);
            return refuse(cause, format!("--pairs {needed}, which takes {time}"));
        }
        (Some(pairs), _) => pairs,
        (None, Some(needed)) => needed,
        (None, None) => (pairs_per_day(block) as usize).max(LEAST_PAIRS),
    };
    Ok((pairs, demand.detectable_effect(pairs as f64, sigma)?))
}

fn require_time(design: &Design, plan: &Plan) -> anyhow::Result<()> {
    let within = design.within.map_or(WITHIN, |span| span.0);
    if plan.duration() <= within {
        return Ok(());
    }
    let possible = within.as_secs_f64() / (2.0 * plan.block().as_secs_f64());
    let finds = Demand::default().detectable_effect(possible.floor(), plan.sigma);
    let finds = finds.map_or_else(
        |_| String::new(),
        |effect| {
            format!("; in {} it would find {:.1} %", output::span(within), ccctl_inference::pairs::percent(effect))
        },
    );
    let cause = format!(
        "{} pairs of blocks of {} take {}{finds}",
        plan.wanted_pairs,
        output::span(plan.block()),
        output::span(plan.duration())
    );
    refuse(cause, format!("a larger --effect, or --within {}", output::span(plan.duration())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::text::Span;

    fn host() -> Host {
        let algorithms = [("cubic", None), ("reno", None), ("web", Some("h1")), ("twin", Some("h1"))];
        let algorithms = algorithms.map(|(name, twin)| (name.to_owned(), twin.map(str::to_owned)));
        // goodput goes up and down by a tenth from minute to minute
        let sums = |minute: u64| Sums {
            acked_bytes: 100_000_000 + minute * 7919 % 11 * 1_000_000,
            retransmitted_bytes: 100_000 + minute * 7919 % 13 * 1000,
            data_segments: 70_000,
            network_limited_s: 50.0,
            queueing_acks: vec![0, 0, 10 + minute % 3, 20, 30],
            ..Sums::default()
        };
        Host {
            scope: ("nginx.service".to_owned(), "/nginx.service".to_owned()),
            algorithms: algorithms.into(),
            present: Some("cubic".to_owned()),
            past: (0..1440).map(sums).collect(),
            fresh_seed: 5,
            ..Host::default()
        }
    }

    fn design() -> Design {
        Design { name: "web".to_owned(), b: "reno".to_owned(), ..Design::default() }
    }

    fn refused(design: &Design, host: &Host) -> String {
        let error = freeze(design, host).expect_err("it cannot be decided");
        format!("{} / {}", ccctl_console::cause(&error), crate::error::remedy(&error).unwrap_or_default())
    }

    #[test]
    fn a_plan_has_the_spread_of_the_past_and_the_pairs_that_the_effect_needs() {
        let effect = Some(Percent(5.0));
        let (plan, lengths) = freeze(&Design { effect, ..design() }, &host()).expect("it is decided");
        assert_eq!((plan.arm_a.as_str(), plan.arm_b.as_str(), plan.coin_seed), ("cubic", "reno", 5));
        assert_eq!(lengths.len(), 5);
        assert!(plan.sigma > 0.0 && plan.detectable <= 0.05_f64.ln_1p() + 1e-9);
        assert_eq!(plan.wanted_pairs, Demand::default().pairs(0.05_f64.ln_1p(), plan.sigma).expect("a number"));
        let best = lengths.iter().map(|length| length.detectable_pct).fold(f64::INFINITY, f64::min);
        assert!(lengths.iter().any(|length| length.block_ms == plan.block_ms && length.detectable_pct <= best));
        assert_eq!(plan.guard_rail_plans.len(), 2);
        assert_eq!(plan.redrawn.map(|(sequences, _)| sequences), Some(1000));
    }

    #[test]
    fn what_cannot_be_decided_is_refused_with_what_would_do() {
        let with = |change: fn(&mut Design)| {
            let mut design = design();
            change(&mut design);
            design
        };
        let second = |seconds| Some(Span(Duration::from_secs(seconds)));
        let new = |block| Design { moves: Moves::New, block: second(block), ..design() };
        let hold_out = |percent| Design { hold_out: Some(Percent(percent)), ..design() };
        let of_a_minute = Host { life: Some(Duration::from_secs(60)), ..host() };
        for (design, host, cause, remedy) in [
            (with(|design| design.b = "rneo".into()), host(), "--b: the kernel has no \"rneo\"", "did you mean reno"),
            (with(|design| design.b = "cubic".into()), host(), "cubic and cubic are the same", "--same-arms"),
            (
                Design { a: Some("web".into()), b: "twin".into(), ..design() },
                host(),
                "web and twin are the same algorithm with the same parameters",
                "--same-arms",
            ),
            (design(), Host { taken_by: Some("old".into()), ..host() }, "experiment old has", "experiment stop old"),
            (design(), Host { rule_by_hand: Some(3), ..host() }, "rule 3", "ccctl unassign 3"),
            (design(), Host { present: None, ..host() }, "several algorithms", "--a NAME"),
            (with(|design| design.pairs = Some(5)), host(), "5 pairs can never", "--pairs 6"),
            (
                with(|design| design.guard_rails = vec!["retransmits=0%".parse().expect("a margin")]),
                host(),
                "a margin of 0",
                "retransmits=20%",
            ),
            (new(240), of_a_minute.clone(), "90 % of the connections live up to 1m", "--block 5m"),
            (new(600), host(), "lives of connections are not known", "--moves live"),
            (with(|design| design.spread = Some(Percent(0.0))), host(), "--spread 0", "10%"),
            (with(|design| design.effect = Some(Percent(0.001))), host(), "pairs of blocks", "--within"),
            (
                Design { effect: Some(Percent(0.5)), pairs: Some(6), ..design() },
                host(),
                "6 pairs cannot decide an effect of 0.5%",
                "--pairs",
            ),
            (hold_out(0.5), host(), "--hold-out 0.5%", "--hold-out 5%"),
            (hold_out(30.0), host(), "--hold-out 30%", "--hold-out 5%"),
            (Design { same_arms: true, ..hold_out(5.0) }, host(), "with equal arms", "leave out one"),
            (Design { metric: Metric::QueueingP95, ..hold_out(5.0) }, host(), "is a quantile", "--metric goodput"),
            (design(), Host { past: vec![Sums::default(); 10], ..host() }, "10 min of counters", "24m"),
            (Design { block: second(60), burn_in: second(60), ..design() }, host(), "leaves nothing", "--burn-in"),
        ] {
            let said = refused(&design, &host);
            assert!(said.contains(cause) && said.contains(remedy), "{said}");
        }
        assert!(freeze(&new(300), &of_a_minute).is_ok());
        assert!(freeze(&Design { b: "cubic".into(), same_arms: true, ..design() }, &host()).is_ok());
    }

    #[test]
    fn a_hold_out_needs_more_pairs_for_the_same_effect() {
        let plan = |hold_out| {
            let design = Design { hold_out, effect: Some(Percent(5.0)), spread: Some(Percent(10.0)), ..design() };
            freeze(&design, &host()).expect("it is decided").0
        };
        let (without, with) = (plan(None), plan(Some(Percent(10.0))));
        assert!((with.sigma / without.sigma - 1.25).abs() < 1e-12 && with.wanted_pairs > without.wanted_pairs);
        let sigma =
            |plan: &Plan, metric| plan.guard_rail_plans.iter().find(|rail| rail.metric == metric).unwrap().sigma;
        let ratio = |metric| sigma(&with, metric) / sigma(&without, metric);
        assert!((ratio(Metric::Retransmits) - 1.25).abs() < 1e-12 && (ratio(Metric::QueueingP95) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn without_a_past_the_spread_can_be_given() {
        let design = Design {
            block: Some(Span(Duration::from_secs(20))),
            pairs: Some(8),
            spread: Some(Percent(10.0)),
            ..design()
        };
        let (plan, _) = freeze(&design, &Host { past: Vec::new(), ..host() }).expect("all is given");
        assert_eq!((plan.block_ms, plan.burn_in_ms, plan.wanted_pairs), (20_000, 4000, 8));
        assert!((plan.sigma - 0.1_f64.ln_1p()).abs() < 1e-12 && plan.redrawn.is_none());
    }
}
