// SPDX-License-Identifier: MIT OR Apache-2.0
//! What commands take beside many sockets: time from the start of the process to its end, and processor time of it; beside
//! them, what comparable commands take here, and the kernel's own waiting for its readers.
//!
//! In a guest in virtual time (`scripts/bench-exact`) a nanosecond of processor time is an instruction.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

mod measure;
#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{grace_period, run, Connections, Network, SERVER_V4};
use measure::{aim, aims, form, machine, note, processor_ms, Form, Sample};
use support::ccctl;

const LIMIT: Duration = Duration::from_secs(60);
/// Processor time of commands that only read or write a map, and of a swap.
const SMALL_AIM_MS: f64 = 5.0;
const SWAP_AIM_MS: f64 = 15.0;
const SMALL: [&str; 4] = ["tune", "list", "show", "default"];
/// Of whole commands, from start to end, on a machine that does more than one instruction in a nanosecond.
const ELAPSED_AIMS_MS: [(&str, f64); 3] = [("load", 100.0), ("swap", 10.0), ("migrate", 100.0)];

struct Plan {
    rounds: usize,
    migrations: usize,
    /// Sockets that are there meanwhile.
    sockets: &'static [usize],
}

const FULL: Plan = Plan { rounds: 40, migrations: 20, sockets: &[0, 10_000] };
const SMOKE: Plan = Plan { rounds: 2, migrations: 2, sockets: &[1000] };
const EXACT: Plan = Plan { rounds: 4, migrations: 2, sockets: &[0, 1000, 10_000] };

/// What runs of one command took.
#[derive(Default)]
#[allow(clippy::struct_field_names)] // a name ends in its unit
struct Times {
    elapsed_ms: Sample,
    processor_ms: Sample,
    /// The rest: for a swap, what the kernel waits for its readers.
    waiting_ms: Sample,
}

fn main() {
    let plan = match form() {
        Form::Full => FULL,
        Form::Smoke => SMOKE,
        Form::Exact => EXACT,
    };
    support::test("load", 600, || {
        println!("{}; whole commands, {} rounds; ms: median (min to max).\n", machine(), plan.rounds);
        println!("| command | ms | ms of processor | ms of waiting |\n| --- | --- | --- | --- |");
        let costs: Vec<_> = plan.sockets.iter().map(|sockets| (*sockets, beside(&plan, *sockets))).collect();
        comparisons(plan.rounds);
        aims();
        for (sockets, commands) in costs {
            for Cost { what, elapsed_ms, processor_ms, waiting_ms } in commands {
                let elapsed_aims = if form() == Form::Exact { &[][..] } else { &ELAPSED_AIMS_MS };
                if let Some((_, limit_ms)) = elapsed_aims.iter().find(|(command, _)| *command == what) {
                    aim(&format!("{what}, {sockets} sockets"), elapsed_ms, *limit_ms, " ms");
                }
                let row = format!("processor time, {what}, {sockets} sockets");
                if what == "swap" {
                    aim(&row, processor_ms, SWAP_AIM_MS, " ms");
                    note(&format!("waiting, {what}, {sockets} sockets"), waiting_ms, "ms");
                } else if SMALL.contains(&what) {
                    aim(&row, processor_ms, SMALL_AIM_MS, " ms");
                } else {
                    note(&row, processor_ms, "ms");
                }
            }
        }
    });
}

/// Medians of one command.
struct Cost {
    what: &'static str,
    elapsed_ms: f64,
    processor_ms: f64,
    waiting_ms: f64,
}

impl Times {
    /// Runs `ccctl`, which must succeed.
    fn add(&mut self, words: &[&str]) {
        let mut elapsed = Duration::ZERO;
        let processor_ms = processor_ms(|| {
            let output = ccctl(words);
            assert!(output.success(), "{words:?}: {}", output.stderr);
            elapsed = output.elapsed;
        });
        self.processor_ms.add(processor_ms);
        self.elapsed_ms.add_ms(elapsed);
        self.waiting_ms.add(elapsed.as_secs_f64() * 1e3 - processor_ms);
    }

    fn cost(&self, what: &'static str) -> Cost {
        Cost {
            what,
            elapsed_ms: self.elapsed_ms.median(),
            processor_ms: self.processor_ms.median(),
            waiting_ms: self.waiting_ms.median(),
        }
    }

