// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scrape: what each collector has to say. One that fails says nothing, and the rest is shown.

use std::collections::BTreeMap;
use std::time::{Instant, UNIX_EPOCH};

use ccctl_console::cause;
use ccctl_loader::EcnMode;
use ccctl_telemetry::{lost_events, Counts, Gauges, Histogram, Softnet, Times, OTHER};

use super::exporter::{lock, Exporter, Shared, Snapshot};
use super::exposition::{Format, Labels, Samples, Text};
use super::{Read, Value, FAMILIES};
use ccctl_core::counters::COUNTERS;
use ccctl_core::daemon::VERSION;

/// Round-trip times from 32 us to 17 s.
const RTT_BUCKETS: std::ops::Range<usize> = 5..25;
/// Windows from 1 packet to 65536.
const CWND_BUCKETS: std::ops::Range<usize> = 0..17;
/// Times of ACKs, ns: from 256 ns to 17 s. Beginnings of the clock's buckets.
const ACK_BOUNDS_LOG2: std::ops::RangeInclusive<u32> = 8..=34;

type Collector = fn(&Shared, &Snapshot, &mut Samples) -> anyhow::Result<()>;

const COLLECTORS: [(&str, Collector); 9] = [
    ("sockets", sockets),
    ("look", look),
    ("clock", clock),
    ("drops", drops),
    ("softnet", softnet),
    ("instances", instances),
    ("programs", programs),
    ("traces", traces),
    ("experiments", experiments),
];

impl Exporter {
    /// The text of a scrape.
    pub fn scrape(&self, format: Format) -> Text {
        let started = Instant::now();
        let mut samples = Samples::default();
        let snapshot = lock(&self.shared.snapshot);
        let mut all_succeeded = true;
        for (name, collect) in COLLECTORS {
            let mut own = Samples::default();
            let failed_before =
                snapshot.failures.contains(name) || name == "look" && snapshot.failures.contains("cgroups");
            let result = if failed_before { None } else { Some(collect(&self.shared, &snapshot, &mut own)) };
            let succeeded = matches!(result, Some(Ok(())));
            match result {
                Some(Ok(())) => samples.0.append(&mut own.0),
                Some(Err(error)) => tracing::error!("metrics: {name}: {}", cause(&error)),
                None => {} // it was told when it was tried
            }
            all_succeeded &= succeeded;
            let labels = Labels::of(&[("collector", name)]);
            samples.add("scrape_collector_success", labels, Value::Count(succeeded.into()));
        }
        drop(snapshot);
        operations(&mut samples);
        let since = self.shared.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        samples.add("start_time", Labels::of(&[]), Value::Number(since.as_secs_f64()));
        samples.add("build_info", Labels::of(&[("version", VERSION)]), Value::Count(1));
        samples.add("scrape_success", Labels::of(&[]), Value::Count(all_succeeded.into()));
        samples.add("scrape_duration", Labels::of(&[]), Value::Number(started.elapsed().as_secs_f64()));
        samples.text(format)
    }
}

fn labels_of(instance: &str, cgroup: &str) -> Labels {
    Labels::of(&[("name", instance), ("cgroup", cgroup)])
}

fn sockets(shared: &Shared, snapshot: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    let counted = || {
        FAMILIES.iter().filter_map(|family| match family.read {
            Read::Series(read) => Some((family.name, read)),
            _ => None,
        })
    };
    let reader =
        lock(&shared.reader).clone().ok_or_else(|| anyhow::anyhow!("the programs that count are not loaded"))?;
    for (name, _) in counted() {
        samples.touch(name);
    }
    samples.touch("rtt");
    samples.touch("cwnd_packets");
    let mut merged: BTreeMap<(String, &str), Counts> = BTreeMap::new();
    for (series, counts) in reader.read()? {
        let Some(cgroup) = snapshot.cgroup(series.cgroup) else { continue };
        merged.entry((series.instance, cgroup)).or_default().add(&counts);
    }
    for ((instance, cgroup), counts) in merged {
        let labels = labels_of(&instance, cgroup);
        for (name, read) in counted() {
            samples.add(name, labels.clone(), Value::Count(read(&counts)));
        }
        samples.add("rtt", labels.clone(), by_powers(&counts.rtt_us, RTT_BUCKETS, 1e-6));
        samples.add("cwnd_packets", labels, by_powers(&counts.cwnd_pkts, CWND_BUCKETS, 1.0));
    }
    Ok(())
}

