// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time in an algorithm's hooks for each ACK, as the kernel's BPF statistics count it, and what of that is their own clock.

use std::collections::BTreeMap;

use ccctl_testbed::{HandPath, Lockstep, EMPTY_HOOKS_OBJECT};

use crate::measure::Sample;
use crate::open;
use crate::support::{default_name, show, succeeds, Folder};

const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
const EMPTY: &str = "bpf_empty";
/// Hooks of which each ACK calls each one that there is, once at the most.
const EACH_ACK: [&str; 4] = ["_pkts_acked", "_cong_avoid", "_in_ack_event", "_cong_control"];

/// Per ACK.
#[derive(Default)]
pub struct HookCost {
    pub calls: Sample,
    pub gross_ns: Sample,
    /// Without what as many calls of an empty hook read, beside it in the same round.
    pub net_ns: Sample,
    /// Of one call of each hook that at least every tenth ACK calls, without what an empty one reads.
    pub net_ns_per_call: BTreeMap<String, Sample>,
}

pub struct HookCosts {
    pub of: BTreeMap<String, HookCost>,
    /// What the statistics read for one call of a hook that does nothing.
    pub empty_ns: String,
}

impl HookCosts {
    /// Rounds over all algorithms; before each one the empty hooks.
    pub fn measure(path: &HandPath, algorithms: &[String], rounds: usize, bytes: u64) -> Self {
        let folder = Folder::new("empty-hooks");
        succeeds(&["load", &folder.file("empty.o", EMPTY_HOOKS_OBJECT), "--as", EMPTY]);
        let statistics = Statistics::on();
        let mut empty = open(path, EMPTY);
        let mut ends: Vec<Lockstep> = algorithms.iter().map(|algorithm| open(path, &default_name(algorithm))).collect();
        let (mut of, mut empty_ns) = (BTreeMap::<String, HookCost>::new(), Sample::default());
        for round in 0..=rounds {
            for (algorithm, end) in algorithms.iter().zip(&mut ends) {
                let nothing_ns = Calls::during(path, &mut empty, EMPTY, bytes).ns_per_call();
                let calls = Calls::during(path, end, &default_name(algorithm), bytes);
                if round == 0 {
                    // it warms up
                    continue;
                }
                empty_ns.add(nothing_ns);
                let cost = of.entry(algorithm.clone()).or_default();
                cost.calls.add(calls.per_ack());
                cost.gross_ns.add(calls.ns_per_ack());
                cost.net_ns.add(calls.ns_per_ack() - calls.per_ack() * nothing_ns);
                for (hook, ns) in calls.ns_per_call_of_each() {
                    cost.net_ns_per_call.entry(hook).or_default().add(ns - nothing_ns);
                }
            }
        }
        drop(statistics);
        for end in ends.into_iter().chain([empty]) {
            end.close(path).unwrap();
        }
        succeeds(&["unload", EMPTY, "--force"]);
        HookCosts { of, empty_ns: empty_ns.cell(0) }
    }
}

/// How often each hook was called, and for how long.
struct Calls(BTreeMap<String, (u64, u64)>);

impl Calls {
    fn during(path: &HandPath, end: &mut Lockstep, name: &str, bytes: u64) -> Self {
        let before = Calls::so_far(name).0;
        end.carry(path, bytes).unwrap();
        let mut calls = Calls::so_far(name);
        for (hook, (count, ns)) in &mut calls.0 {
            *count -= before[hook].0;
            *ns -= before[hook].1;
        }
        calls
    }

    fn so_far(name: &str) -> Self {
        let programs = show(name)["programs"].as_array().unwrap().clone();
        let number = |program: &serde_json::Value, key: &str| program[key].as_u64().unwrap();
        Calls(
            programs
                .iter()
                .map(|program| {
                    let hook = program["name"].as_str().unwrap().to_owned();
                    (hook, (number(program, "run_count"), number(program, "run_time_ns")))
                })
                .collect(),
        )
    }

    fn acks(&self) -> f64 {
        let each_ack = self.0.iter().filter(|(hook, _)| EACH_ACK.iter().any(|ending| hook.ends_with(ending)));
        each_ack.map(|(_, (count, _))| *count).max().unwrap().max(1) as f64
    }

    fn per_ack(&self) -> f64 {
        self.0.values().map(|(count, _)| *count).sum::<u64>() as f64 / self.acks()
    }

    fn ns_per_ack(&self) -> f64 {
        self.0.values().map(|(_, ns)| *ns).sum::<u64>() as f64 / self.acks()
    }

    fn ns_per_call_of_each(&self) -> Vec<(String, f64)> {
        let often = self.0.iter().filter(|(_, (count, _))| *count as f64 >= self.acks() / 10.0);
        often.map(|(hook, (count, ns))| (hook.clone(), *ns as f64 / *count as f64)).collect()
    }

    /// Of one call, where no hook does anything.
    fn ns_per_call(&self) -> f64 {
        self.ns_per_ack() / self.per_ack()
    }
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