    fn row(&self, what: &str) {
        let cells = [&self.elapsed_ms, &self.processor_ms, &self.waiting_ms].map(|sample| sample.cell(1));
        println!("| {what} | {} |", cells.join(" | "));
    }
}

fn row(what: &str, sample: &Sample) {
    println!("| {what} | {} | | |", sample.cell(1));
}

/// Each command beside so many sockets.
fn beside(plan: &Plan, sockets: usize) -> Vec<Cost> {
    let network = Network::new().unwrap();
    // Both ends count, so that one process can hold them all: what the server accepts has its namespace's default.
    network.server.set_sysctl("net/ipv4/tcp_congestion_control", "reno").unwrap();
    let connections = Connections::open(&network, SERVER_V4, Some("reno"), sockets / 2).unwrap();
    let mut costs = commands(plan.rounds, sockets);
    costs.extend(migrations(plan, &network, &connections));
    costs
}

/// Every command in turn.
fn commands(rounds: usize, sockets: usize) -> Vec<Cost> {
    let commands: [(&str, &[&str]); 9] = [
        ("load", &["load", "cubic"]),
        ("tune", &["tune", "bpf_cubic", "beta=0.8"]),
        ("swap", &["swap", "bpf_cubic", "--with", "reno"]),
        ("list", &["list"]),
        ("show", &["show", "bpf_cubic"]),
        ("default", &["default"]),
        ("sockets", &["sockets"]),
        ("unload", &["unload", "bpf_cubic"]),
        ("the process alone", &["--version"]),
    ];
    let mut times: Vec<Times> = commands.iter().map(|_| Times::default()).collect();
    for _ in 0..rounds {
        for ((_, words), times) in commands.iter().zip(&mut times) {
            times.add(words);
        }
    }
    for ((_, words), times) in commands.iter().zip(&times) {
        times.row(&format!("ccctl {}, {sockets} sockets", words.join(" ")));
    }
    commands.iter().zip(&times).map(|((what, _), times)| times.cost(what)).collect()
}

fn comparisons(rounds: usize) {
    for words in [&["sysctl", "-n", "net.ipv4.tcp_congestion_control"][..], &["ip", "route"], &["ip", "netns", "list"]]
    {
        let mut sample = Sample::default();
        for _ in 0..rounds {
            let output = run(Command::new(words[0]).args(&words[1..]), LIMIT).unwrap();
            sample.add_ms(output.elapsed);
        }
        row(&words.join(" "), &sample);
    }
    let mut sample = Sample::default();
    for _ in 0..rounds {
        sample.add_ms(grace_period().unwrap());
    }
    row("one RCU grace period (membarrier): swap waits for at least one inside the kernel", &sample);
}

/// Moves the sockets to and fro.
fn migrations(plan: &Plan, network: &Network, connections: &Connections) -> [Cost; 2] {
    support::succeeds(&["load", "cubic"]);
    support::succeeds(&["load", "reno"]);
    let (mut moving, mut counting, mut listing) = (Times::default(), Times::default(), Sample::default());
    let sockets = 2 * connections.count();
    for round in 0..=plan.migrations {
        let (from, to) = match round {
            0 => ("reno", "bpf_cubic"),
            odd if odd % 2 == 1 => ("bpf_cubic", "bpf_reno"),
            _ => ("bpf_reno", "bpf_cubic"),
        };
        counting.add(&["migrate", "--instance", from, "--to", to, "--dry-run"]);
        moving.add(&["migrate", "--instance", from, "--to", to, "--json"]);
        let used = connections.algorithms().unwrap();
        assert_eq!(used.get(to).copied().unwrap_or(0), connections.count(), "{used:?}");
        assert_eq!(support::established(&network.server, to), connections.count(), "{to} at the server");
        let ends = [&network.client, &network.server];
        listing.add_ms(ends.iter().map(|end| end.run(Command::new("ss").arg("-tin"), LIMIT).unwrap().elapsed).sum());
    }
    moving.row(&format!("ccctl migrate, {sockets} sockets"));
    counting.row(&format!("ccctl migrate --dry-run, {sockets} sockets"));
    row(&format!("ss -tin, {sockets} sockets"), &listing);
    support::succeeds(&["unload", "bpf_cubic", "bpf_reno", "--force"]);
    [moving.cost("migrate"), counting.cost("migrate --dry-run")]
}
