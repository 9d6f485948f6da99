// SPDX-License-Identifier: GPL-2.0-only
//! Replays recorded calls through our algorithm, each from the module's own state.
//!
//! For each call the module's private state is mapped to ours, field by field, our hook is called with the recorded
//! arguments, and window, credit, ssthresh, what the hook returned, and the mapped state are compared with the module's.
//! Where they differ, the intended differences of this algorithm are tried: each either changes the inputs to what the
//! module acts on (then our code must give the module's answer exactly), or predicts the module's answer out of our code's.
//! What none of them explains is a mismatch.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use ccctl_catalog::{Layout, ParameterSet, Profile};

use crate::counterpart::{Counterpart, Kind};
use crate::file::{Header, Recording};
use crate::hooks::HOOK_NAMES;
use crate::native::{self, call, Algorithm};
use crate::trial::{Module, Ours, Outcome, Trial};

struct Player<'a> {
    counterpart: &'static Counterpart,
    algorithm: &'a Algorithm,
    other: &'a Algorithm,
}

impl Player<'_> {
    fn outcome(&self, ours: &Ours<'_>, returned: u32, hook: u32) -> Outcome {
        let returns = [native::CALL_SSTHRESH, native::CALL_UNDO_CWND, native::CALL_MIN_TSO_SEGS].contains(&hook);
        let sk = &ours.tp.inet_conn.sk;
        Outcome {
            cwnd: ours.tp.snd_cwnd,
            credit: if self.counterpart.own_credit { 0 } else { ours.tp.snd_cwnd_cnt },
            ssthresh: ours.tp.snd_ssthresh,
            returned: if returns { returned } else { 0 },
            pacing: (sk.sk_pacing_rate, sk.sk_pacing_status, ours.tp.app_limited),
            state: self.counterpart.fields(hook).iter().map(|name| ours.get(name)).collect(),
        }
    }

    fn trial<'b>(&'b self, header: &'b Header, layout: &'b Layout, call: &'b call) -> Trial<'b> {
        let before = Module { header, socket: &call.before, call };
        let after = Module { header, socket: &call.after, call };
        let mut ours = Ours::new(&call.before, layout);
        (self.counterpart.map)(&before, &mut ours);
        let mut theirs = Ours::new(&call.after, layout);
        (self.counterpart.map)(&after, &mut theirs);
        // What the hook does not write may have changed in a nested one; both sides have it from the recording.
        let hook = self.counterpart.answering(call.hook);
        let expected = self.outcome(&theirs, call.returned, hook);
        let mut trial = Trial {
            before,
            after,
            call: native::call { hook, ..*call },
            result: ours.clone(),
            ours,
            got: expected.clone(),
            expected,
            fields: self.counterpart.fields(hook),
            algorithm: self.algorithm,
            other: self.other,
        };
        if let Some(feed) = self.counterpart.feed {
            feed(&mut trial);
        }
        self.play(&mut trial);
        trial
    }

    fn play(&self, trial: &mut Trial<'_>) {
        let mut result = trial.ours.clone();
        let returned = result.run(self.algorithm, &trial.call);
        trial.got = self.outcome(&result, returned, trial.call.hook);
        trial.result = result;
    }
}

/// What came out for one call.
enum Verdict {
    Equal,
    Intended(usize),
    Mismatch,
}

/// Counts of a replay.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    /// Calls by hook.
    pub by_hook: BTreeMap<&'static str, u64>,
    /// Calls with the same answer.
    pub equal: u64,
    /// Calls that an intended difference explains, by its index.
    pub intended: Vec<u64>,
    /// Calls that nothing explains.
    pub mismatches: u64,
    /// The first of them, described.
    pub examples: Vec<String>,
    /// Connections.
    pub connections: u64,
    /// Calls that were not compared: of hooks that ours does not have, before `init`, or left out by the counterpart.
    pub without_answer: u64,
}

impl Tally {
    /// All calls.
    pub fn calls(&self) -> u64 {
        self.equal + self.intended.iter().sum::<u64>() + self.mismatches
    }
}

/// What a replay is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All calls.
    All,
    /// Up to the first mismatch.
    UntilMismatch,
    /// Each call once and as it is, for the counters in the library; nothing is judged.
    Count,
}

