// SPDX-License-Identifier: GPL-2.0-only
//! A scenario that shows a cause is the paper's, and one thing changed.

use std::collections::{BTreeMap, BTreeSet};

use ccctl_lab::experiment::PointSpec;
use ccctl_lab::scenario::Scenario;
use ccctl_lab::shipped::{shipped, Shipped};

use crate::file;

const CAUSE_OF: &str = "cause of ";

/// Each cause, what it changes, and in what all of its points differ from the paper's scenario.
const CHANGED: [(&str, &str, &str); 28] = [
    ("cause-s0-bic", "groups.access_jitter", ""),
    ("cause-s0-fairness", "groups.access_jitter", ""),
    ("cause-s0-late-bic", "groups.parameters.fast_convergence", ""),
    ("cause-s0-length", "duration, window", ""),
    // one, and both
    ("cause-s0-standard", "duration, groups.access_jitter, window", ""),
    ("cause-s0-tick", "groups.access_jitter", ""),
    // one, the other, and both
    ("cause-s1-bic", "groups.parameters.ack_ratio, groups.parameters.fast_convergence", ""),
    ("cause-s1-jitter", "groups.access_jitter", ""),
    // one or the other
    ("cause-s1-parallel", "groups.tcp.sack, links.spec.loss", "duration, window"),
    // one by one, and the first three together
    (
        "cause-s1-queue",
        "groups.parameters.ack_ratio, groups.parameters.max_step_pkts, groups.tcp.fast_retransmit, links.spec.queue",
        "",
    ),
    // one, the other, and both
    ("cause-s2-gamma", "groups.parameters.burst_control, groups.parameters.gamma_low_pkts", ""),
    // one or both, and the link of the host, which the paper's scenario has not
    ("cause-s2-hosts", "groups.tcp.sack, own links.spec.loss", "groups.path, own links"),
    // and whether the link of the host, which the paper's scenario has not, loses bursts
    ("cause-s2-impact", "groups.tcp.sack, own links.spec.loss", "groups.path, own links"),
    ("cause-s2-loss", "links.spec.loss", ""),
    // beside the paper's scenario itself
    ("cause-s2-queue", "", "links.spec.queue"),
    ("cause-s2-sack", "groups.tcp.sack", ""),
    ("cause-s3-acks", "groups.tcp.ack_every_pkts", ""),
    ("cause-s3-compound", "groups.parameters.alpha_shift", ""),
    ("cause-s3-friendliness", "groups.parameters.zeta_rtts", ""),
    ("cause-s3-jitter", "groups.access_jitter", ""),
    // Repeats differ by when they begin.
    ("cause-s3-loss", "links.spec.loss", "groups.start_spread"),
    ("cause-s3-rtt-fairness", "links.spec.queue", ""),
    ("cause-s3-start", "window", ""),
    ("cause-s3-zeta", "groups.parameters.zeta_rtts", ""),
    ("cause-s4-bic", "groups.parameters.fast_convergence", ""),
    ("cause-s4-fast", "groups.parameters.mi", ""),
    ("cause-s4-jitter", "groups.access_jitter", ""),
    ("cause-s4-same-start", "groups.access_jitter", ""),
];

/// Values of a setup by their paths.
type Values = BTreeMap<String, String>;

/// Begins a value of a link that only one of two setups has.
const OWN: &str = "own ";

/// What does not decide what TCP does.
const INSTRUMENTS: [&str; 3] = ["name", "sample_interval", "rate_interval"];

/// Groups that begin first come first, and links are counted from the last: a scenario may name them in another order, and put a
/// link before the others.
fn ordered(setup: &PointSpec) -> PointSpec {
    let mut setup = setup.clone();
    setup.groups.sort_by_key(|group| group.schedule.first().map(|times| times.start));
    setup.links.reverse();
    let last = setup.links.len() - 1;
    setup.groups.iter_mut().flat_map(|group| &mut group.path).for_each(|link| *link = last - *link);
    setup
}

/// Each value of a setup by its path, from what `Debug` writes: `groups[0].tcp.mss_bytes`.
fn values(setup: &PointSpec) -> Values {
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut values = BTreeMap::new();
    for line in format!("{setup:#?}").lines().map(str::trim) {
        if line.starts_with(['}', ']', ')']) {
            open.pop();
            continue;
        }
        let (label, value) = match line.split_once(": ") {
            Some((name, value)) => (format!(".{name}"), value),
            None => (open.last().map_or_else(String::new, |(_, next)| format!("[{next}]")), line),
        };
        if let Some((_, next)) = open.last_mut() {
            *next += 1;
        }
        if value.ends_with(['{', '[', '(']) {
            open.push((label, 0));
        } else {
            let path: String = open.iter().map(|(label, _)| label.as_str()).chain([label.as_str()]).collect();
            values.insert(path.trim_start_matches('.').to_owned(), value.trim_end_matches(',').to_owned());
        }
    }
    values
}

