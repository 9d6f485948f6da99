// SPDX-License-Identifier: GPL-2.0-only
//! Calls of our own BPF programs, recorded in a kernel, replayed natively and by the simulator's interpreter: all three have to
//! give the same state, byte for byte, the same fields of the socket, and the same answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Context as _, Result};
use ccctl_catalog::{ParameterSet, Target};
use ccctl_sim::{Instance, Program};

use crate::build;
use crate::file::{Recording, PROGRAM};
use crate::hooks::HOOK_NAMES;
use crate::mutant::{mutants, Mutant};
use crate::mutants::plant;
use crate::native::{self, call, socket_of, tcp_sock, Algorithm};

/// Ending of a recording's name.
const ENDING: &str = "programs";
/// A hook that has drawn a random number in the kernel is tried with this many others: for one of seven phases, a chance of
/// 10^-26 to find none.
const DRAWS: u64 = 400;

/// Algorithms of different kinds, each with an error that both engines have to show.
const ALGORITHMS: [(&str, &[Mutant]); 4] = [
    ("reno", mutants! { here: "ca->slow_start_after_rto = false;" => "ca->slow_start_after_rto = true;"; }),
    ("cubic", mutants! { here: "(1024 + p->beta_q10) / 2048" => "(1024 + p->beta_q10) / 1024"; }),
    ("vegas", mutants! { here: "diff < p->alpha_pkts" => "diff <= p->alpha_pkts"; }),
    ("bbr", mutants! { here: "rtt_us < ca->min_rtt_us ||" => "rtt_us <= ca->min_rtt_us ||"; }),
];

/// One engine with one program.
enum Engine {
    Native(Algorithm),
    Interpreter(Instance),
}

impl Engine {
    const NAMES: [&str; 2] = ["native", "interpreted"];

    /// Both: of this C file, and of this object.
    fn both(name: &'static str, source: &Path, object: &[u8], work: &Path) -> Result<[Self; 2]> {
        let algorithm = ccctl_catalog::algorithm(name).context("both builds are made of the same files")?;
        let defaults = ParameterSet::defaults(name, &algorithm.layout().parameters);
        let values: Vec<u32> = defaults.iter().map(|(_, value)| value).collect();
        let library = work.join(format!("{name}.so"));
        fs::write(&library, ccctl_catalog::compile(source, Target::Native)?)?;
        let native = Algorithm::load(&library, name, &values)?;
        let program = Program::of_bytes(algorithm, object)?;
        Ok([Self::Native(native), Self::Interpreter(Instance::of_program(program, &defaults)?)])
    }

    fn has(&self, hook: u32) -> bool {
        match self {
            Self::Native(algorithm) => algorithm.has(hook),
            Self::Interpreter(instance) => instance.interprets(HOOK_NAMES[hook as usize]),
        }
    }

    fn call(&self, call: &call, tp: &mut tcp_sock) -> Option<u32> {
        match self {
            Self::Native(algorithm) => algorithm.call(call, tp),
            Self::Interpreter(instance) => native::interpret(instance, call, tp),
        }
    }

    fn fault(&self) -> Option<String> {
        match self {
            Self::Native(_) => None,
            Self::Interpreter(instance) => instance.fault(),
        }
    }

    /// What is different from what the kernel has; empty: nothing. A hook that draws random numbers may draw others.
    fn differs(&self, call: &call) -> Vec<String> {
        let mut first = Vec::new();
        for draw in 0..DRAWS {
            let mut tp = socket_before(call);
            tp.random_state = draw;
            let returned = self.call(call, &mut tp);
            let different = differences(call, &tp, returned);
            if different.is_empty() {
                return different;
            }
            if draw == 0 {
                first = different;
            }
            if tp.random_state == draw {
                break; // none was drawn
            }
        }
        first
    }
}

/// The socket that the program was called with, with its own state.
fn socket_before(call: &call) -> tcp_sock {
    let mut tp = socket_of(&call.before);
    tp.inet_conn.icsk_ca_priv = call.before.ca_priv;
    tp.rtt_min.s[0].v = call.extra[native::CALL_EXTRA_RTT_MIN as usize] as u32;
    tp
}

