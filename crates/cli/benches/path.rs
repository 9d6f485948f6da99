// SPDX-License-Identifier: MIT OR Apache-2.0
//! How faithful the emulated path is, and how much it can carry. Each run is judged by the path's own gate.
//!
//! Goodput is read from the sending sockets (packets that the receiver has acknowledged), delay errors from echoes through the
//! whole path: neither knows what the router thinks of itself.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

mod blast;
mod measure;
#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::thread::sleep;
use std::time::{Duration, Instant};

use blast::{blast, cut_off};
use ccctl_path::{Path, PathReport, PathSpec};
use ccctl_sim::{BitRate, Limit};
use ccctl_testbed::{within, CpuTime, Exclusive, TcpStates};
use measure::{aim, aims, is_smoke, machine, Sample};

const ALGORITHM: &str = "cubic";
const RTT: Duration = Duration::from_millis(20);
const PACKET_BYTES: u64 = 1500;
/// With time stamps.
const PAYLOAD_BYTES: f64 = 1448.0;
const LIMIT: Duration = Duration::from_secs(300);

const RATES: [(u64, usize); 6] = [(10, 1), (100, 1), (250, 1), (622, 1), (622, 2), (1000, 2)];
const FLOWS: [usize; 4] = [1, 2, 8, 32];
/// From above, one run each, until one is valid.
const LADDER_MBIT: [u64; 7] = [2000, 1500, 1250, 1000, 622, 250, 100];
const BEYOND_ALL_MBIT: u64 = 40_000;

const RATE_AIM_PCT: f64 = 0.1;
const DELAY_AIM_US: f64 = 100.0;
const AIMED_MBIT: u64 = 622;

struct Plan {
    rates: &'static [(u64, usize)],
    flows: &'static [usize],
    ladder_mbit: &'static [u64],
    rounds: usize,
    settle: Duration,
    run: Duration,
}

/// One run, seen from the endpoints and from the path.
struct Seen {
    goodput_mbit: f64,
    report: PathReport,
}

