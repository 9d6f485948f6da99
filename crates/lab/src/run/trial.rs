// SPDX-License-Identifier: GPL-2.0-only
//! A unit: one repeat of one point, what is kept of it.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Outcome, PathTiming};
use crate::experiment::Point;
use crate::measures::{Evaluation, Reference};
use crate::scenario::Scenario;

/// A record has no more stalls of a path than these.
const MOST_STALLS: usize = 1000;

/// Which unit. Here both count from 0; in names of files, keys and messages, which people see, they count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitId {
    /// Its point's position in the sweep.
    pub point: usize,
    /// The repeat.
    pub repeat: u32,
}

impl UnitId {
    /// "p00004-r1": name of its files.
    #[must_use]
    pub fn name(self) -> String {
        format!("p{:05}-r{}", self.point + 1, self.repeat + 1)
    }

    /// "00003-r0": name of the same files in folders of ccctl 0.1.0, where all numbers count from 0.
    pub(super) fn old_name(self) -> String {
        format!("{:05}-r{}", self.point, self.repeat)
    }
}

/// All units of a scenario, repeat by repeat, so that each point has a first result soon.
#[must_use]
pub fn units(scenario: &Scenario) -> Vec<UnitId> {
    let of_repeat = |repeat| scenario.points.iter().map(move |point| UnitId { point: point.index, repeat });
    (0..scenario.repeats).flat_map(of_repeat).collect()
}

/// `units/NAME.json`: the result of a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitRecord {
    /// Number of its point in the sweep, from 1.
    pub point: usize,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// The seed of this run.
    pub seed: u64,
    /// Values of the axes at this point.
    pub place: BTreeMap<String, String>,
    /// Measures by name; null where there is none.
    pub measures: BTreeMap<String, Option<f64>>,
    /// Each flow.
    pub flows: Vec<FlowRecord>,
    /// Each link.
    pub links: Vec<LinkRecord>,
    /// Number of transfers that ended.
    pub transfers: usize,
    /// Of a run on the kernel: how well the emulated path kept its times; older runs do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRecord>,
}

/// How well the emulated path of a unit kept its times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathRecord {
    /// How long its clock stood still, in seconds.
    pub clock_pause_s: f64,
    /// Each time that its router was kept from its work, in seconds, as `run.stalls` of a scenario has them: when, for how long, and how
    /// much of that it made up for. Older runs do not have it, nor runs with more than 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls_s: Option<Vec<[f64; 3]>>,
    /// How late a packet was handed over at most, by that clock.
    pub latest_handover_us: u64,
    /// How late an echo through it was at most.
    pub latest_echo_us: u64,
}

/// A flow of a unit. Counters are those at the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRecord {
    /// Its group.
    pub group: String,
    /// Number in it, from 1.
    pub number: usize,
    /// Its algorithm.
    pub algorithm: String,
    /// When it began, in seconds.
    pub start_s: f64,
    /// Mean over the window of averages.
    pub goodput_mbit_per_s: f64,
    /// Data that reached the receiver.
    pub received_bytes: u64,
    /// Data packets sent; older runs have it as `sent_pkts`.
    #[serde(alias = "sent_pkts")]
    pub data_segments_sent_pkts: u64,
    /// Of those, retransmissions; older runs have it as `retransmitted_pkts`.
    #[serde(alias = "retransmitted_pkts")]
    pub retransmits_pkts: u64,
    /// Times that Recovery was entered.
    pub recoveries: u64,
    /// Times that CWR was entered.
    pub mark_reductions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Largest window of all samples; runs of ccctl 0.1.0 did not keep it.
    #[serde(default)]
    pub cwnd_max_pkts: Option<u32>,
    /// Largest threshold of all samples that was set; null without one.
    #[serde(default)]
    pub ssthresh_max_pkts: Option<u32>,
}

/// A link of a unit, at the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRecord {
    /// Its name.
    pub name: String,
    /// Packets that came.
    pub arrived_pkts: u64,
    /// Dropped by the queue.
    pub dropped_pkts: u64,
    /// Lost on the link.
    pub lost_pkts: u64,
    /// Marked.
    pub marked_pkts: u64,
    /// That crossed it.
    pub delivered_pkts: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
}

impl UnitRecord {
    /// Of a run.
    #[must_use]
    pub fn of(scenario: &Scenario, point: &Point, id: UnitId, seed: u64, outcome: &Outcome) -> Self {
        let evaluation = Evaluation { setup: &point.setup, outcome };
        let measures = measured(scenario).into_iter();
        Self {
            point: id.point + 1,
            repeat: id.repeat + 1,
            seed,
            place: scenario.place(&point.position),
            measures: measures.map(|(name, reference)| (name, evaluation.value(&reference))).collect(),
            flows: flows(point, outcome, &evaluation.goodputs_mbit_per_s()),
            links: links(point, outcome),
            transfers: outcome.transfers.len(),
            path: outcome.path.as_ref().map(PathRecord::of),
        }
    }
}