/// Buckets that end at these powers of two; what is below belongs into the first one, what is above into the last.
fn by_powers(histogram: &Histogram, shown: std::ops::Range<usize>, unit: f64) -> Value {
    let mut buckets = Vec::with_capacity(shown.len() + 1);
    let mut seen = 0;
    for end in shown {
        let upto: u64 = histogram.buckets[..=end].iter().sum();
        buckets.push(((1_u64 << end) as f64 * unit, upto - seen));
        seen = upto;
    }
    let all: u64 = histogram.buckets.iter().sum();
    buckets.push((f64::INFINITY, all - seen));
    Value::Histogram(histogram.sum as f64 * unit, buckets)
}

#[allow(clippy::unnecessary_wraps)] // a Collector
fn look(_: &Shared, snapshot: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    samples.touch("connections");
    samples.touch("ecn_connections");
    samples.touch("delivery_rate");
    // what a rule for a part of a cgroup counts is the cgroup's, too
    let mut merged: BTreeMap<(&str, &str), Gauges> = BTreeMap::new();
    for (series, present) in &snapshot.present {
        let Some(cgroup) = snapshot.cgroup(series.cgroup) else { continue };
        merged.entry((&series.instance, cgroup)).or_default().add(present);
    }
    for ((instance, cgroup), present) in merged {
        if present.connections == 0 && instance == OTHER {
            continue;
        }
        let labels = labels_of(instance, cgroup);
        samples.add("connections", labels.clone(), Value::Count(present.connections));
        samples.add("delivery_rate", labels, Value::Count(present.delivery_bytes_per_s));
        for (mode, connections) in EcnMode::ALL.into_iter().zip(present.ecn_modes) {
            let labels = Labels::of(&[("name", instance), ("cgroup", cgroup), ("ecn_mode", mode.name())]);
            samples.add("ecn_connections", labels, Value::Count(connections));
        }
    }
    if let Some((at, took)) = snapshot.looked {
        samples.add("look_age", Labels::of(&[]), Value::Number(at.elapsed().as_secs_f64()));
        samples.add("look_duration", Labels::of(&[]), Value::Number(took.as_secs_f64()));
    }
    Ok(())
}

fn clock(shared: &Shared, _: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    let clock = lock(&shared.clock);
    let Some(clock) = clock.as_ref() else { return Ok(()) };
    for (name, counts) in clock.read()?.algorithms {
        let labels = Labels::of(&[("name", &name)]);
        samples.add("ack_waiting", labels.clone(), times(&counts.waiting));
        samples.add("ack_processing", labels.clone(), times(&counts.processing));
        samples.add("duplicate_acks", labels.clone(), Value::Count(counts.duplicate_acks));
        samples.add("coalesced_acks", labels, Value::Count(counts.coalesced));
    }
    Ok(())
}

/// The clock's buckets end before the powers of two; its times are not exact to the nanosecond that this makes.
fn times(times: &Times) -> Value {
    let mut buckets: Vec<(f64, u64)> = Vec::new();
    let mut begin = 0;
    for end in ACK_BOUNDS_LOG2.map(|log| 1_u64 << log) {
        let inside = times.buckets().filter(|bucket| bucket.to_ns > begin && bucket.to_ns <= end);
        buckets.push((end as f64 * 1e-9, inside.map(|bucket| bucket.count).sum()));
        begin = end;
    }
    let beyond = times.buckets().filter(|bucket| bucket.to_ns > begin);
    buckets.push((f64::INFINITY, beyond.map(|bucket| bucket.count).sum()));
    Value::Histogram(times.sum_ns as f64 * 1e-9, buckets)
}

fn drops(shared: &Shared, _: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    let reader =
        lock(&shared.reader).clone().ok_or_else(|| anyhow::anyhow!("the programs that count are not loaded"))?;
    samples.touch("dropped_packets");
    for (reason, by_cpu) in reader.drops()? {
        for (cpu, count) in by_cpu.iter().enumerate().filter(|(_, count)| **count > 0) {
            let labels = Labels::of(&[("reason", &reason), ("cpu", &cpu.to_string())]);
            samples.add("dropped_packets", labels, Value::Count(*count));
        }
    }
    Ok(())
}

