//! What a BPF algorithm costs beside the kernel's own of the same name: processor time per gigabyte, and time per hook.
//!
//! Both run in turns over the same veth pair (own, BPF, own, BPF, ...), so that a slow minute of the machine hits both.
//! Twice: with segmentation offload, where an ACK covers many packets, and without, where it covers two.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

#[path = "../tests/kernel/mod.rs"]
mod kernel;
mod measure;

use std::time::Duration;

use ccctl_lab::testbed::{Bulk, Network, Offload, SERVER_V4};
use measure::{aim, aims, is_smoke, machine, Sample};

const ALGORITHMS: [&str; 2] = ["cubic", "reno"];
const SETTINGS: [(&str, bool); 2] = [("offloads on", true), ("offloads off, MTU 1500", false)];
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// A share of a few hundredths cannot be told where the same run costs this much more at times.
const QUIET_SPREAD: f64 = 1.25;

/// What is accepted: the same within what one can measure.
const RATIO_AIM: f64 = 1.02;

struct Plan {
    rounds: usize,
    run: Duration,
}

fn main() {
    let plan = if is_smoke() {
        Plan { rounds: 2, run: Duration::from_millis(300) }
    } else {
        Plan { rounds: 15, run: Duration::from_secs(2) }
    };
    kernel::test("ack", 900, || {
        for algorithm in ALGORITHMS {
            kernel::succeeds(&["load", algorithm]);
        }
        let network = Network::new().unwrap();
        println!("{}; one connection over veth, {} runs of {:?} each.\n", machine(), plan.rounds, plan.run);
        println!("| setting | algorithm | CPU s/GB, kernel's own | CPU s/GB, BPF | BPF / own, of each pair | Gbit/s, own | Gbit/s, BPF | stolen |");
        println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
        let mut ratios = Vec::new();
        for (setting, offloads) in SETTINGS {
            set_offloads(&network, offloads);
            for algorithm in ALGORITHMS {
                ratios.push((format!("{algorithm}, {setting}"), compare(&network, setting, algorithm, &plan)));
            }
        }
        hooks(&network, &plan);
        aims();
        for (what, ratio) in ratios {
            let what = format!("CPU per GB, BPF / own: {what}");
            match ratio {
                Some(ratio) => aim(&what, ratio, RATIO_AIM, ""),
                None => println!(
                    "| {what} | not measurable | {RATIO_AIM} | the machine was not quiet: own runs differ too much |"
                ),
            }
        }
        kernel::succeeds(&["unload", "bpf_cubic", "bpf_reno", "--force"]);
        every_algorithm(&network, &plan);
        drop(network);
    });
}

fn set_offloads(network: &Network, on: bool) {
    network.set_mtu(1500).unwrap();
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
        network.set_offload(offload, on).unwrap();
    }
}

/// Runs both in turns and gives the median of the ratios, each of two runs side by side;
/// none where the machine was too busy with something else to tell.
fn compare(network: &Network, setting: &str, algorithm: &str, plan: &Plan) -> Option<f64> {
    let names = [algorithm.to_owned(), kernel::default_name(algorithm)];
    let mut cost = [Sample::default(), Sample::default()];
    let mut rate = [Sample::default(), Sample::default()];
    let mut ratio = Sample::default();
    let mut stolen = Duration::ZERO;
    Bulk::run(network, SERVER_V4, algorithm, plan.run / 2).unwrap(); // warms up
    for round in 0..plan.rounds {
        let mut pair = [0.0; 2];
        for turn in 0..2 {
            let which = (round + turn) % 2; // own first, then BPF first: neither always follows the other
            let bulk = Bulk::run(network, SERVER_V4, &names[which], plan.run).unwrap();
            pair[which] = bulk.cpu_per_gigabyte().as_secs_f64();
            cost[which].add(pair[which]);
            rate[which].add(bulk.bytes as f64 * 8e-9 / bulk.elapsed.as_secs_f64());
            stolen += bulk.cpu.stolen;
        }
        ratio.add(pair[1] / pair[0]);
    }
    println!(
        "| {setting} | {algorithm} | {} | {} | {} | {:.1} | {:.1} | {stolen:?} |",
        cost[0].cell(3),
        cost[1].cell(3),
        ratio.cell(3),
        rate[0].median(),
        rate[1].median()
    );
    (cost[0].spread() <= QUIET_SPREAD).then(|| ratio.median())
}