/// All that a program may write, and what it returned.
fn differences(call: &call, tp: &tcp_sock, returned: Option<u32>) -> Vec<String> {
    let (after, sk) = (&call.after, &tp.inet_conn.sk);
    let answers = [native::CALL_SSTHRESH, native::CALL_UNDO_CWND, native::CALL_MIN_TSO_SEGS].contains(&call.hook);
    let fields = [
        ("snd_cwnd", after.snd_cwnd.into(), tp.snd_cwnd.into()),
        ("snd_cwnd_cnt", after.snd_cwnd_cnt.into(), tp.snd_cwnd_cnt.into()),
        ("snd_ssthresh", after.snd_ssthresh.into(), tp.snd_ssthresh.into()),
        ("app_limited", after.app_limited.into(), tp.app_limited.into()),
        ("ecn_flags", after.ecn_flags.into(), tp.ecn_flags.into()),
        ("icsk_ack.pending", after.ack_pending.into(), tp.inet_conn.icsk_ack.pending.into()),
        ("sk_pacing_rate", after.sk_pacing_rate, sk.sk_pacing_rate),
        ("sk_pacing_status", after.sk_pacing_status.into(), sk.sk_pacing_status.into()),
        (
            "its answer",
            if answers { call.returned.into() } else { 0 },
            if answers { returned.map_or(u64::MAX, u64::from) } else { 0 },
        ),
    ];
    let words = after.ca_priv.iter().zip(tp.inet_conn.icsk_ca_priv).enumerate();
    let state = words.map(|(word, (kernel, ours))| (format!("state at byte {}", 8 * word), *kernel, ours));
    let all = fields.map(|(name, kernel, ours)| (name.to_owned(), kernel, ours)).into_iter().chain(state);
    all.filter(|(_, kernel, ours)| kernel != ours)
        .map(|(name, kernel, ours)| format!("{name}: {kernel:#x} in the kernel, {ours:#x} here"))
        .collect()
}

/// What came of one engine.
#[derive(Default)]
struct Tally {
    by_hook: BTreeMap<&'static str, u64>,
    different: u64,
    not_compared: u64,
    examples: Vec<String>,
}

impl Tally {
    fn calls(&self) -> u64 {
        self.by_hook.values().sum()
    }

    /// Hooks that every algorithm has: the window grew, was reduced, and a reduction was undone.
    fn has_all_kinds(&self) -> bool {
        let has = |hook| self.by_hook.contains_key(hook);
        has("ssthresh") && has("undo_cwnd") && (has("cong_avoid") || has("cong_control"))
    }
}

fn replay(recording: &Recording, engine: &Engine) -> Result<Tally> {
    let mut tally = Tally::default();
    for (number, call) in recording.calls.iter().enumerate() {
        let hook = HOOK_NAMES[call.hook as usize];
        if !engine.has(call.hook) {
            tally.not_compared += 1;
            continue;
        }
        *tally.by_hook.entry(hook).or_default() += 1;
        let different = engine.differs(call);
        if !different.is_empty() {
            tally.different += 1;
            if tally.examples.len() < 5 {
                tally.examples.push(format!("call {number}, {hook}: {}", different.join("; ")));
            }
        }
    }
    match engine.fault() {
        Some(fault) => anyhow::bail!(fault),
        None => Ok(tally),
    }
}

/// Replays `ALGORITHM.programs` of the folder, of these algorithms or of all that have one, and prints two lines for each.
///
/// # Errors
/// A call differs; the interpreter lacks a hook; an error that was planted is not seen; no growth, no reduction or no undo was
/// recorded; there is no recording.
pub fn replay_programs(folder: &Path, names: &[String], work: &Path) -> Result<()> {
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let path = |name: &str| folder.join(format!("{name}.{ENDING}"));
    let found: Vec<_> = ALGORITHMS.iter().filter(|(name, _)| wanted(name) && path(name).exists()).collect();
    ensure!(!found.is_empty(), "no recordings of programs in {}", folder.display());
    let mut wrong = Vec::new();
    for (name, planted) in found {
        let recording = Recording::read(&path(name))?;
        ensure!(recording.header.implementation == PROGRAM, "{} is not of a program", path(name).display());
        if !agrees(name, &recording, planted, work)? {
            wrong.push(*name);
        }
    }
    ensure!(wrong.is_empty(), "kernel, native code and interpreter do not agree: {}", wrong.join(" "));
    Ok(())
}

