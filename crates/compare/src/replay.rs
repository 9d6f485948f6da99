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

use crate::file::{Header, Recording};
use crate::hooks::HOOK_NAMES;
use crate::native::{self, call, call_socket, socket_of, tcp_sock, Algorithm};
use crate::twins::{Kind, Twin};

/// The module's private state: reads its members.
#[derive(Clone, Copy)]
pub struct Module<'a> {
    header: &'a Header,
    /// The socket that it is of.
    pub socket: &'a call_socket,
    /// The call.
    pub call: &'a call,
}

impl Module<'_> {
    /// A member of the private state.
    ///
    /// # Panics
    /// Where the module's struct has no such member: the mapping is for another kernel.
    pub fn get(&self, name: &str) -> u64 {
        let member = self.header.state.iter().find(|member| member.name == name);
        let member = member.unwrap_or_else(|| panic!("{}: no member {name}", self.header.algorithm));
        let (word, shift) = (member.bit_offset as usize / 64, member.bit_offset % 64);
        let value = self.socket.ca_priv[word] >> shift;
        if member.bits >= 64 {
            value
        } else {
            value & ((1 << member.bits) - 1)
        }
    }

    /// A member that is a time in jiffies, on our clock of microseconds.
    pub fn time_us(&self, name: &str) -> u64 {
        self.time_of_jiffies(self.get(name) as u32)
    }

    /// A time in jiffies on our clock.
    pub fn time_of_jiffies(&self, jiffies: u32) -> u64 {
        let ago = i64::from((self.call.jiffies as u32).wrapping_sub(jiffies) as i32);
        (self.call.before.tcp_mstamp as i64 - ago * self.us_per_jiffy() as i64).max(0) as u64
    }

    /// Length of a jiffy.
    pub fn us_per_jiffy(&self) -> u64 {
        1_000_000 / self.header.jiffies_per_s
    }
}

/// Our side of a call: the socket with our private state in it.
#[derive(Clone)]
pub struct Ours<'a> {
    /// The socket.
    pub tp: tcp_sock,
    layout: &'a Layout,
    state: [u8; native::STATE_BYTES],
}

impl<'a> Ours<'a> {
    fn new(socket: &call_socket, layout: &'a Layout) -> Self {
        Self { tp: socket_of(socket), layout, state: [0; native::STATE_BYTES] }
    }

    /// A field of our state.
    pub fn get(&self, name: &str) -> i128 {
        let field = self.layout.field(name).unwrap_or_else(|| panic!("our state has no {name}"));
        field.read(&self.state).expect("fields lie within the state")
    }

    /// Sets a field of our state.
    pub fn set(&mut self, name: &str, value: impl TryInto<i128>) {
        let field = self.layout.field(name).unwrap_or_else(|| panic!("our state has no {name}"));
        field.write(&mut self.state, value.try_into().unwrap_or_default());
    }

    /// Lets `cc_cwnd_limited` say this.
    pub fn set_limited(&mut self, limited: bool) {
        self.tp.max_packets_out = if limited { self.tp.snd_cwnd } else { 0 };
        self.tp.set_is_cwnd_limited(u32::from(limited));
    }
}

/// What a call left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Window.
    pub cwnd: u32,
    /// Credit in the socket.
    pub credit: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
    /// What `ssthresh`, `undo_cwnd` and `min_tso_segs` returned.
    pub returned: u32,
    /// Rate, whether there is one, and the application's mark.
    pub pacing: (u64, u32, u32),
    /// Compared fields of our state, in the twin's order.
    pub state: Vec<i128>,
}

/// One call on its way through the comparison.
pub struct Trial<'a> {
    /// Module before the call.
    pub before: Module<'a>,
    /// Module after it.
    pub after: Module<'a>,
    /// Arguments that our hook is called with.
    pub call: call,
    /// Our socket before the call.
    pub ours: Ours<'a>,
    /// What the module left, in our terms.
    pub expected: Outcome,
    /// What our hook left.
    pub got: Outcome,
    /// Our socket after our hook.
    pub result: Ours<'a>,
    player: &'a Player<'a>,
}

