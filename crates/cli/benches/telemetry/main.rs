// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the ACK clock and traces cost while they are on, against off: processor time per gigabyte, throughput, and ns
//! per ACK.
//!
//! Runs in turns (off, on, off, on, ...) over one veth pair, the data at a fixed rate, so that the work per byte is the
//! same. Without offloads there is an ACK for two packets of 1500 bytes: the most that a stream brings.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

#[path = "../measure/mod.rs"]
mod measure;
mod paced;
#[path = "../../tests/suite/support/mod.rs"]
mod support;
mod traced;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ccctl_telemetry::{Clock, PointChoice, Settings};
use ccctl_testbed::{within, Connections, EmptyAt, EmptyTrace, Exclusive, Network, Offload, SERVER_V4};
use measure::{aim, aims, form, machine, note, Form, Sample};
use paced::Cost;
use traced::{Traced, IDLE_SOCKETS, MANY_SOCKETS};

const ALGORITHM: &str = "cubic";
const RATE_MBIT: f64 = 800.0;
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
/// More per gigabyte with one ACK in eight timed, and with each.
const ON_AIM_PCT: f64 = 2.5;
const EACH_AIM_PCT: f64 = 4.0;
const TRACE_AIM_PCT: f64 = 1.0;
/// As in `ccctl acks`.
const TICK: Duration = Duration::from_millis(50);

struct Plan {
    rounds: usize,
    run: Duration,
}

/// What is on in the second run of a pair.
#[derive(Clone, Copy)]
enum Load {
    /// Nothing: how much two equal runs differ.
    Nothing,
    /// The clock at this place; timing every ACK or one in 8.
    Clock(PointChoice, bool),
    /// Programs that do nothing: what of the clock is the kernel's.
    Empty(&'static [EmptyAt]),
    /// A trace, beside [`IDLE_SOCKETS`] other connections.
    Trace(Traced),
}

const LOADS: [(&str, Load); 5] = [
    ("off", Load::Nothing),
    ("tc ingress (auto on veth)", Load::Clock(PointChoice::Tc, false)),
    ("tc ingress, every ACK timed", Load::Clock(PointChoice::Tc, true)),
    ("native XDP", Load::Clock(PointChoice::Native, false)),
    ("generic XDP", Load::Clock(PointChoice::Generic, false)),
];

const EMPTY: [(&str, Load); 3] = [
    ("empty programs at the entry and the return of tcp_ack()", Load::Empty(&[EmptyAt::Entry, EmptyAt::Return])),
    ("an empty program at the entry of tcp_ack()", Load::Empty(&[EmptyAt::Entry])),
    ("an empty program at tcp_probe", Load::Empty(&[EmptyAt::Probe])),
];

fn main() {
    let plan = match form() {
        Form::Full => Plan { rounds: 25, run: Duration::from_millis(700) },
        Form::Smoke => Plan { rounds: 2, run: Duration::from_millis(300) },
        Form::Exact => Plan { rounds: 3, run: Duration::from_millis(700) },
    };
    let _exclusive = Exclusive::acquire().unwrap();
    within(Duration::from_secs(1500), "telemetry", || {
        println!("{}; one {ALGORITHM} connection over veth, {} pairs of {:?}.\n", machine(), plan.rounds, plan.run);
        println!("| setting | second run of the pair | CPU s/GB off | CPU s/GB on | more, % of each pair | Gbit/s off | Gbit/s on |");
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        let at_rate = if only_traces() { Vec::new() } else { clocks(&plan) };
        let traces = traces(&plan);
        if !only_traces() {
            per_ack(&plan);
        }
        aims();
        for (name, more) in at_rate {
            let empty = EMPTY.iter().any(|(empty, _)| *empty == name);
            if name == "off" || empty {
                let (what, remark) = if empty { (name, "the kernel's part") } else { ("off against off", "the noise") };
                println!("| CPU per GB, {what} | {more:.2} % | | {remark} |");
                note(&format!("CPU per GB, {what}"), more, "%");
            } else {
                let limit = if name.contains("every ACK") { EACH_AIM_PCT } else { ON_AIM_PCT };
                aim(&format!("CPU per GB, clock on: {name}"), more, limit, " %");
            }
        }
        for (what, more) in traces {
            match what {
                Some(what) if what.has_aim() => aim(&format!("CPU per GB, {what}"), more, TRACE_AIM_PCT, " %"),
                Some(what) => println!("| CPU per GB, {what} | {more:.2} % | | |"),
                None => println!("| CPU per GB, off against off, {IDLE_SOCKETS} sockets | {more:.2} % | | noise |"),
            }
        }
    });
}

/// `just bench-telemetry traces`
fn only_traces() -> bool {
    std::env::args().any(|word| word == "traces")
}

/// Whether the kernel lets the programs in that this is about; the reason is told where it does not.
fn can_run(name: &str, load: Load) -> bool {
    let is_refused = matches!(load, Load::Empty(places) if EmptyTrace::is_refused(places).unwrap());
    if is_refused {
        eprintln!("skipped: {name}: this kernel refuses programs there (EPERM)");
    }
    !is_refused
}

/// What the clock costs at a fixed rate; as fast as it goes is only printed.
fn clocks(plan: &Plan) -> Vec<(&'static str, f64)> {
    let paced = network(false);
    let mut at_rate = Vec::new();
    for (name, load) in LOADS.into_iter().chain(EMPTY).filter(|(name, load)| can_run(name, *load)) {
        let setting = format!("MTU 1500, no offloads, 800 Mbit/s | {name}");
        at_rate.push((name, compare(&paced, &setting, load, Some(RATE_MBIT), plan)));
    }
    drop(paced);
    // Few: what is carried differs from run to run by more than the clock costs.
    let (fast, few) = (network(true), Plan { rounds: plan.rounds.div_ceil(3), ..*plan });
    for (name, load) in LOADS {
        compare(&fast, &format!("offloads, as fast as it goes | {name}"), load, None, &few);
    }
    at_rate
}

fn network(offloads: bool) -> Network {
    let network = Network::new().unwrap();
    network.set_mtu(1500).unwrap();
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
        network.set_offload(offload, offloads).unwrap();
    }
    network
}

