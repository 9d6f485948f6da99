// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long load, tune, swap, unload and the migration of 10,000 sockets take, each from the start of the process to
//! its end; beside them, what comparable commands take here, and the kernel's own waiting for its readers.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

mod measure;
#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{grace_period, run, Connections, Network, SERVER_V4};
use measure::{aim, aims, is_smoke, machine, Sample};
use support::ccctl;

const LIMIT: Duration = Duration::from_secs(60);

struct Plan {
    rounds: usize,
    sockets: usize,
    migrations: usize,
}

fn main() {
    let plan = if is_smoke() {
        Plan { rounds: 3, sockets: 1000, migrations: 2 }
    } else {
        Plan { rounds: 40, sockets: 10_000, migrations: 20 }
    };
    support::test("load", 600, || {
        println!("{}; whole commands, {} rounds; ms: median (min to max).\n", machine(), plan.rounds);
        println!("| command | ms |\n| --- | --- |");
        let [load, swap] = commands(plan.rounds);
        comparisons(plan.rounds);
        let migrate = migrations(&plan);
        aims();
        aim("load", load, 100.0, " ms");
        aim("swap", swap, 10.0, " ms");
        aim(&format!("migrate {} sockets", plan.sockets), migrate, 100.0, " ms");
    });
}

fn row(what: &str, sample: &Sample) {
    println!("| {what} | {} |", sample.cell(1));
}

/// Runs `ccctl`, which must succeed, and gives its time.
fn time(words: &[&str]) -> Duration {
    let output = ccctl(words);
    assert!(output.success(), "{words:?}: {}", output.stderr);
    output.elapsed
}

/// Times every command in turn and gives the medians of load and swap.
fn commands(rounds: usize) -> [f64; 2] {
    let [mut load, mut tune, mut swap, mut unload, mut list, mut version] = [(); 6].map(|()| Sample::default());
    for round in 0..rounds {
        let with = ["reno", "cubic"][round % 2];
        load.add_ms(time(&["load", "cubic"]));
        tune.add_ms(time(&["tune", "bpf_cubic", "beta=0.8"]));
        swap.add_ms(time(&["swap", "bpf_cubic", "--with", with]));
        list.add_ms(time(&["list"]));
        unload.add_ms(time(&["unload", "bpf_cubic"]));
        version.add_ms(time(&["--version"]));
    }
    let rows = [
        ("ccctl load cubic", &load),
        ("ccctl tune bpf_cubic beta=0.8", &tune),
        ("ccctl swap bpf_cubic --with ...", &swap),
        ("ccctl unload bpf_cubic", &unload),
        ("ccctl list", &list),
        ("ccctl --version: the process alone", &version),
    ];
    for (what, sample) in rows {
        row(what, sample);
    }
    [load.median(), swap.median()]
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

/// Moves the sockets to and fro and gives the median.
fn migrations(plan: &Plan) -> f64 {
    support::succeeds(&["load", "cubic"]);
    support::succeeds(&["load", "reno"]);
    let network = Network::new().unwrap();
    // Both ends count, so that one process can hold them all: what the server accepts has its namespace's default.
    network.server.set_sysctl("net/ipv4/tcp_congestion_control", "bpf_cubic").unwrap();
    let connections = Connections::open(&network, SERVER_V4, Some("bpf_cubic"), plan.sockets / 2).unwrap();
    let [mut moving, mut counting, mut listing] = [(); 3].map(|()| Sample::default());
    for round in 0..plan.migrations {
        let (from, to) = if round % 2 == 0 { ("bpf_cubic", "bpf_reno") } else { ("bpf_reno", "bpf_cubic") };
        counting.add_ms(time(&["migrate", "--instance", from, "--to", to, "--dry-run"]));
        moving.add_ms(time(&["migrate", "--instance", from, "--to", to, "--json"]));
        let used = connections.algorithms().unwrap();
        assert_eq!(used.get(to), Some(&connections.count()), "{used:?}");
        assert_eq!(support::established(&network.server, to), connections.count(), "{to} at the server");
        let ends = [&network.client, &network.server];
        listing.add_ms(ends.iter().map(|end| end.run(Command::new("ss").arg("-tin"), LIMIT).unwrap().elapsed).sum());
    }
    row(&format!("ccctl migrate, {} sockets", plan.sockets), &moving);
    row("ccctl migrate --dry-run, the same sockets", &counting);
    row("ss -tin, the same sockets", &listing);
    drop((connections, network));
    support::succeeds(&["unload", "bpf_cubic", "bpf_reno", "--force"]);
    moving.median()
}