impl<'a> Trial<'a> {
    /// Calls our hook on another socket, or with other arguments.
    pub fn run(&self, mut ours: Ours<'a>, call: &call) -> (Ours<'a>, u32) {
        let returned = self.player.run(&mut ours, call);
        (ours, returned)
    }

    /// Calls our hook, of the algorithm with its second set of parameters.
    pub fn run_other(&self, mut ours: Ours<'a>, call: &call) -> (Ours<'a>, u32) {
        let returned = run_with(self.player.other, &mut ours, call);
        (ours, returned)
    }

    /// Is what our hook left what the module left, apart from these: `cwnd`, `credit`, `ssthresh`, `returned`, or fields?
    pub fn equal_but(&self, but: &[&str]) -> bool {
        let fields = self.player.twin.fields(self.call.hook);
        let same = |name: &str, same: bool| same || but.contains(&name);
        same("cwnd", self.got.cwnd == self.expected.cwnd)
            && same("credit", self.got.credit == self.expected.credit)
            && same("ssthresh", self.got.ssthresh == self.expected.ssthresh)
            && same("returned", self.got.returned == self.expected.returned)
            && same("pacing", self.got.pacing == self.expected.pacing)
            && fields.iter().enumerate().all(|(i, name)| same(name, self.got.state[i] == self.expected.state[i]))
    }

    /// Does our `cong_avoid` on this socket want this many packets for one more packet of window, no more and no fewer?
    pub fn divisor_is(&self, mut probe: Ours<'a>, divisor: u32) -> bool {
        let cwnd = probe.tp.snd_cwnd;
        probe.tp.snd_ssthresh = probe.tp.snd_ssthresh.min(cwnd);
        probe.tp.snd_cwnd_clamp = u32::MAX;
        probe.set_limited(true);
        let call = call { argument: 1, ..self.call };
        let grows_from = |credit: u32| {
            let mut probe = probe.clone();
            probe.tp.snd_cwnd_cnt = credit;
            self.run(probe, &call).0.tp.snd_cwnd > cwnd
        };
        match divisor {
            0 => false,
            1 => grows_from(0),
            _ => grows_from(divisor - 1) && !grows_from(divisor - 2),
        }
    }

    /// Packets acked for one more packet of window, as our `cong_avoid` has it on this socket, outside slow start.
    pub fn divisor_of(&self, mut probe: Ours<'a>, other: bool) -> Option<u32> {
        let cwnd = probe.tp.snd_cwnd;
        probe.tp.snd_cwnd_cnt = 0;
        probe.tp.snd_cwnd_clamp = u32::MAX;
        probe.tp.snd_ssthresh = probe.tp.snd_ssthresh.min(probe.tp.snd_cwnd);
        probe.set_limited(true);
        let many = 1 << 24;
        let call = call { argument: many, ..self.call };
        let (after, _) = if other { self.run_other(probe, &call) } else { self.run(probe, &call) };
        let grown = after.tp.snd_cwnd.checked_sub(cwnd)?;
        (many - after.tp.snd_cwnd_cnt).checked_div(grown)
    }
}

struct Player<'a> {
    twin: &'static Twin,
    algorithm: &'a Algorithm,
    other: &'a Algorithm,
}

