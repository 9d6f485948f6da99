// SPDX-License-Identifier: GPL-2.0-only
//! How fast the simulator is: data packets per second of processor time, memory, growth with flows and with the rate, and ns-3
//! beside it where `scripts/compare-ns3 --build` has been run. `just bench-sim`; `--smoke` is short and says little.
//!
//! Each run is a process of its own, so that its peak of memory is its own. Processor time is that of the kernel's scheduler,
//! which other processes on the machine disturb less than the clock. Instructions are not disturbed at all: those of the
//! measured part of a case (group and index, both from 0) are counted by
//! `valgrind --tool=callgrind --collect-atstart=no '--toggle-collect=*measured*' PROGRAM --case 0 1` in some minutes,
//! with the program that `cargo bench --package ccctl-sim --bench engine --no-run` names.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{BitRate, FlowSpec, Instance, Limit, LinkId, LinkRate, LinkSpec, Queue, Simulation};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const RTT_MS: u64 = 100;
const PKT_BITS: u64 = 12_000;

/// Bulk flows over one bottleneck with a buffer of one delay-bandwidth product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    name: &'static str,
    algorithms: &'static [&'static str],
    flows: u64,
    megabits: u64,
    /// Between the smallest and the largest RTT; each flow has its own.
    spread_ms: u64,
    /// Before the measurement begins.
    warmup_s: u64,
    seconds: u64,
}

const RENO: &[&str] = &["reno"];
const CUBIC: &[&str] = &["cubic"];
/// Table 1 of Munir, Welzl, Damjanovic, 2007.
const MIX: &[&str] = &["bic", "cubic", "compound", "reno"];

const fn case(algorithms: &'static [&'static str], flows: u64, megabits: u64, warmup_s: u64, seconds: u64) -> Case {
    Case { name: "", algorithms, flows, megabits, spread_ms: 0, warmup_s, seconds }
}

/// Where the aim is for two flows.
const TWO: [Case; 2] = [
    Case { name: "two flows of Reno", ..case(RENO, 2, 1000, 20, 100) },
    Case { name: "two flows of CUBIC", ..case(CUBIC, 2, 1000, 20, 100) },
];
/// 2 Mbit/s a flow: every flow does the same work, and only their number differs.
const FLOWS: [Case; 5] = [
    case(CUBIC, 2, 4, 100, 20_000),
    case(CUBIC, 20, 40, 20, 2000),
    case(CUBIC, 200, 400, 20, 200),
    case(CUBIC, 2000, 4000, 10, 20),
    case(CUBIC, 20_000, 40_000, 5, 3),
];
/// The same where each flow has its own RTT, from 60 to 140 ms.
const DELAYS: [Case; 2] = [
    Case { spread_ms: 80, ..case(CUBIC, 20, 40, 20, 2000) },
    Case { spread_ms: 80, ..case(CUBIC, 20_000, 40_000, 5, 3) },
];
const RATES: [Case; 4] = [
    case(CUBIC, 2, 10, 20, 5000),
    case(CUBIC, 2, 100, 20, 500),
    case(CUBIC, 2, 1000, 20, 50),
    case(CUBIC, 2, 10_000, 20, 10),
];
const LONG: [Case; 1] = [Case { name: "80 flows, four algorithms, 1200 s", ..case(MIX, 80, 1000, 0, 1200) }];

impl Case {
    fn shortened(self, is_smoke: bool) -> Self {
        if !is_smoke {
            return self;
        }
        let warmup_s = self.warmup_s.min(3);
        Self { warmup_s, seconds: (self.seconds / 50).max(1), ..self }
    }