fn softnet(_: &Shared, _: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    for softnet in Softnet::read()? {
        let labels = Labels::of(&[("cpu", &softnet.cpu.to_string())]);
        samples.add("backlog_dropped_packets", labels.clone(), Value::Count(softnet.dropped));
        samples.add("backlog_processed_packets", labels.clone(), Value::Count(softnet.processed));
        samples.add("backlog_squeezes", labels, Value::Count(softnet.time_squeezed));
    }
    Ok(())
}

#[allow(clippy::unnecessary_wraps)] // a Collector
fn instances(_: &Shared, snapshot: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    samples.touch("instance_info");
    samples.touch("guard_disabled");
    for (name, algorithm) in &snapshot.instances {
        let labels = Labels::of(&[("name", name), ("algorithm", algorithm)]);
        samples.add("instance_info", labels, Value::Count(1));
    }
    for name in &snapshot.disabled {
        samples.add("guard_disabled", Labels::of(&[("name", name)]), Value::Count(1));
    }
    Ok(())
}

#[allow(clippy::unnecessary_wraps)] // a Collector
fn programs(_: &Shared, snapshot: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    for ((instance, program), (runs, time)) in &snapshot.programs {
        let labels = Labels::of(&[("name", instance), ("program", program)]);
        samples.add("bpf_run", labels.clone(), Value::Number(time.as_secs_f64()));
        samples.add("bpf_runs", labels, Value::Count(*runs));
    }
    Ok(())
}

fn traces(_: &Shared, _: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    samples.add("trace_lost_events", Labels::of(&[]), Value::Count(lost_events::read()?));
    Ok(())
}

#[allow(clippy::unnecessary_wraps)] // a Collector
fn experiments(_: &Shared, _: &Snapshot, samples: &mut Samples) -> anyhow::Result<()> {
    for family in FAMILIES.iter().filter(|family| family.name.starts_with("experiment_")) {
        samples.touch(family.name);
    }
    for info in crate::daemon::experiments::shown() {
        let (plan, analysis) = (&info.plan, &info.analysis);
        let own = Labels::of(&[("experiment", &plan.name)]);
        let mut flag = |name, holds: bool| samples.add(name, own.clone(), Value::Count(holds.into()));
        flag("experiment_harmful", info.is_held());
        flag("experiment_void", info.phase == "void" || analysis.gates.iter().any(|gate| gate.is_void));
        if let Some(running) = &info.current_block {
            flag("experiment_treated", running.is_treated);
            samples.add("experiment_block", own.clone(), Value::Count(running.block));
        }
        let counts =
            [("experiment_pairs", analysis.pairs.len()), ("experiment_dropped_pairs", analysis.dropped_pairs.len())];
        for (name, count) in counts {
            samples.add(name, own.clone(), Value::Count(count as u64));
        }
        for (name, percent) in [
            ("experiment_change", analysis.estimate_pct),
            ("experiment_change_lower", analysis.sequence.lower_pct),
            ("experiment_change_upper", analysis.sequence.upper_pct),
        ] {
            let labels = Labels::of(&[("experiment", &plan.name), ("metric", &plan.metric.to_string())]);
            if let Some(percent) = percent {
                samples.add(name, labels, Value::Number(percent / 100.0));
            }
        }
    }
    Ok(())
}

fn operations(samples: &mut Samples) {
    for family in FAMILIES {
        if let Read::Daemon(counter) = family.read {
            samples.add(family.name, Labels::of(&[]), Value::Count(counter(&COUNTERS).get()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of 2^b is the last one of bucket b.
    #[test]
    fn buckets_end_at_powers_of_two_and_lose_nothing() {
        let mut histogram = Histogram { sum: 1000, ..Histogram::default() };
        histogram.buckets[0] = 1;
        histogram.buckets[5] = 2;
        histogram.buckets[6] = 4;
        histogram.buckets[27] = 8;
        let Value::Histogram(sum, buckets) = by_powers(&histogram, 5..8, 1e-6) else { panic!("no histogram") };
        assert!((sum - 0.001).abs() < 1e-12);
        let counts: Vec<u64> = buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [3, 4, 0, 8]);
        assert!((buckets[0].0 - 32e-6).abs() < 1e-12 && buckets[3].0.is_infinite());
    }
}