impl Player<'_> {
    fn run(&self, ours: &mut Ours<'_>, call: &call) -> u32 {
        run_with(self.algorithm, ours, call)
    }

    fn outcome(&self, ours: &Ours<'_>, returned: u32, hook: u32) -> Outcome {
        let returns = [native::CALL_SSTHRESH, native::CALL_UNDO_CWND, native::CALL_MIN_TSO_SEGS].contains(&hook);
        let sk = &ours.tp.inet_conn.sk;
        Outcome {
            cwnd: ours.tp.snd_cwnd,
            credit: if self.twin.own_credit { 0 } else { ours.tp.snd_cwnd_cnt },
            ssthresh: ours.tp.snd_ssthresh,
            returned: if returns { returned } else { 0 },
            pacing: (sk.sk_pacing_rate, sk.sk_pacing_status, ours.tp.app_limited),
            state: self.twin.fields(hook).iter().map(|name| ours.get(name)).collect(),
        }
    }

    fn trial<'b>(&'b self, header: &'b Header, layout: &'b Layout, call: &'b call) -> Trial<'b> {
        let before = Module { header, socket: &call.before, call };
        let after = Module { header, socket: &call.after, call };
        let mut ours = Ours::new(&call.before, layout);
        (self.twin.map)(&before, &mut ours);
        let mut theirs = Ours::new(&call.after, layout);
        (self.twin.map)(&after, &mut theirs);
        // What the hook does not write may have changed in a nested one; both sides have it from the recording.
        let hook = self.twin.answering(call.hook);
        let expected = self.outcome(&theirs, call.returned, hook);
        let mut trial = Trial {
            before,
            after,
            call: native::call { hook, ..*call },
            result: ours.clone(),
            ours,
            got: expected.clone(),
            expected,
            player: self,
        };
        if let Some(feed) = self.twin.feed {
            feed(&mut trial);
        }
        self.play(&mut trial);
        trial
    }

    fn play(&self, trial: &mut Trial<'_>) {
        let mut result = trial.ours.clone();
        let returned = self.run(&mut result, &trial.call);
        trial.got = self.outcome(&result, returned, trial.call.hook);
        trial.result = result;
    }
}

fn run_with(algorithm: &Algorithm, ours: &mut Ours<'_>, call: &call) -> u32 {
    ours.tp.inet_conn.icsk_ca_priv = native::state_words(&ours.state);
    let returned = algorithm.call(call, &mut ours.tp).unwrap_or_default();
    ours.state = native::state_bytes(&ours.tp.inet_conn.icsk_ca_priv);
    returned
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
    /// Calls that were not compared: of hooks that ours does not have, before `init`, or left out by the twin.
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
    twin: &'static Twin,
    algorithm: &Algorithm,
    other: &Algorithm,
    mode: Mode,
) -> Result<Tally> {
    let layout = ccctl_catalog::algorithm(twin.name).context("both builds are made of the same files")?.layout();
    let player = Player { twin, algorithm, other };
    let mut tally = Tally { intended: vec![0; twin.rules.len()], ..Tally::default() };
    let early = before_init(&recording.calls);
    for (number, call) in recording.calls.iter().enumerate() {
        let hook = HOOK_NAMES[call.hook as usize];
        if call.hook == native::CALL_INIT {
            tally.connections += 1;
        }
        *tally.by_hook.entry(hook).or_default() += 1;
        if early[number] || (twin.skip)(call) || !algorithm.has(twin.answering(call.hook)) {
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

/// Calls of a connection that come before its `init`: the core tells of the SYN's ACK first. Nothing of them is left after it.
fn before_init(calls: &[call]) -> Vec<bool> {
    let mut begun: BTreeMap<u64, u32> = BTreeMap::new(); // packets delivered at the socket's next init
    let mut early = vec![false; calls.len()];
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
    if player.twin.law.is_some_and(|law| !law(trial)) {
        return Verdict::Mismatch;
    }
    if trial.got == trial.expected {
        return Verdict::Equal;
    }
    let fresh = (trial.ours.clone(), trial.call);
    // Each one by itself, then one after the other.
    for cumulative in [false, true] {
        (trial.ours, trial.call) = fresh.clone();
        for (index, rule) in player.twin.rules.iter().enumerate() {
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
    let fields = trial.player.twin.fields(call.hook);
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

/// The values of a profile's parameters, and of others on top of it.
pub fn parameters(algorithm: &str, more: &[(&str, &str)]) -> Result<Vec<u32>> {
    let layout = ccctl_catalog::algorithm(algorithm).context("the twin is one of ours")?.layout();
    let mut set = ParameterSet::defaults(algorithm, &layout.parameters);
    let profile = Profile::named("linux")?;
    if profile.algorithms().any(|name| name == algorithm) {
        profile.apply(algorithm, &mut set)?;
    }
    for (key, value) in more {
        set.set(key, value)?;
    }
    Ok(set.iter().map(|(_, value)| value).collect())
}