    fn build(&self) -> Result<(Simulation, LinkId)> {
        let mut simulation = Simulation::new(1);
        let buffer_pkts = self.megabits * 1_000_000 * RTT_MS / 1000 / PKT_BITS;
        let queue = Queue::DropTail(Limit::Packets(buffer_pkts.max(10) as u32));
        let rate = LinkRate::Constant(BitRate::mbit_per_s(self.megabits));
        let link = simulation.add_link(&LinkSpec::new(rate, Duration::ZERO, queue));
        let instances: Vec<Arc<Instance>> =
            self.algorithms.iter().map(|name| Ok(Arc::new(Instance::with_defaults(name)?))).collect::<Result<_>>()?;
        for index in 0..self.flows {
            let mut spec = FlowSpec::bulk(Arc::clone(&instances[index as usize % instances.len()]), link);
            let spread_ns = self.spread_ms * 1_000_000;
            spec.access_delay =
                Duration::from_nanos(RTT_MS * 1_000_000 - spread_ns / 2 + spread_ns * index / self.flows);
            spec.start = Duration::from_micros(index * 1_000_000 / self.flows);
            simulation.add_flow(&spec)?;
        }
        Ok((simulation, link))
    }

    /// Packets, processor time in ns, and the peak of memory in kB, all of the measured part.
    fn run(&self) -> Result<()> {
        let (mut simulation, link) = self.build()?;
        simulation.run_until(Duration::from_secs(self.warmup_s))?;
        let (pkts, events, begin_ns) =
            (simulation.link(link).counters().delivered_pkts, simulation.events(), cpu_ns()?);
        measured(&mut simulation, Duration::from_secs(self.warmup_s + self.seconds))?;
        let pkts = simulation.link(link).counters().delivered_pkts - pkts;
        println!("{pkts} {} {} {}", cpu_ns()? - begin_ns, peak_memory_kb()?, simulation.events() - events);
        Ok(())
    }
}

/// What is counted has a name that valgrind can see.
#[inline(never)]
fn measured(simulation: &mut Simulation, end: Duration) -> Result<()> {
    Ok(simulation.run_until(end)?)
}

fn cpu_ns() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("an empty /proc/self/schedstat")?.parse()?)
}

fn peak_memory_kb() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

#[derive(Debug, Clone, Copy)]
struct Outcome {
    pkts: f64,
    seconds: f64,
    memory_mb: f64,
    events: f64,
}

impl Outcome {
    fn ns_per_pkt(&self) -> f64 {
        self.seconds * 1e9 / self.pkts
    }
}

/// In a process of its own.
fn measure(group: usize, index: usize, is_smoke: bool) -> Result<Outcome> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--case", &group.to_string(), &index.to_string()]);
    if is_smoke {
        command.arg("--smoke");
    }
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
    let [pkts, ns, kilobytes, events] = numbers[..] else {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    };
    Ok(Outcome { pkts, seconds: ns / 1e9, memory_mb: kilobytes / 1024.0, events })
}

/// Median, least and largest.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

fn groups() -> [&'static [Case]; 5] {
    [&TWO, &FLOWS, &RATES, &LONG, &DELAYS]
}

/// A table of one group; the medians of its costs in ns a packet, and of its times in seconds.
fn table(group: usize, runs: usize, is_smoke: bool) -> Result<Vec<(f64, Outcome)>> {
    println!(
        "| case | flows | Mbit/s | data packets | million packets/s | ns a packet | events a packet | memory, MB |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut medians = Vec::new();
    for (index, case) in groups()[group].iter().enumerate() {
        let outcomes: Vec<Outcome> = (0..runs).map(|_| measure(group, index, is_smoke)).collect::<Result<_>>()?;
        let (median, least, most) = spread(outcomes.iter().map(Outcome::ns_per_pkt).collect());
        let one = outcomes[0];
        println!(
            "| {} | {} | {} | {:.2e} | {:.2} ({:.2} to {:.2}) | {median:.0} | {:.2} | {:.0} |",
            if case.name.is_empty() { case.algorithms.join(", ") } else { case.name.to_owned() },
            case.flows,
            case.megabits,
            one.pkts,
            1e3 / median,
            1e3 / most,
            1e3 / least,
            one.events / one.pkts,
            one.memory_mb,
        );
        medians.push((median, one));
    }
    println!();
    Ok(medians)
}

/// ns-3's time over ours for the same flows and seconds.
fn beside_ns3(runs: usize, is_smoke: bool) -> Result<Option<f64>> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "../../target".into(), PathBuf::from);
    let (ns3, ours) = (target.join("ns3/dumbbell"), target.join("release/examples/dumbbell"));
    if !ns3.exists() || !ours.exists() {
        println!("no ns-3 beside it: build both sides with `scripts/compare-ns3 --build`\n");
        return Ok(None);
    }
    let seconds = if is_smoke { 5 } else { 60 };
    let common = [format!("--seconds={seconds}"), "--warmup=1".into(), "--mbit=100".into(), "--rtt-ms=50".into()];
    let more = ["--buffer=400".to_owned(), "--flows=2".into()];
    let cost = |program: &PathBuf, algorithm: &str| -> Result<f64> {
        let output =
            Command::new(program).args(&common).args(&more).arg(format!("--algorithm={algorithm}")).output()?;
        let text = String::from_utf8(output.stdout)?;
        Ok(field(&text, "cpu_s")? * 1e9 / field(&text, "pkts")?)
    };
    println!("| algorithm | ns a packet, ours | ns-3 | ns-3 / ours, of each pair |");
    println!("| --- | --- | --- | --- |");
    let mut worst = f64::INFINITY;
    for (algorithm, theirs) in [("reno", "TcpLinuxReno"), ("cubic", "TcpCubic")] {
        let pairs =
            (0..runs).map(|_| Ok((cost(&ours, algorithm)?, cost(&ns3, theirs)?))).collect::<Result<Vec<_>>>()?;
        let (ratio, least, most) = spread(pairs.iter().map(|(ours, theirs)| theirs / ours).collect());
        let (ours, theirs) = pairs[pairs.len() / 2];
        println!("| {algorithm} | {ours:.0} | {theirs:.0} | {ratio:.0} ({least:.0} to {most:.0}) |");
        worst = worst.min(ratio);
    }
    println!();
    Ok(Some(worst))
}

