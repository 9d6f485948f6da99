// SPDX-License-Identifier: GPL-2.0-only
//! Vectors of kind trace: events, and what the windows and the state are after them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use serde::Deserialize;

use super::vectors::{Differences, Names};
use crate::{Ack, Flow, Instance};

/// Events, and the values that they must lead to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, u32>,
    initial: Initial,
    events: Vec<Event>,
    expected: BTreeMap<String, Value>,
    #[serde(default)]
    checkpoints: Vec<Checkpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Initial {
    cwnd: u32,
    ssthresh: u32,
    #[serde(default)]
    now_us: u64,
    /// RFC 9768 was negotiated instead of RFC 3168.
    #[serde(default)]
    accurate_ecn: bool,
    #[serde(default)]
    state: BTreeMap<String, Value>,
}

/// null: nothing was measured yet, which our state says with the largest number.
type Value = Option<Number>;

fn number(value: Value) -> i128 {
    value.map_or(0xffff_ffff, i128::from)
}

#[derive(Deserialize)]
struct Checkpoint {
    after_event: usize,
    #[serde(flatten)]
    values: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(tag = "ev", rename_all = "lowercase", deny_unknown_fields)]
enum Event {
    Ack(Acks),
    Acks(Acks),
    Rounds(Rounds),
    Loss {},
    Ecn {},
    Recovered {},
    Rto {},
    Open {},
    Undo {},
    Idle {
        dur_us: u64,
    },
    Restart {},
    Advance {
        #[serde(alias = "dt_us")]
        dur_us: u64,
    },
    Owd(OneWayDelay),
    Window {
        delivered: u32,
        ce: u32,
    },
}