/// Time per call as the kernel counts it. The kernel's own algorithms cannot be timed so: they are no BPF programs.
fn hooks(network: &Network, plan: &Plan) {
    println!("\nTime per hook call (`ccctl show`), the two clock readings of the statistics included:\n");
    println!("| algorithm | hook | calls | ns per call | calls per MB |");
    println!("| --- | --- | --- | --- | --- |");
    let statistics = Statistics::on();
    set_offloads(network, false);
    for algorithm in ALGORITHMS {
        let name = kernel::default_name(algorithm);
        let before = kernel::show(&name);
        let bulk = Bulk::run(network, SERVER_V4, &name, plan.run * 2).unwrap();
        let after = kernel::show(&name);
        let programs = |shown: &serde_json::Value| shown["programs"].as_array().unwrap().clone();
        for (old, new) in programs(&before).iter().zip(programs(&after)) {
            let grown = |key: &str| new[key].as_u64().unwrap() - old[key].as_u64().unwrap();
            let (calls, ns) = (grown("run_count"), grown("run_time_ns"));
            if calls > 0 {
                let per_mb = calls as f64 * 1e6 / bulk.bytes as f64;
                let hook = new["name"].as_str().unwrap();
                println!("| {name} | {hook} | {calls} | {:.0} | {per_mb:.1} |", ns as f64 / calls as f64);
            }
        }
    }
    drop(statistics);
}

/// Each algorithm beside the kernel's own cubic, in pairs, and its time per ACK.
fn every_algorithm(network: &Network, plan: &Plan) {
    println!("\nEvery algorithm, without offloads: all hooks of an ACK together, and CPU per gigabyte beside the kernel's cubic:\n");
    println!("| algorithm | ns per ACK | aim: 150 | CPU per GB, BPF / kernel's cubic, of each pair | aim: 1.05 |");
    println!("| --- | --- | --- | --- | --- |");
    set_offloads(network, false);
    let algorithms = kernel::json(&["algorithms", "--json"]);
    for algorithm in algorithms.as_array().unwrap() {
        let algorithm = algorithm["name"].as_str().unwrap();
        let name = kernel::default_name(algorithm);
        kernel::succeeds(&["load", algorithm]);
        let per_ack = ns_per_ack(network, &name, plan);
        let (mut ratio, mut own) = (Sample::default(), Sample::default());
        for _ in 0..plan.rounds.div_ceil(3) {
            let cost = |name: &str| {
                Bulk::run(network, SERVER_V4, name, plan.run / 2).unwrap().cpu_per_gigabyte().as_secs_f64()
            };
            let (kernels, bpf) = (cost("cubic"), cost(&name));
            own.add(kernels);
            ratio.add(bpf / kernels);
        }
        let verdict = |met: bool| if met { "met" } else { "missed" };
        let quiet = own.spread() <= QUIET_SPREAD;
        let by_cpu = if quiet { verdict(ratio.median() <= 1.05) } else { "not measurable" };
        println!("| {algorithm} | {per_ack:.0} | {} | {} | {by_cpu} |", verdict(per_ack <= 150.0), ratio.cell(2));
        kernel::succeeds(&["unload", &name, "--force"]);
    }
}

/// Time in all hooks over the calls of the one that is called most: each ACK calls that once.
fn ns_per_ack(network: &Network, name: &str, plan: &Plan) -> f64 {
    let statistics = Statistics::on();
    Bulk::run(network, SERVER_V4, name, plan.run).unwrap();
    let shown = kernel::show(name);
    drop(statistics);
    let sum = |key: &str| shown["programs"].as_array().unwrap().iter().map(|p| p[key].as_u64().unwrap()).sum::<u64>();
    let calls = shown["programs"].as_array().unwrap().iter().map(|program| program["run_count"].as_u64().unwrap());
    sum("run_time_ns") as f64 / calls.max().unwrap().max(1) as f64
}

/// BPF statistics, switched on and put back.
struct Statistics(String);

impl Statistics {
    fn on() -> Self {
        let before = std::fs::read_to_string(STATISTICS).unwrap();
        std::fs::write(STATISTICS, "1").unwrap();
        Statistics(before)
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(STATISTICS, &self.0) {
            eprintln!("{STATISTICS}: {error}");
        }
    }
}