fn start(network: &Network, point: PointChoice, every_ack: bool) -> Clock {
    let settings = Settings { interfaces: vec!["veth0".to_owned()], point, slow: None, every_ack };
    network.client.enter(|| Clock::start(&settings).unwrap()).unwrap()
}

/// Does `work` while the clock is looked after as `ccctl acks` does it.
fn beside<T>(clock: &mut Clock, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                clock.sample().unwrap();
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

fn one(network: &Network, load: Load, rate: Option<f64>, time: Duration) -> Cost {
    let run = || paced::run(network, ALGORITHM, rate, time);
    match load {
        Load::Nothing => run(),
        Load::Clock(point, every_ack) => beside(&mut start(network, point, every_ack), run),
        Load::Empty(places) => {
            let _attached = EmptyTrace::attach(places).unwrap();
            run()
        }
        Load::Trace(traced) => traced.beside(network, run),
    }
}

/// One busy connection among many that are open; the tracer's own processor time counts. Fewer and longer runs: a tracer looks
/// through all connections once when a new one comes, and traces last longer than the connections of other runs.
fn traces(plan: &Plan) -> Vec<(Option<Traced>, f64)> {
    let plan = &Plan { rounds: plan.rounds.div_ceil(3), run: plan.run * 3 };
    let network = network(false);
    let idle = Connections::open(&network, SERVER_V4, Some(traced::IDLE_ALGORITHM), IDLE_SOCKETS).unwrap();
    let measure = |traced: Option<Traced>, idle: usize| {
        let load = traced.map_or(Load::Nothing, Load::Trace);
        let name = traced.map_or("off".to_owned(), |traced| traced.to_string());
        let setting = format!("{idle} idle connections, one of 800 Mbit/s | {name}");
        (traced, compare(&network, &setting, load, Some(RATE_MBIT), plan))
    };
    let mut all: Vec<_> =
        std::iter::once(None).chain(Traced::ONE.map(Some)).map(|traced| measure(traced, IDLE_SOCKETS)).collect();
    let more = Connections::open(&network, SERVER_V4, Some(ALGORITHM), MANY_SOCKETS - 1).unwrap();
    all.push(measure(Some(Traced::Many("100ms")), IDLE_SOCKETS + MANY_SOCKETS - 1));
    drop((idle, more));
    all
}

/// Pairs of runs, off first or on first in turns; the median of what on costs more, in percent.
fn compare(network: &Network, name: &str, load: Load, rate: Option<f64>, plan: &Plan) -> f64 {
    let [mut off_cost, mut on_cost, mut more, mut off_rate, mut on_rate] = [(); 5].map(|()| Sample::default());
    one(network, load, rate, plan.run / 2); // warms up
    for round in 0..plan.rounds {
        let run = |load| one(network, load, rate, plan.run);
        let (off, on) = if round % 2 == 0 {
            let off = run(Load::Nothing);
            (off, run(load))
        } else {
            let on = run(load);
            (run(Load::Nothing), on)
        };
        off_cost.add(off.seconds_per_gigabyte());
        on_cost.add(on.seconds_per_gigabyte());
        more.add((on.seconds_per_gigabyte() / off.seconds_per_gigabyte() - 1.0) * 100.0);
        off_rate.add(off.gbit_per_s());
        on_rate.add(on.gbit_per_s());
    }
    let cells = [off_cost.cell(3), on_cost.cell(3), more.quartiles(2), off_rate.cell(2), on_rate.cell(2)];
    println!("| {name} | {} |", cells.join(" | "));
    more.median()
}

/// Run time of the programs as the kernel counts it, with the two clock readings of its statistics.
fn per_ack(plan: &Plan) {
    println!("\n| place | program | ns a run | runs per ACK | ns per ACK |\n| --- | --- | --- | --- | --- |");
    let network = network(false);
    for (name, point) in
        [("tc", PointChoice::Tc), ("native XDP", PointChoice::Native), ("generic XDP", PointChoice::Generic)]
    {
        let before = std::fs::read_to_string(STATISTICS).unwrap();
        let mut clock = start(&network, point, false);
        std::fs::write(STATISTICS, "1").unwrap();
        beside(&mut clock, || paced::run(&network, ALGORITHM, Some(RATE_MBIT), plan.run * 2));
        std::fs::write(STATISTICS, &before).unwrap();
        let acks: u64 = clock.read().unwrap().interfaces.iter().map(|interface| interface.acks).sum();
        for program in clock.programs() {
            let ns_per_run = program.run_time.as_nanos() as f64 / program.run_count.max(1) as f64;
            let (runs, per_ack) = (
                program.run_count as f64 / acks.max(1) as f64,
                program.run_time.as_nanos() as f64 / acks.max(1) as f64,
            );
            println!("| {name} | {} | {ns_per_run:.0} | {runs:.2} | {per_ack:.0} |", program.name);
            note(&format!("per ACK, clock on {name}: {}", program.name), per_ack, "ns");
        }
    }
}
