// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long it takes to list and to move 100,000 sockets of one namespace, beside `ss`: whole commands, taking turns,
//! their output thrown away. `growth`: processor time from 1,000 to 1,000,000 sockets; `--figure FILE` also draws it.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

mod growth;
mod held;
mod measure;
#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ccctl_testbed::{run, Namespace};
use held::{end, open, ENDS};
use measure::{aim, aims, form, machine, Form, Sample};

const LIMIT: Duration = Duration::from_secs(120);

struct Plan {
    rounds: usize,
    sockets: usize,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if held::is_holder(&words) {
        return;
    }
    let growth = match form() {
        Form::Exact => Some(growth::EXACT),
        _ => words.iter().any(|word| word == "growth").then_some(growth::FULL),
    };
    support::test("sockets", 900, || {
        support::succeeds(&["load", "cubic"]);
        growth.as_ref().map_or_else(listed_and_moved, growth::measure);
        support::succeeds(&["unload", "bpf_cubic", "--force"]);
    });
}

fn listed_and_moved() {
    let plan = match form() {
        Form::Smoke => Plan { rounds: 2, sockets: 1000 },
        _ => Plan { rounds: 15, sockets: 100_000 },
    };
    let namespace = Namespace::new("sockets").unwrap();
    let holders = open(&namespace, plan.sockets / ENDS);
    let heading = format!("{}; {} sockets, idle, in one namespace", machine(), plan.sockets);
    println!("{heading}; {} rounds; ms: median (min to max).\n", plan.rounds);
    println!("| command | ms |\n| --- | --- |");
    let [ours, with_process, ss, ss_with_process] = listings(&plan, &namespace);
    let moving = migrations(&plan, &namespace);
    aims();
    aim(&format!("list {} sockets: ccctl / ss -tin", plan.sockets), ours / ss, 1.0, "");
    aim("the same with processes: ccctl / ss -tinp", with_process / ss_with_process, 1.0, "");
    aim(&format!("migrate {} sockets", plan.sockets), moving, 1000.0, " ms");
    end(holders);
}

/// From the start of the process to its end.
fn time(namespace: Option<&Namespace>, words: &[&str]) -> Duration {
    let running = || {
        let started = Instant::now();
        let status = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{words:?}: {status}");
        started.elapsed()
    };
    namespace.map_or_else(running, |namespace| namespace.enter(running).unwrap())
}

/// What is timed shows all sockets.
fn require_all(plan: &Plan, namespace: &Namespace) {
    let words = ["sockets", "--netns", namespace.name(), "--columns", "cookie"];
    let ours = run(Command::new(support::CCCTL).args(words), LIMIT).unwrap().stdout.lines().count() - 1;
    let theirs = namespace.run(Command::new("ss").args(["-H", "-O", "-tin"]), LIMIT).unwrap().stdout.lines().count();
    assert_eq!((ours, theirs), (plan.sockets, plan.sockets), "ccctl and ss");
}

/// Gives the medians: plain, with processes, and both of ss.
fn listings(plan: &Plan, namespace: &Namespace) -> [f64; 4] {
    require_all(plan, namespace);
    let ccctl = [support::CCCTL, "sockets", "--netns", namespace.name()];
    let ours = |more: &[&'static str]| [&ccctl[..], more].concat();
    let commands = [
        ("ccctl sockets", None, ours(&[])),
        ("ccctl sockets, with the process", None, ours(&["--columns", "state,source,destination,algorithm,process"])),
        ("ss -tin", Some(namespace), vec!["ss", "-tin"]),
        ("ss -tinp", Some(namespace), vec!["ss", "-tinp"]),
        ("ccctl sockets --wide", None, ours(&["--wide"])),
        ("ccctl sockets --json", None, ours(&["--json"])),
        ("ccctl sockets --sort rate --limit 20", None, ours(&["--sort", "rate", "--limit", "20"])),
        ("ccctl sockets --instance bpf_cubic (none)", None, ours(&["--instance", "bpf_cubic"])),
        ("ccctl list: the same sockets counted", None, vec![support::CCCTL, "list"]),
        ("ss -tn: addresses only", Some(namespace), vec!["ss", "-tn"]),
    ];
    let mut samples = vec![Sample::default(); commands.len()];
    for round in 0..plan.rounds {
        for index in 0..commands.len() {
            let turn = (index + round) % commands.len();
            let (_, inside, words) = &commands[turn];
            samples[turn].add_ms(time(*inside, words));
        }
    }
    for ((what, ..), sample) in commands.iter().zip(&samples) {
        println!("| {what} | {} |", sample.cell(1));
    }
    [0, 1, 2, 3].map(|index: usize| samples[index].median())
}

/// Moves them to and fro and gives the median.
fn migrations(plan: &Plan, namespace: &Namespace) -> f64 {
    let [mut moving, mut counting, mut by_port] = [(); 3].map(|()| Sample::default());
    for round in 0..plan.rounds {
        let (from, to) = if round % 2 == 0 { ("reno", "bpf_cubic") } else { ("bpf_cubic", "reno") };
        let words = [support::CCCTL, "migrate", "--netns", namespace.name(), "--instance", from, "--to", to];
        counting.add_ms(time(None, &[&words[..], &["--dry-run"]].concat()));
        by_port.add_ms(time(None, &[&words[..], &["--port", "1"]].concat()));
        moving.add_ms(time(None, &words));
        let using = namespace.run(Command::new("ss").args(["-H", "-O", "-tin"]), LIMIT).unwrap().stdout;
        let moved = using.lines().filter(|line| line.split_whitespace().any(|word| word == to)).count();
        assert_eq!(moved, plan.sockets, "{to}");
    }
    println!("| ccctl migrate, all of them | {} |", moving.cell(1));
    println!("| ccctl migrate --dry-run | {} |", counting.cell(1));
    println!("| ccctl migrate --port 1 (none) | {} |", by_port.cell(1));
    moving.median()
}