/// `groups.parameters.beta`: what a path is of, whichever link, group or flow it is.
fn kind(path: &str, values: &Values) -> String {
    let name = |path: &str| values.get(&format!("{}.name", path.replace("values[", "parameters["))).cloned();
    let path = match path.split_once("parameters.values[") {
        Some((before, _)) => format!("{before}parameters.{}", name(path).unwrap_or_default().trim_matches('"')),
        None => path.to_owned(),
    };
    let words = path.split('.').map(|word| word.split('[').next().unwrap_or(word));
    let depth = if path.starts_with("duration") || path.starts_with("window") { 1 } else { 3 };
    words.take(depth).collect::<Vec<_>>().join(".")
}

/// How many values of one are not in the other, and the other way round.
fn distance(one: &Values, other: &Values) -> usize {
    let lacks =
        |one: &Values, other: &Values| one.iter().filter(|(path, value)| other.get(*path) != Some(value)).count();
    lacks(one, other) + lacks(other, one)
}

/// In what two setups differ; of a link that one of them lacks, all its values ([`OWN`]).
fn differences(one: &Values, other: &Values) -> BTreeSet<String> {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = paths.into_iter().filter(|path| one.get(*path) != other.get(*path));
    let kinds = differ.map(|path| {
        let link = path.split_once("].").filter(|(link, _)| link.starts_with("links["));
        let has = |values: &Values| link.is_none_or(|(link, _)| values.contains_key(&format!("{link}].name")));
        let values = if one.contains_key(path) { one } else { other };
        let kind = kind(path, values);
        if has(one) && has(other) {
            kind
        } else {
            format!("{OWN}{kind}: {}", values[path])
        }
    });
    kinds.filter(|kind| !INSTRUMENTS.iter().any(|it| kind.ends_with(it))).collect()
}

/// What they are, without their values; links of one side that are the same at all points are one thing.
fn text(kinds: &BTreeSet<String>, are_the_same: bool) -> String {
    let word = |kind: &str| match kind.split_once(": ") {
        Some(_) if are_the_same => format!("{OWN}links"),
        own => own.map_or(kind, |(own, _)| own).to_owned(),
    };
    let words: BTreeSet<String> = kinds.iter().map(|kind| word(kind)).collect();
    words.into_iter().collect::<Vec<_>>().join(", ")
}

/// The scenarios in which the statements stand whose causes this one shows, with their testbed's noise, too.
fn papers<'a>(cause: &Scenario, scenarios: &'a [Scenario]) -> Vec<&'a Scenario> {
    let ids: Vec<&str> = cause.statements.iter().filter_map(|claim| claim.stands.strip_prefix(CAUSE_OF)).collect();
    let ids: Vec<&str> = ids.iter().filter_map(|id| id.split(' ').next()).collect();
    let has = |scenario: &Scenario, id: &str| {
        scenario.statements.iter().any(|claim| claim.id == id && !claim.stands.starts_with(CAUSE_OF))
    };
    for id in &ids {
        assert!(scenarios.iter().any(|scenario| has(scenario, id)), "{}: there is no {id}", cause.name);
    }
    scenarios.iter().filter(|scenario| ids.iter().any(|id| has(scenario, id))).collect()
}

/// In what each point differs from the point of the papers' that it is nearest to.
fn changes(cause: &Scenario, scenarios: &[Scenario]) -> Vec<BTreeSet<String>> {
    let points = papers(cause, scenarios).into_iter().flat_map(|scenario| &scenario.points);
    let points: Vec<Values> = points.map(|point| values(&ordered(&point.setup))).collect();
    let own = cause.points.iter().map(|point| values(&ordered(&point.setup)));
    own.filter_map(|own| Some(differences(&own, points.iter().min_by_key(|it| distance(&own, it))?))).collect()
}

/// A cause is in what its own points differ from each other. What they have in common against the paper is not: such as that
/// they last half as long.
#[test]
fn each_cause_is_the_papers_scenario_and_one_thing_changed() {
    let folder = file("configs/scenarios");
    let read = |it: &Shipped| {
        let path = folder.join(it.name).with_extension("toml");
        let noisy = Scenario::at_testbed(&path, it.text, &[]).unwrap();
        [Some(Scenario::of_text(&path, it.text, &[]).unwrap()), noisy]
    };
    let scenarios: Vec<Scenario> = shipped().iter().flat_map(read).flatten().collect();
    let causes = scenarios.iter().filter(|it| it.name.starts_with("cause-") && !it.is_testbed);
    let mut found = Vec::new();
    for cause in causes {
        let changes = changes(cause, &scenarios);
        assert_eq!(changes.len(), cause.points.len());
        let common = changes.iter().cloned().reduce(|one, other| &one & &other).unwrap();
        let all: BTreeSet<String> = changes.into_iter().flatten().collect();
        found.push((cause.name.clone(), text(&(&all - &common), false), text(&common, true)));
    }
    let expected: Vec<_> =
        CHANGED.map(|(name, changed, common)| (name.to_owned(), changed.to_owned(), common.to_owned())).into();
    assert_eq!(found, expected, "{found:#?}");
}
