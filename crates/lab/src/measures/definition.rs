// SPDX-License-Identifier: GPL-2.0-only
//! What measures there are. `docs/reference/scenarios.md` has the formulas.

use ccctl_series::columns;

/// What a measure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A set of flows.
    Flows,
    /// Two sets of flows.
    Pair,
    /// A link.
    Link,
}

/// A measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Definition {
    /// As scenarios name it.
    pub name: &'static str,
    /// Its unit; "1" for a pure number.
    pub unit: &'static str,
    /// What it is about.
    pub about: About,
    /// In a few words, for headings.
    pub title: &'static str,
    /// It is a quotient of means over repeats with those at the baseline.
    pub needs_baseline: bool,
    /// No value is outside: a share is from 0 to 100 %, a rate at least 0. Intervals and axes end there.
    pub range: (f64, f64),
}

const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
const NOT_NEGATIVE: (f64, f64) = (0.0, f64::INFINITY);
const PER_CENT: (f64, f64) = (0.0, 100.0);
const UP_TO_ONE: (f64, f64) = (0.0, 1.0);

const fn of(name: &'static str, unit: &'static str, about: About, title: &'static str) -> Definition {
    Definition { name, unit, about, title, needs_baseline: false, range: NOT_NEGATIVE }
}

const fn within(range: (f64, f64), definition: Definition) -> Definition {
    Definition { range, ..definition }
}

const fn against_baseline(name: &'static str, unit: &'static str, title: &'static str) -> Definition {
    Definition { needs_baseline: true, ..of(name, unit, About::Flows, title) }
}

/// All of them but `state.FIELD`.
pub const DEFINITIONS: &[Definition] = &[
    of("goodput", "Mbit/s", About::Flows, "goodput"),
    of("goodput_per_flow", "Mbit/s", About::Flows, "goodput of a flow"),
    of("goodput_p90", "Mbit/s", About::Flows, "90th percentile of the goodput over time"),
    within(PER_CENT, of("share", "%", About::Flows, "share of the link")),
    of("throughput_ratio", "1", About::Pair, "ratio of goodputs"),
    within(UP_TO_ONE, of("slow_over_fast", "1", About::Flows, "slowest over fastest flow")),
    within((-1.0, 1.0), of("asymmetry", "1", About::Pair, "asymmetry A")),
    of("sigma_f", "1", About::Flows, "fairness sigma_f"),
    of("xi_f", "1", About::Flows, "fairness over time xi_f, as printed"),
    of("xi_f_rms", "1", About::Flows, "fairness over time xi_f, root mean square"),
    within(UP_TO_ONE, of("jain", "1", About::Flows, "Jain's index")),
    within((-100.0, f64::INFINITY), against_baseline("impact", "%", "impact on a flow")),
    against_baseline("fair_to_reno", "1", "Fair-to-Reno"),
    of("convergence_time", "s", About::Flows, "time to equal shares"),
    of("smoothness", "1", About::Flows, "variation of the rate"),
    of("retransmits", "packets", About::Flows, "retransmissions"),
    within(PER_CENT, of("retransmit_rate", "%", About::Flows, "retransmissions")),
    of("rtos", "1", About::Flows, "timeouts"),
    of("loss_epochs", "1", About::Flows, "loss epochs"),
    of("backoff", "1", About::Flows, "backoff factor"),
    of("cwnd_mean", "packets", About::Flows, "mean window"),
    of("cwnd_peak", "packets", About::Flows, "largest window"),
    of("srtt_mean", "ms", About::Flows, "mean smoothed RTT"),
    of("srtt_p95", "ms", About::Flows, "95th percentile of the smoothed RTT"),
    of("fct_mean", "s", About::Flows, "mean completion time"),
    of("fct_p50", "s", About::Flows, "median completion time"),
    of("fct_p95", "s", About::Flows, "95th percentile of completion times"),
    of("fct_p99", "s", About::Flows, "99th percentile of completion times"),
    of("transfers", "1", About::Flows, "transfers that ended"),
    within(PER_CENT, of("utilisation", "%", About::Link, "use of the link")),
    of("queue_mean", "packets", About::Link, "mean queue"),
    of("queue_p95", "packets", About::Link, "95th percentile of the queue"),
    of("queue_peak", "packets", About::Link, "largest queue"),
    of("queue_normalised", "1", About::Link, "mean queue over its size"),
    within(PER_CENT, of("loss_rate", "%", About::Link, "packets dropped or lost")),
    of("drops", "packets", About::Link, "packets dropped"),
    of("losses", "packets", About::Link, "packets lost on the link"),
    of("marks", "packets", About::Link, "packets marked"),
];

const STATE: Definition = within(ANY, of("state", "1", About::Flows, "state of the algorithm"));

/// The measure of this name.
#[must_use]
pub fn definition(name: &str) -> Option<Definition> {
    if name.strip_prefix(columns::STATE_PREFIX).is_some_and(|field| !field.is_empty()) {
        return Some(STATE);
    }
    DEFINITIONS.iter().find(|definition| definition.name == name).copied()
}

/// How many of one unit make one of the other; none where they measure different things.
#[must_use]
pub fn conversion(from: &str, to: &str) -> Option<f64> {
    const FAMILIES: [&[(&str, f64)]; 3] = [
        &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)],
        &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)],
        &[("1", 1.0), ("%", 0.01)],
    ];
    if from == to {
        return Some(1.0);
    }
    let factor = |family: &[(&str, f64)], unit: &str| family.iter().find(|(name, _)| *name == unit).map(|it| it.1);
    FAMILIES.iter().find_map(|family| Some(factor(family, from)? / factor(family, to)?))
}

/// The range of a measure by its full name: `asymmetry` of `asymmetry:first/second`.
#[must_use]
pub fn range(name: &str) -> (f64, f64) {
    let bare = name.split([':', '@']).next().unwrap_or(name);
    definition(bare).map_or(ANY, |definition| definition.range)
}