/// Replays the calls.
pub fn replay(
    recording: &Recording,
    counterpart: &'static Counterpart,
    algorithm: &Algorithm,
    other: &Algorithm,
    mode: Mode,
) -> Result<Tally> {
    let layout = ccctl_catalog::algorithm(counterpart.name).context("both builds are made of the same files")?.layout();
    let player = Player { counterpart, algorithm, other };
    let mut tally = Tally { intended: vec![0; counterpart.rules.len()], ..Tally::default() };
    let early = before_init(&recording.calls);
    for (number, call) in recording.calls.iter().enumerate() {
        let hook = HOOK_NAMES[call.hook as usize];
        if call.hook == native::CALL_INIT {
            tally.connections += 1;
        }
        *tally.by_hook.entry(hook).or_default() += 1;
        if early[number] || (counterpart.skip)(call) || !algorithm.has(counterpart.answering(call.hook)) {
            tally.without_answer += 1;
            continue;
        }
        let mut trial = player.trial(&recording.header, &layout, call);
        if mode == Mode::Count {
            continue;
        }
        match judge(&player, &mut trial) {
            Verdict::Equal => tally.equal += 1,
            Verdict::Intended(rule) => tally.intended[rule] += 1,
            Verdict::Mismatch => {
                tally.mismatches += 1;
                if tally.examples.len() < 12 {
                    tally.examples.push(describe(number, &player.trial(&recording.header, &layout, call)));
                }
                if mode == Mode::UntilMismatch {
                    break;
                }
            }
        }
    }
    Ok(tally)
}

/// Calls of a connection that come before its `init`: the core tells of the SYN's ACK first, and of a SYN that is never
/// answered. Nothing of them is left after it.
fn before_init(calls: &[call]) -> Vec<bool> {
    let mut begun: BTreeMap<u64, u32> = BTreeMap::new(); // packets delivered at the socket's next init
    let mut early = vec![false; calls.len()];
    for (early, call) in early.iter_mut().zip(calls) {
        let sent_a_syn_only = call.before.snd_nxt == call.before.snd_una.wrapping_add(1);
        *early = call.hook != native::CALL_INIT && sent_a_syn_only && call.before.delivered == 0;
    }
    for (number, call) in calls.iter().enumerate().rev() {
        if call.hook == native::CALL_INIT {
            begun.insert(call.socket, call.before.delivered);
        } else if let Some(delivered) = begun.get(&call.socket) {
            if call.before.delivered <= *delivered && call.before.packets_out == 0 {
                early[number] = true;
            } else {
                begun.remove(&call.socket);
            }
        }
    }
    early
}

fn judge(player: &Player<'_>, trial: &mut Trial<'_>) -> Verdict {
    if player.counterpart.law.is_some_and(|law| !law(trial)) {
        return Verdict::Mismatch;
    }
    if trial.got == trial.expected {
        return Verdict::Equal;
    }
    let fresh = (trial.ours.clone(), trial.call);
    // Each one by itself, then one after the other.
    for cumulative in [false, true] {
        (trial.ours, trial.call) = fresh.clone();
        for (index, rule) in player.counterpart.rules.iter().enumerate() {
            if !cumulative {
                (trial.ours, trial.call) = fresh.clone();
            }
            let applies = match rule.kind {
                Kind::Input(change) => {
                    let applies = change(trial);
                    if applies {
                        player.play(trial);
                    }
                    applies && trial.got == trial.expected
                }
                Kind::Predict(explains) => {
                    player.play(trial);
                    explains(trial)
                }
            };
            if applies {
                return Verdict::Intended(index);
            }
        }
    }
    Verdict::Mismatch
}

fn describe(number: usize, trial: &Trial<'_>) -> String {
    let call = &trial.call;
    let fields = trial.fields;
    let before = &trial.before.socket;
    let module: Vec<String> = trial
        .before
        .header
        .state
        .iter()
        .filter(|member| member.bits <= 64 && !member.name.starts_with("plb"))
        .map(|member| format!("{} {}>{}", member.name, trial.before.get(&member.name), trial.after.get(&member.name)))
        .collect();
    format!(
        "call {number} {} argument {} rtt {} pkts {} state {} cwnd {} credit {} ssthresh {} una {} nxt {} limited {} out {}\n    \
         module {:?}\n    ours   {:?} {fields:?}\n    {}",
        HOOK_NAMES[call.hook as usize],
        call.argument,
        call.sample_rtt_us,
        call.sample_pkts,
        before.ca_state,
        before.snd_cwnd,
        before.snd_cwnd_cnt,
        before.snd_ssthresh,
        before.snd_una,
        before.snd_nxt,
        before.is_cwnd_limited,
        before.max_packets_out,
        trial.expected,
        trial.got,
        module.join(" "),
    )
}

/// The values of a counterpart's parameters in replays, and of others on top of them.
pub fn parameters(counterpart: &Counterpart, more: &[(&str, &str)]) -> Result<Vec<u32>> {
    let algorithm = counterpart.name;
    let layout = ccctl_catalog::algorithm(algorithm).context("the counterpart is one of ours")?.layout();
    let mut set = ParameterSet::defaults(algorithm, &layout.parameters);
    let profile = Profile::named("linux")?;
    if profile.algorithms().any(|name| name == algorithm) {
        profile.apply(algorithm, &mut set)?;
    }
    for (key, value) in counterpart.replayed.iter().chain(more) {
        set.set(key, value)?;
    }
    Ok(set.iter().map(|(_, value)| value).collect())
}