fn main() {
    let seconds = Duration::from_secs_f64;
    let plan = if is_smoke() {
        let (settle, run) = (seconds(0.3), seconds(0.3));
        Plan { rates: &RATES[..2], flows: &FLOWS[1..2], ladder_mbit: &LADDER_MBIT[6..], rounds: 1, settle, run }
    } else {
        let (settle, run) = (seconds(1.0), seconds(1.5));
        Plan { rates: &RATES, flows: &FLOWS, ladder_mbit: &LADDER_MBIT, rounds: 5, settle, run }
    };
    let (started, before) = (Instant::now(), CpuTime::now().unwrap());
    println!("{}; {ALGORITHM}, {RTT:?}, {PACKET_BYTES}-byte packets, queue of one BDP, IPv4.", machine());
    println!("{} rounds of {:?} after {:?}.", plan.rounds, plan.run, plan.settle);
    faithfulness(&plan);
    capacity(&plan);
    let stolen = CpuTime::now().unwrap().since(before).stolen.as_secs_f64() / started.elapsed().as_secs_f64();
    println!("\nThe hypervisor took {:.1} % of a processor; load average {}.", stolen * 100.0, load_average());
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn spec(mbit_per_s: u64) -> PathSpec {
    let bdp_bytes = mbit_per_s * 1_000_000 / 8 * RTT.as_millis() as u64 / 1000;
    let queue_pkts = (bdp_bytes / PACKET_BYTES).max(20) as u32;
    PathSpec::new(BitRate::mbit_per_s(mbit_per_s), RTT, Limit::Packets(queue_pkts))
}

/// Packets that all connections of the sender have delivered, and when.
fn delivered(path: &Path, states: &TcpStates) -> (Instant, u64) {
    let states = states.read(path.endpoints().sender(0)).unwrap();
    (Instant::now(), states.iter().map(|state| u64::from(state.delivered_pkts)).sum())
}

fn run(mbit_per_s: u64, flows: usize, plan: &Plan) -> Seen {
    let path = Path::start(&spec(mbit_per_s)).unwrap();
    let states = TcpStates::load().unwrap();
    let goodput_mbit = path.endpoints().affinity().at_endpoints(|| {
        blast(&path, ALGORITHM, flows);
        sleep(plan.settle);
        let (began, first) = delivered(&path, &states);
        sleep(plan.run);
        let (ended, last) = delivered(&path, &states);
        cut_off(&path);
        (last - first) as f64 * PAYLOAD_BYTES * 8e-6 / (ended - began).as_secs_f64()
    });
    Seen { goodput_mbit: goodput_mbit.unwrap(), report: path.stop().unwrap() }
}

fn exclusively<T>(work: impl FnOnce() -> T) -> T {
    let _exclusive = Exclusive::acquire().unwrap();
    within(LIMIT, "the emulated path", work)
}

#[derive(Default)]
struct Row {
    goodput_pct: Sample,
    rate_pct: Sample,
    median_us: Sample,
    p99_us: Sample,
    late_pct: Sample,
    cpu_left_pct: Sample,
    valid: usize,
}

impl Row {
    fn add(&mut self, mbit_per_s: u64, seen: &Seen) {
        let (router, echoes) = (&seen.report.router, &seen.report.latency_probe.excess);
        let ideal_mbit = mbit_per_s as f64 * PAYLOAD_BYTES / PACKET_BYTES as f64;
        self.goodput_pct.add((seen.goodput_mbit / ideal_mbit - 1.0) * 100.0);
        self.rate_pct.add(router.rate_error * 100.0);
        self.median_us.add(echoes.median.as_secs_f64() * 1e6);
        self.p99_us.add(echoes.p99.as_secs_f64() * 1e6);
        self.late_pct.add(echoes.late_windows as f64 / echoes.windows as f64 * 100.0);
        self.cpu_left_pct.add(router.cpu_left * 100.0);
        let faults = seen.report.faults();
        self.valid += usize::from(faults.is_empty());
        for fault in faults {
            eprintln!("{mbit_per_s} Mbit/s: invalid: {fault}");
        }
    }

    fn print(&self, mbit_per_s: u64, flows: usize) {
        let cells = [
            self.goodput_pct.cell(3),
            self.rate_pct.cell(4),
            self.median_us.cell(0),
            self.p99_us.cell(0),
            self.late_pct.cell(0),
            self.cpu_left_pct.cell(0),
        ];
        println!("| {mbit_per_s} | {flows} | {} | {} of {} |", cells.join(" | "), self.valid, self.rate_pct.count());
    }
}

/// Runs of all settings in turns.
fn faithfulness(plan: &Plan) {
    let mut rows: Vec<Row> = plan.rates.iter().map(|_| Row::default()).collect();
    for _ in 0..plan.rounds {
        exclusively(|| {
            for ((mbit_per_s, flows), row) in plan.rates.iter().zip(&mut rows) {
                row.add(*mbit_per_s, &run(*mbit_per_s, *flows, plan));
            }
        });
    }
    println!("\n| Mbit/s | flows | goodput / ideal - 1, % | rate error, % | echo later than the path's RTT, median us | p99 us | late windows, % | router idle, % | valid |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for ((mbit_per_s, flows), row) in plan.rates.iter().zip(&rows) {
        row.print(*mbit_per_s, *flows);
    }
    aims();
    let aimed = plan.rates.iter().zip(&rows).filter(|((mbit_per_s, _), _)| *mbit_per_s <= AIMED_MBIT);
    for ((mbit_per_s, flows), row) in aimed {
        let what = format!("{mbit_per_s} Mbit/s, {flows} flows");
        aim(&format!("rate error, {what}"), row.rate_pct.median().abs(), RATE_AIM_PCT, " %");
        aim(&format!("delay error, median, {what}"), row.median_us.median(), DELAY_AIM_US, " us");
    }
}

/// As much as goes, and the highest rate of which a run is valid.
fn capacity(plan: &Plan) {
    println!("\n| flows | without a limit, Gbit/s | kpps, both ways | highest valid rate, Mbit/s | its delay error, median us |");
    println!("| --- | --- | --- | --- | --- |");
    for &flows in plan.flows {
        let row = exclusively(|| {
            let most = run(BEYOND_ALL_MBIT, flows, plan);
            let router = &most.report.router;
            let pkts = router.forward.all.delivered_pkts + router.reverse.all.delivered_pkts;
            let kpps = pkts as f64 / router.run.as_secs_f64() / 1000.0;
            let wire_gbit = most.goodput_mbit / PAYLOAD_BYTES * PACKET_BYTES as f64 / 1000.0;
            format!("| {flows} | {wire_gbit:.2} | {kpps:.0} | {} |", highest(flows, plan))
        });
        println!("{row}");
    }
}

fn highest(flows: usize, plan: &Plan) -> String {
    for &mbit_per_s in plan.ladder_mbit {
        let seen = run(mbit_per_s, flows, plan);
        if seen.report.is_valid() {
            return format!("{mbit_per_s} | {:.0}", seen.report.latency_probe.excess.median.as_secs_f64() * 1e6);
        }
    }
    format!("none of {:?} | ", plan.ladder_mbit)
}