fn agrees(name: &'static str, recording: &Recording, planted: &[Mutant], work: &Path) -> Result<bool> {
    let object = ccctl_catalog::algorithm(name).context("both builds are made of the same files")?.object();
    let engines = Engine::both(name, &source(name), object, work)?;
    let caught = caught(name, recording, planted, work)?;
    let mut fine = true;
    for ((engine, kind), caught) in engines.iter().zip(Engine::NAMES).zip(caught) {
        let tally = replay(recording, engine)?;
        println!(
            "{name:6} {kind:11} {:6} calls, {} different, {} not compared, errors caught {caught} of {}: {}",
            tally.calls(),
            tally.different,
            tally.not_compared,
            planted.len(),
            tally.by_hook.iter().map(|(hook, count)| format!("{hook} {count}")).collect::<Vec<_>>().join(", ")
        );
        tally.examples.iter().for_each(|example| println!("  {example}"));
        let is_complete = tally.has_all_kinds() && (tally.not_compared == 0 || matches!(engine, Engine::Native(_)));
        fine &= tally.different == 0 && is_complete && caught == planted.len();
    }
    Ok(fine)
}

/// How many of these errors each engine shows.
fn caught(name: &'static str, recording: &Recording, planted: &[Mutant], work: &Path) -> Result<[usize; 2]> {
    let mut caught = [0, 0];
    for (number, error) in planted.iter().enumerate() {
        let folder = work.join(format!("{name}-{number}"));
        let changed = plant(name, error, &folder)?;
        let object = ccctl_catalog::compile(&changed, Target::Bpf)?;
        let engines = Engine::both(name, &changed, &object, &folder)?;
        for (engine, caught) in engines.iter().zip(&mut caught) {
            *caught += usize::from(replay(recording, engine)?.different > 0);
        }
    }
    Ok(caught)
}

fn source(name: &str) -> PathBuf {
    build::bpf_folder().join(format!("algorithms/{name}.bpf.c"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::native::{call_socket, CALL_SSTHRESH};

    #[test]
    fn each_error_has_its_place() {
        for (name, planted) in ALGORITHMS {
            let text = fs::read_to_string(source(name)).unwrap();
            assert!(!planted.is_empty(), "{name} has none");
            for error in planted {
                assert_ne!(error.in_text(&text).unwrap(), text, "{name}");
            }
        }
    }

    /// Changes a field.
    type Change = fn(&mut call_socket);

    #[test]
    fn a_change_of_anything_that_a_program_may_write_is_a_difference() {
        let changes: [(&str, Change); 10] = [
            ("snd_cwnd", |socket| socket.snd_cwnd += 1),
            ("snd_cwnd_cnt", |socket| socket.snd_cwnd_cnt += 1),
            ("snd_ssthresh", |socket| socket.snd_ssthresh += 1),
            ("app_limited", |socket| socket.app_limited += 1),
            ("ecn_flags", |socket| socket.ecn_flags += 1),
            ("icsk_ack.pending", |socket| socket.ack_pending += 1),
            ("sk_pacing_rate", |socket| socket.sk_pacing_rate += 1),
            ("sk_pacing_status", |socket| socket.sk_pacing_status += 1),
            ("state at byte 0", |socket| socket.ca_priv[0] ^= 1 << 63),
            ("state at byte 96", |socket| socket.ca_priv[12] += 1),
        ];
        let same = call { hook: CALL_SSTHRESH, returned: 7, ..call::default() };
        let tp = socket_before(&same);
        assert!(differences(&same, &tp, Some(7)).is_empty());
        assert_eq!(differences(&same, &tp, None).len(), 1, "no answer is no 0");
        assert_eq!(differences(&same, &tp, Some(8)), ["its answer: 0x7 in the kernel, 0x8 here"]);
        for (name, change) in changes {
            let mut other = same;
            change(&mut other.after);
            let found = differences(&other, &tp, Some(7));
            assert!(found.len() == 1 && found[0].starts_with(name), "{name}: {found:?}");
        }
    }
}