/// A number of a line of JSON.
fn field(text: &str, name: &str) -> Result<f64> {
    let after = text.split_once(&format!("\"{name}\": ")).ok_or_else(|| format!("no {name} in {text:?}"))?.1;
    Ok(after.split([',', '}']).next().unwrap_or_default().trim().parse()?)
}

fn verdict(what: &str, measured: &str, is_met: bool) {
    println!("| {what} | {measured} | {} |", if is_met { "met" } else { "missed" });
}

fn report(is_smoke: bool) -> Result<()> {
    let runs = if is_smoke { 1 } else { 5 };
    println!("## Two flows, RTT {RTT_MS} ms\n");
    let two = table(0, runs, is_smoke)?;
    println!("## Growth with the number of flows\n");
    let flows = table(1, runs.min(3), is_smoke)?;
    println!("## Growth with the number of flows, each with its own RTT\n");
    let delays = table(4, runs.min(3), is_smoke)?;
    println!("## Growth with the rate\n");
    table(2, runs.min(3), is_smoke)?;
    println!("## A long run\n");
    let long = table(3, 1, is_smoke)?;
    println!("## Beside ns-3\n");
    let ratio = beside_ns3(runs.min(3), is_smoke)?;
    println!("| aim | measured | |\n| --- | --- | --- |");
    let slowest = two.iter().map(|(ns, _)| 1e3 / ns).fold(f64::INFINITY, f64::min);
    verdict("two flows: 12 million packets/s", &format!("{slowest:.2}"), slowest >= 12.0);
    let growth = flows[4].0 / flows[1].0;
    verdict("20,000 flows: a packet costs at most twice that of 20", &format!("{growth:.2}"), growth <= 2.0);
    let growth = delays[1].0 / delays[0].0;
    verdict("the same, each with its own RTT", &format!("{growth:.2}"), growth <= 2.0);
    let (seconds, memory_mb) = (long[0].1.seconds, long[0].1.memory_mb);
    verdict(
        "the long run: 60 s, 500 MB",
        &format!("{seconds:.1} s, {memory_mb:.0} MB"),
        seconds <= 60.0 && memory_mb <= 500.0,
    );
    if let Some(ratio) = ratio {
        verdict("50 times ns-3", &format!("{ratio:.0}"), ratio >= 50.0);
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let is_smoke = arguments.iter().any(|argument| argument == "--smoke");
    match &arguments[..] {
        [flag, group, index, ..] if flag == "--case" => {
            groups()[group.parse::<usize>()?][index.parse::<usize>()?].shortened(is_smoke).run()
        }
        _ => report(is_smoke),
    }
}