/// A sample of the one-way delay, of an ACK that is not to grow the window.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_field_names)] // the vectors' names
struct OneWayDelay {
    owd_us: u32,
    rtt_us: u64,
    #[serde(default)]
    dt_us: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Acks {
    #[serde(default = "one")]
    n: u32,
    #[serde(default = "one")]
    acked: u32,
    /// Of `acked`, with a congestion mark.
    #[serde(default)]
    marked: u32,
    rtt_us: Option<u64>,
    #[serde(default = "yes")]
    limited: bool,
    #[serde(default)]
    round_end: RoundEnd,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rounds {
    n: u32,
    rtt_us: u64,
    #[serde(default = "one")]
    acked: u32,
    #[serde(default = "yes")]
    limited: bool,
}

/// `true`: each ACK ends a round; `"last"`: the last one does.
#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(untagged)]
enum RoundEnd {
    Each(bool),
    Word(Word),
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Word {
    Last,
}

impl Default for RoundEnd {
    fn default() -> Self {
        Self::Each(false)
    }
}

/// A number, or a flag that we keep as 0 or 1.
#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum Number {
    Integer(i64),
    Flag(bool),
}

impl From<Number> for i128 {
    fn from(number: Number) -> Self {
        match number {
            Number::Integer(value) => value.into(),
            Number::Flag(flag) => flag.into(),
        }
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

impl Trace {
    /// Lets the events happen to a flow of the algorithm, and compares it with what is expected. A value that `tolerance` does
    /// not have must be exact.
    #[must_use]
    pub fn run(&self, algorithm: &str, names: &Names, tolerance: &BTreeMap<String, f64>) -> Differences {
        let mut flow = match self.flow(algorithm, names) {
            Ok(flow) => flow,
            Err(difference) => return vec![difference],
        };
        let mut differences = Vec::new();
        let mut compare = |flow: &Flow, place: &str, values: &BTreeMap<String, Value>| {
            for (name, expected) in values {
                let expected = number(*expected);
                let allowed = tolerance.get(name).copied().unwrap_or(0.0);
                match value(flow, names, name) {
                    Some(found) if (found - expected).unsigned_abs() as f64 <= allowed => {}
                    Some(found) => differences.push(format!("{place}: {name} is {found}, expected {expected}")),
                    None => differences.push(format!("{place}: no state is called {name}")),
                }
            }
        };
        for (index, event) in self.events.iter().enumerate() {
            event.apply(&mut flow);
            for checkpoint in self.checkpoints.iter().filter(|checkpoint| checkpoint.after_event == index) {
                compare(&flow, &format!("after event {index}"), &checkpoint.values);
            }
        }
        compare(&flow, "at the end", &self.expected);
        let beyond = self.checkpoints.iter().filter(|checkpoint| checkpoint.after_event >= self.events.len());
        differences.extend(beyond.map(|checkpoint| format!("there is no event {}", checkpoint.after_event)));
        differences
    }

    fn flow(&self, algorithm: &str, names: &Names) -> Result<Flow, String> {
        let instance =
            Instance::new(algorithm, &self.parameter_set(algorithm, names)?).map_err(|error| error.to_string())?;
        let now = Duration::from_micros(self.initial.now_us);
        let mut flow = Flow::new(Arc::new(instance), self.initial.cwnd, self.initial.ssthresh, now);
        if self.initial.accurate_ecn {
            flow.restart_with_accurate_ecn();
        }
        for (name, value) in &self.initial.state {
            let field = names.state(name);
            if !flow.set_state(field, number(*value)) {
                return Err(format!("{algorithm} keeps no {field}"));
            }
        }
        Ok(flow)
    }

    /// The defaults, then what the profile says, then the vector's own.
    fn parameter_set(&self, algorithm: &str, names: &Names) -> Result<ParameterSet, String> {
        let known = ccctl_catalog::algorithm(algorithm).ok_or_else(|| format!("no algorithm {algorithm}"))?;
        let mut set = ParameterSet::defaults(algorithm, &known.layout().parameters);
        if let Some(profile) = &self.profile {
            let values = names.profiles.get(profile).ok_or_else(|| format!("no profile {profile}"))?;
            for (name, value) in values {
                assign(&mut set, name, *value)?;
            }
        }
        for (name, value) in &self.parameters {
            let ours = names.parameter(name);
            if !ours.is_empty() {
                assign(&mut set, ours, *value)?;
            }
        }
        Ok(set)
    }
}

/// Gives a C member its integer, whether it is a number or a choice of words.
fn assign(set: &mut ParameterSet, member: &str, integer: u32) -> Result<(), String> {
    set.set_member(member, integer).ok_or_else(|| format!("no parameter {member} that can be {integer}"))
}

fn value(flow: &Flow, names: &Names, name: &str) -> Option<i128> {
    match name {
        "cwnd" => Some(flow.cwnd_pkts().into()),
        "ssthresh" => Some(flow.ssthresh_pkts().into()),
        "pacing_rate" => Some(flow.pacing_rate().into()),
        _ => match names.state(name) {
            "snd_cwnd_cnt" => Some(flow.cwnd_cnt_pkts().into()),
            field => flow.state(field),
        },
    }
}

impl Event {
    fn apply(&self, flow: &mut Flow) {
        match self {
            Self::Ack(acks) | Self::Acks(acks) => acks.apply(flow),
            Self::Rounds(rounds) => rounds.apply(flow),
            Self::Loss {} => flow.lost(),
            Self::Ecn {} => flow.marked(),
            Self::Recovered {} => flow.recovered(),
            Self::Rto {} => flow.timed_out(),
            Self::Open {} => flow.opened(),
            Self::Undo {} => flow.undone(),
            Self::Restart {} => flow.restart_announced(),
            Self::Advance { dur_us } => flow.advance(Duration::from_micros(*dur_us)),
            Self::Owd(delay) => delay.apply(flow),
            Self::Window { delivered, ce } => {
                flow.end_round();
                flow.sampled(&Ack { marked_pkts: *ce, ..Ack::of(*delivered, None) });
            }
            Self::Idle { dur_us } => {
                flow.advance(Duration::from_micros(*dur_us));
                flow.tx_started();
            }
        }
    }
}

impl Acks {
    fn apply(&self, flow: &mut Flow) {
        let rtt = self.rtt_us.map(Duration::from_micros);
        for index in 1..=self.n {
            let ends_round = match self.round_end {
                RoundEnd::Each(each) => each,
                RoundEnd::Word(Word::Last) => index == self.n,
            };
            let ack = Ack { marked_pkts: self.marked, cwnd_limited: self.limited, ..Ack::of(self.acked, rtt) };
            acked(flow, &ack, ends_round);
        }
    }
}

impl OneWayDelay {
    /// The peer's clock and ours count in us; the packet was sent one RTT ago.
    fn apply(&self, flow: &mut Flow) {
        let rtt = Duration::from_micros(self.rtt_us);
        flow.advance(Duration::from_micros(self.dt_us));
        flow.set_srtt(rtt);
        let echoed_us = (flow.now().as_micros() as u32).wrapping_sub(self.rtt_us as u32);
        flow.set_fine_time_stamps(echoed_us.wrapping_add(self.owd_us), echoed_us);
        flow.sampled(&Ack::of(1, Some(rtt)));
    }
}

impl Rounds {
    fn apply(&self, flow: &mut Flow) {
        let rtt = Duration::from_micros(self.rtt_us);
        for _ in 0..self.n {
            let start = flow.now();
            let acks = flow.cwnd_pkts().div_ceil(self.acked);
            for index in 1..=acks {
                let elapsed_us = u64::from(index) * self.rtt_us / u64::from(acks);
                flow.set_clock(start + Duration::from_micros(elapsed_us));
                let ack = Ack { cwnd_limited: self.limited, ..Ack::of(self.acked, Some(rtt)) };
                acked(flow, &ack, index == acks);
            }
        }
    }
}

fn acked(flow: &mut Flow, ack: &Ack, ends_round: bool) {
    if let Some(rtt) = ack.rtt {
        flow.set_srtt(rtt);
    }
    if ends_round {
        flow.end_round();
    }
    flow.acked(ack);
}
