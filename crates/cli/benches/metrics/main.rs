// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a scrape of the daemon takes at 100 sockets, and at 100,000 with 500 pairs of algorithm and cgroup, and what the metrics cost connections while they are on.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

#[path = "../held/mod.rs"]
mod held;
#[path = "../measure/mod.rs"]
mod measure;
#[path = "../telemetry/paced.rs"]
mod paced;
#[path = "../../tests/suite/support/mod.rs"]
mod support;

use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use ccctl_telemetry::SocketScanner;
use ccctl_testbed::{connect, eventually, Cgroup, Namespace, Network, Offload};
use held::{end, open, ENDS};
use measure::{aim, aims, form, machine, note, Form, Sample};
use support::daemon::Daemon;

const SCRAPE_AIM_MS: f64 = 5.0;
const MEMORY_AIM_MB: f64 = 15.0;
const COST_AIM_PCT: f64 = 2.0;
const RATE_MBIT: f64 = 800.0;
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
/// A look that has seen all is waited for.
const LOOKS: Duration = Duration::from_secs(120);

/// How much there is to tell of.
#[derive(Clone, Copy)]
struct Size {
    sockets: usize,
    /// Of them, sockets in a cgroup of their own that a rule names: each has its series.
    label_sets: usize,
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} sockets and {} label sets", self.sockets, self.label_sets)
    }
}

const FEW: Size = Size { sockets: 100, label_sets: 1 };

struct Plan {
    scrapes: usize,
    sizes: [Size; 2],
    pairs: usize,
    run: Duration,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if held::is_holder(&words) {
        return;
    }
    let ms = Duration::from_millis;
    let many = |sockets| Size { sockets, label_sets: 500 };
    let plan = match form() {
        Form::Full => Plan { scrapes: 300, sizes: [FEW, many(100_000)], pairs: 25, run: ms(700) },
        Form::Smoke => Plan { scrapes: 10, sizes: [FEW, many(2000)], pairs: 2, run: ms(300) },
        Form::Exact => Plan { scrapes: 20, sizes: [FEW, many(10_000)], pairs: 3, run: ms(700) },
    };
    support::test("metrics", 900, || {
        println!("{}\n", machine());
        println!(
            "| | scrape, ms: median (min to max) | look, ms | VmRSS of the daemon, MB |\n| --- | --- | --- | --- |"
        );
        let times = plan.sizes.map(|size| scrapes(&plan, size));
        let more = costs(&plan);
        aims();
        for (size, (median, longest, resident)) in plan.sizes.iter().zip(times) {
            aim(&format!("a scrape at {size}, median"), median, SCRAPE_AIM_MS, " ms");
            aim(&format!("a scrape at {size}, the longest"), longest, SCRAPE_AIM_MS, " ms");
            aim(&format!("memory of the daemon at {size}"), resident, MEMORY_AIM_MB, " MB");
        }
        aim("CPU per GB, metrics on", more, COST_AIM_PCT, " %");
    });
}

/// Median and longest time, ms, and the daemon's memory, MB.
fn scrapes(plan: &Plan, size: Size) -> (f64, f64, f64) {
    let namespace = Namespace::new("scrape").unwrap();
    let holders = open(&namespace, size.sockets / ENDS - (size.label_sets - 1));
    let cgroups: Vec<Cgroup> = (1..size.label_sets).map(|_| Cgroup::new("scrape").unwrap()).collect();
    let labelled: Vec<_> = cgroups.iter().map(|cgroup| cgroup.enter(|| pair(&namespace)).unwrap()).collect();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let daemon = Daemon::start("bench", &configuration(port, &cgroups));
    let mut text = String::new();
    eventually(LOOKS, || {
        text = scrape(port)?;
        let seen: Vec<f64> = values(&text, "ccctl_connections{").filter(|sockets| *sockets > 0.0).collect();
        let is_all = seen.iter().sum::<f64>() >= size.sockets as f64 && seen.len() >= size.label_sets;
        is_all
            .then_some(())
            .ok_or_else(|| format!("{} sockets in {} sets are seen", seen.iter().sum::<f64>(), seen.len()))
    })
    .unwrap();
    let (mut times, mut looks) = (Sample::default(), Sample::default());
    let mut longest: f64 = 0.0;
    for _ in 0..plan.scrapes {
        let started = Instant::now();
        text = scrape(port).unwrap();
        let took = started.elapsed();
        times.add_ms(took);
        longest = longest.max(took.as_secs_f64() * 1e3);
        looks.add(values(&text, "ccctl_look_duration_seconds ").sum::<f64>() * 1e3);
        std::thread::sleep(Duration::from_millis(30)); // over several looks
    }
    let resident = resident_mb(daemon.pid());
    println!("| {size} | {} | {} | {resident:.1} |", times.cell(2), looks.cell(1));
    daemon.json(&["down", "--json"]); // the rules, too
    drop((daemon, labelled));
    end(holders);
    (times.median(), longest, resident)
}