impl PathRecord {
    fn of(timing: &PathTiming) -> Self {
        Self {
            clock_pause_s: timing.clock_pause.as_secs_f64(),
            stalls_s: (timing.stalls.len() <= MOST_STALLS).then(|| {
                let seconds = |time: Duration| time.as_nanos() as f64 / 1e9;
                timing.stalls.iter().map(|it| [it.at, it.length, it.made_up].map(seconds)).collect()
            }),
            latest_handover_us: timing.latest_handover.as_micros() as u64,
            latest_echo_us: timing.latest_echo.as_micros() as u64,
        }
    }
}

/// What folders of ccctl 0.1.0 have with numbers from 0.
pub(super) trait Renumber {
    /// The same with numbers from 1.
    fn count_from_one(&mut self);
}

impl Renumber for UnitRecord {
    fn count_from_one(&mut self) {
        (self.point, self.repeat) = (self.point + 1, self.repeat + 1);
        self.flows.iter_mut().for_each(|flow| flow.number += 1);
    }
}

fn flows(point: &Point, outcome: &Outcome, goodputs: &[f64]) -> Vec<FlowRecord> {
    let record = |(flow, goodput): (&crate::backend::Flow, &f64)| {
        let group = &point.setup.groups[flow.group];
        let last = flow.samples.last().copied().unwrap_or_default();
        FlowRecord {
            group: group.name.clone(),
            number: flow.number + 1,
            algorithm: group.algorithm.clone(),
            start_s: flow.start.as_secs_f64(),
            goodput_mbit_per_s: *goodput,
            received_bytes: last.received_bytes,
            data_segments_sent_pkts: last.data_segments_sent_pkts,
            retransmits_pkts: last.retransmits_pkts,
            recoveries: last.recoveries,
            mark_reductions: last.mark_reductions,
            timeouts: last.timeouts,
            cwnd_max_pkts: flow.samples.iter().map(|sample| sample.cwnd_pkts).max(),
            ssthresh_max_pkts: flow.samples.iter().filter_map(|sample| sample.ssthresh_pkts).max(),
        }
    };
    outcome.flows.iter().zip(goodputs).map(record).collect()
}

fn links(point: &Point, outcome: &Outcome) -> Vec<LinkRecord> {
    let record = |(link, series): (&crate::experiment::point_spec::Link, &crate::backend::LinkSeries)| {
        let last = series.samples.last().copied().unwrap_or_default();
        LinkRecord {
            name: link.name.clone(),
            arrived_pkts: last.arrived_pkts,
            dropped_pkts: last.dropped_pkts,
            lost_pkts: last.lost_pkts,
            marked_pkts: last.marked_pkts,
            delivered_pkts: last.delivered_pkts,
            delivered_bytes: last.delivered_bytes,
        }
    };
    point.setup.links.iter().zip(&outcome.links).map(record).collect()
}

/// Measures of single flows and links that are taken in any case.
const OF_FLOWS: [&str; 9] = [
    "goodput",
    "goodput_per_flow",
    "jain",
    "sigma_f",
    "xi_f_rms",
    "retransmit_rate",
    "rtos",
    "loss_epochs",
    "cwnd_mean",
];
const OF_LINKS: [&str; 5] = ["utilisation", "queue_mean", "queue_p95", "queue_normalised", "loss_rate"];

/// What is taken at each point, by name: a standard set, and what pages, the paper's values and statements ask for.
#[must_use]
pub fn measured(scenario: &Scenario) -> BTreeMap<String, Reference> {
    let asked = asked(scenario).into_iter().map(|reference| reference.at_each_point());
    standard(scenario).into_iter().chain(asked).map(|reference| (reference.to_string(), reference)).collect()
}

/// What pages, the paper's values and statements ask for.
#[must_use]
pub fn asked(scenario: &Scenario) -> Vec<Reference> {
    let checks = scenario.statements.iter().flat_map(|statement| &statement.checks);
    let in_checks = checks.flat_map(|check| check.form.references()).cloned();
    let in_paper = scenario.paper.iter().map(|value| value.measure.clone());
    scenario.wanted.iter().cloned().chain(in_paper).chain(in_checks).collect()
}

fn standard(scenario: &Scenario) -> Vec<Reference> {
    let Some(point) = scenario.points.first() else { return Vec::new() };
    let groups = point.setup.groups.iter().map(|group| vec![group.name.clone()]);
    let subjects: Vec<Vec<String>> = std::iter::once(Vec::new()).chain(groups).collect();
    let of_flows = OF_FLOWS.iter().flat_map(|name| subjects.iter().map(|groups| Reference::of_flows(name, groups)));
    let links = &point.setup.links;
    let of_links = OF_LINKS.iter().flat_map(|name| links.iter().map(|link| Reference::of_link(name, &link.name)));
    of_flows.chain(of_links).collect()
}
