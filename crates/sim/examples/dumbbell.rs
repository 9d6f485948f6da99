// SPDX-License-Identifier: GPL-2.0-only
//! Bulk flows over one bottleneck, and one line of JSON that tells of them: our side of `scripts/compare-ns3`, whose other
//! side is `validation/dumbbell.cc`. `dumbbell --algorithm=cubic --set=beta=0.8 --mbit=100 --rtt-ms=50 --buffer=400`
//!
//! With `--calls=FILE` the calls of the first flow's hooks are written there, as `docs/internals/second-implementations.md` tells.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ccctl_catalog::ParameterSet;
use ccctl_sim::{
    BitRate, Call, FlowId, FlowSpec, Instance, Limit, LinkId, LinkRate, LinkSpec, Loss, Probability, Queue, Recording,
    Simulation,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Options of the form --name=value; `--set` may come again and again.
struct Options {
    values: BTreeMap<String, String>,
    parameters: Vec<(String, String)>,
}

impl Options {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let (mut values, mut parameters) = (BTreeMap::new(), Vec::new());
        for argument in arguments {
            let option = argument.strip_prefix("--").and_then(|text| text.split_once('='));
            let (name, value) = option.ok_or_else(|| format!("not --name=value: {argument}"))?;
            match value.split_once('=') {
                Some((key, value)) if name == "set" => parameters.push((key.to_owned(), value.to_owned())),
                _ => drop(values.insert(name.to_owned(), value.to_owned())),
            }
        }
        Ok(Self { values, parameters })
    }

    fn number(&self, name: &str, default: u64) -> Result<u64> {
        self.values.get(name).map_or(Ok(default), |text| text.parse().map_err(|_| format!("--{name}={text}").into()))
    }

    fn algorithm(&self) -> &str {
        self.values.get("algorithm").map_or("reno", String::as_str)
    }

    fn parameter_set(&self) -> Result<ParameterSet> {
        let name = self.algorithm();
        let algorithm = ccctl_catalog::algorithm(name).ok_or_else(|| format!("there is no algorithm {name}"))?;
        let mut set = ParameterSet::defaults(name, &algorithm.layout().parameters);
        for (key, value) in &self.parameters {
            set.set(key, value)?;
        }
        Ok(set)
    }

    fn instance(&self) -> Result<Arc<Instance>> {
        Ok(Arc::new(Instance::new(self.algorithm(), &self.parameter_set()?)?))
    }

    fn recording(&self) -> Result<Recording> {
        let set = self.parameter_set()?;
        let parameters = set.iter().map(|(parameter, value)| (parameter.member.clone(), value)).collect();
        Ok(Recording { algorithm: self.algorithm().to_owned(), parameters })
    }

    fn link(&self) -> Result<LinkSpec> {
        let limit = Limit::Packets(self.number("buffer", 50)? as u32);
        let mark_above_pkts = self.number("mark-above", 0)? as u32;
        let queue = match mark_above_pkts {
            0 => Queue::DropTail(limit),
            _ => Queue::Threshold { mark_above_pkts, limit },
        };
        let loss = Loss::Bernoulli(Probability::ratio(self.number("loss-ppm", 0)?, 1_000_000));
        let rate = LinkRate::Constant(BitRate::mbit_per_s(self.number("mbit", 10)?));
        Ok(LinkSpec { loss, ..LinkSpec::new(rate, Duration::ZERO, queue) })
    }
}

struct Dumbbell {
    simulation: Simulation,
    link: LinkId,
    flows: Vec<FlowId>,
}

fn build(options: &Options) -> Result<Dumbbell> {
    let mut simulation = Simulation::new(options.number("seed", 1)?);
    let link = simulation.add_link(&options.link()?);
    let instance = options.instance()?;
    let mut spec = FlowSpec::bulk(instance, link);
    spec.access_delay = Duration::from_millis(options.number("rtt-ms", 40)?);
    spec.access_jitter = Duration::from_micros(options.number("jitter-us", 0)?);
    spec.tcp.header_bytes = options.number("header", 52)? as u16;
    spec.tcp.ecn |= options.number("mark-above", 0)? > 0;
    let mut flows = Vec::new();
    for index in 0..options.number("flows", 1)? {
        spec.start = Duration::from_millis(options.number("stagger-ms", 10)? * index);
        flows.push(simulation.add_flow(&spec)?);
    }
    Ok(Dumbbell { simulation, link, flows })
}

impl Dumbbell {
    fn received_bytes(&self) -> Vec<f64> {
        self.flows.iter().map(|flow| self.simulation.flow(*flow).received_bytes() as f64).collect()
    }

    fn reductions(&self) -> u64 {
        let counters = self.flows.iter().map(|flow| self.simulation.flow(*flow).counters());
        counters.map(|it| it.recoveries + it.timeouts + it.mark_reductions).sum()
    }

    fn mean_cwnd_pkts(&self) -> f64 {
        let sum: f64 = self.flows.iter().map(|flow| f64::from(self.simulation.flow(*flow).cwnd_pkts())).sum();
        sum / self.flows.len() as f64
    }
}

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1))?;
    let mut dumbbell = build(&options)?;
    let (seconds, warmup) = (options.number("seconds", 100)?, options.number("warmup", 20)?);
    let step = Duration::from_millis(options.number("step-ms", 10)?);
    let calls_file = options.values.get("calls");
    if calls_file.is_some() {
        dumbbell.simulation.record(dumbbell.flows[0]);
    }
    let begin = (Instant::now(), cpu_s());
    dumbbell.simulation.run_until(Duration::from_secs(warmup))?;
    let (before, reductions_before) = (dumbbell.received_bytes(), dumbbell.reductions());
    let (mut cwnd_sum, mut samples) = (0.0, 0);
    let mut next = Duration::from_secs(warmup) + step;
    while next <= Duration::from_secs(seconds) {
        dumbbell.simulation.run_until(next)?;
        cwnd_sum += dumbbell.mean_cwnd_pkts();
        samples += 1;
        next += step;
    }
    let (wall_s, cpu_s) = (begin.0.elapsed().as_secs_f64(), cpu_s() - begin.1);
    if let Some(path) = calls_file {
        write_calls(path, &options.recording()?, &dumbbell.simulation.take_calls(dumbbell.flows[0]))?;
    }
    let length_s = (seconds - warmup) as f64;
    let rates: Vec<f64> =
        dumbbell.received_bytes().iter().zip(&before).map(|(now, then)| (now - then) * 8.0 / length_s).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    println!(
        "{{\"goodput_mbit\": {:.4}, \"cwnd_pkts\": {:.3}, \"reductions\": {}, \"jain\": {:.5}, \"pkts\": {}, \"wall_s\": {:.4}, \
         \"cpu_s\": {:.4}, \
         \"memory_mb\": {:.1}}}",
        sum / 1e6,
        cwnd_sum / f64::from(samples),
        dumbbell.reductions() - reductions_before,
        sum * sum / (rates.len() as f64 * squares),
        dumbbell.simulation.link(dumbbell.link).counters().delivered_pkts,
        wall_s,
        cpu_s,
        peak_memory_mb().unwrap_or(0.0),
    );
    Ok(())
}

fn write_calls(path: &str, head: &Recording, calls: &[Call]) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "{}", serde_json::to_string(head)?)?;
    for call in calls {
        writeln!(file, "{}", serde_json::to_string(call)?)?;
    }
    Ok(file.flush()?)
}

/// Processor time of this process.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).map_or(0.0, |ns| ns / 1e9)
}

fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}