fn configuration(port: u16, cgroups: &[Cgroup]) -> String {
    let rule = |cgroup: &Cgroup| format!("[[rule]]\ncgroup = \"{}\"\nuse = \"reno\"\n", cgroup.path());
    let rules: String = cgroups.iter().map(rule).collect();
    format!("[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n{rules}")
}

/// Both ends of a connection.
fn pair(namespace: &Namespace) -> (TcpStream, TcpStream) {
    let both = || {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let to = listener.local_addr().unwrap().to_string();
        (connect(&to, None, LOOKS).unwrap(), listener.accept().unwrap().0)
    };
    namespace.enter(both).unwrap()
}

/// As Prometheus asks, on a new connection.
fn scrape(port: u16) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
    let accept = "Accept: application/openmetrics-text;version=1.0.0";
    // 1.0: the text as it is, not in chunks
    let request = format!("GET /metrics HTTP/1.0\r\nHost: localhost\r\n{accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(failed)?;
    if text.starts_with("HTTP/1.0 200") && text.ends_with("# EOF\n") {
        return Ok(text);
    }
    Err(text)
}

fn values<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = f64> + 'a {
    text.lines()
        .filter(move |line| line.starts_with(start))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

fn resident_mb(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// Pairs of runs, off and on in turns, as for the ACK clock; the median of what on costs more, in percent.
fn costs(plan: &Plan) -> f64 {
    let network = Network::new().unwrap();
    network.set_mtu(1500).unwrap();
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
        network.set_offload(offload, false).unwrap();
    }
    let one = |on: bool| {
        let counting = on.then(|| SocketScanner::start().unwrap());
        let cost = paced::run(&network, "cubic", Some(RATE_MBIT), plan.run);
        drop(counting);
        cost.seconds_per_gigabyte()
    };
    println!(
        "\n| second run of the pair | CPU s/GB off | CPU s/GB | more, % of each pair |\n| --- | --- | --- | --- |"
    );
    let mut median = 0.0;
    for (name, is_on) in [("off", false), ("on", true)] {
        let [mut off_cost, mut on_cost, mut more] = [(); 3].map(|()| Sample::default());
        one(is_on); // warms up
        for round in 0..plan.pairs {
            let (off, on) = if round % 2 == 0 {
                let off = one(false);
                (off, one(is_on))
            } else {
                let on = one(is_on);
                (one(false), on)
            };
            off_cost.add(off);
            on_cost.add(on);
            more.add((on / off - 1.0) * 100.0);
        }
        println!("| {name} | {} | {} | {} |", off_cost.cell(3), on_cost.cell(3), more.quartiles(2));
        median = more.median();
    }
    per_run(&network, plan);
    median
}

/// Run time of the programs as the kernel counts it, with the two clock readings of its statistics.
fn per_run(network: &Network, plan: &Plan) {
    let before = std::fs::read_to_string(STATISTICS).unwrap();
    let (scanner, reader) = SocketScanner::start().unwrap();
    std::fs::write(STATISTICS, "1").unwrap();
    paced::run(network, "cubic", Some(RATE_MBIT), plan.run * 2);
    std::fs::write(STATISTICS, &before).unwrap();
    let acks: u64 = reader.read().unwrap().values().map(|counts| counts.acks).sum();
    println!("\n{acks} ACKs\n\n| program | ns a run | runs per ACK |\n| --- | --- | --- |");
    for program in scanner.programs() {
        let ns_per_run = program.run_time.as_nanos() as f64 / program.run_count.max(1) as f64;
        println!("| {} | {ns_per_run:.0} | {:.2} |", program.name, program.run_count as f64 / acks.max(1) as f64);
        let per_ack_ns = program.run_time.as_nanos() as f64 / acks.max(1) as f64;
        note(&format!("per ACK, metrics: {}", program.name), per_ack_ns, "ns");
    }
}
