// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time in an algorithm's hooks for each ACK, as the kernel's BPF statistics count it, and what of that is their own clock.

use std::collections::BTreeMap;
use std::time::Duration;

use ccctl_testbed::{FunctionTime, HandPath, Stretch, EMPTY_HOOKS_OBJECT};
use nix::time::{clock_gettime, ClockId};

use crate::looks::require_meant;
use crate::measure::Sample;
use crate::open;
use crate::support::{default_name, show, succeeds, Folder};

const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
const EMPTY: &str = "bpf_empty";
/// Hooks of which each ACK calls each one that there is, once at the most.
const EACH_ACK: [&str; 4] = ["_pkts_acked", "_cong_avoid", "_in_ack_event", "_cong_control"];

/// The window is at its limit, recovers from a loss, grows again, meets two queues, and loses in the longer one.
const COURSE: [Stretch; 5] = [
    stretch(100, 10, false),
    stretch(300, 10, true),
    stretch(200, 12, false),
    stretch(100, 16, false),
    stretch(200, 10, true),
];

/// Of an algorithm whose connections differ (it draws random numbers, or small differences grow) so many are measured that the
/// mean is known this well, as a share of it; but no more than so many.
const MEAN_ERROR: f64 = 0.007;
const MOST_CONNECTIONS: usize = 60;

/// Connections begin at multiples of this: a tick of the kernel's and of the time stamps' clock falls on the same moments of each.
const BEAT: Duration = Duration::from_millis(100);

const fn stretch(lasts_ms: u64, delay_ms: u64, begins_with_loss: bool) -> Stretch {
    Stretch { lasts: Duration::from_millis(lasts_ms), delay: Duration::from_millis(delay_ms), begins_with_loss }
}

/// Per ACK.
#[derive(Default)]
pub struct HookCost {
    pub calls: Sample,
    pub gross_ns: Sample,
    /// Without what as many calls of an empty hook read, on the same course.
    pub net_ns: Sample,
}

impl HookCost {
    /// Another connection of it, beside what a call of an empty hook reads.
    fn add_connection(&mut self, path: &HandPath, algorithm: &str, empty_ns: f64) {
        let calls = Calls::on_course(path, &default_name(algorithm));
        self.calls.add(calls.per_ack());
        self.gross_ns.add(calls.ns_per_ack());
        self.net_ns.add(calls.ns_per_ack() - calls.per_ack() * empty_ns);
    }

    fn is_uncertain(&self) -> bool {
        self.net_ns.count() < MOST_CONNECTIONS && self.net_ns.standard_error() > MEAN_ERROR * self.net_ns.mean()
    }
}

pub struct HookCosts {
    pub of: BTreeMap<String, HookCost>,
    /// What the statistics read for one call of a hook that does nothing.
    pub empty_ns: String,
}

impl HookCosts {
    /// Rounds over all algorithms, each with a connection of its own, after the empty hooks; then more connections of those
    /// whose mean is uncertain.
    pub fn measure(path: &HandPath, algorithms: &[String], rounds: usize) -> Self {
        let folder = Folder::new("empty-hooks");
        succeeds(&["load", &folder.file("empty.o", EMPTY_HOOKS_OBJECT), "--as", EMPTY]);
        let statistics = Statistics::on();
        let (mut of, mut empty_ns) = (BTreeMap::<String, HookCost>::new(), Sample::default());
        for _ in 0..rounds {
            let nothing_ns = Calls::on_course(path, EMPTY).ns_per_call();
            empty_ns.add(nothing_ns);
            for algorithm in algorithms {
                of.entry(algorithm.clone()).or_default().add_connection(path, algorithm, nothing_ns);
            }
        }
        if rounds > 1 {
            for (algorithm, cost) in &mut of {
                while cost.is_uncertain() {
                    cost.add_connection(path, algorithm, empty_ns.median());
                }
            }
        }
        drop(statistics);
        succeeds(&["unload", EMPTY, "--force"]);
        HookCosts { of, empty_ns: empty_ns.cell(0) }
    }
}

/// The kernel's own bbr, compiled by gcc, on the same course.
const OWN: &str = "bbr";
const OWN_LAW: &str = "bbr_main";
/// A hook of a comparison and two constants: what is read for a call itself.
const OWN_SMALL: &str = "bbr_min_tso_segs";

/// ns in one call of the kernel's `bbr_main`, with all that it calls, beyond those read for its smallest hook.
pub fn own_bbr_ns_per_ack(path: &HandPath, rounds: usize) -> Sample {
    let mut net_ns = Sample::default();
    for _ in 0..rounds {
        let [law, small] = [OWN_LAW, OWN_SMALL].map(|function| {
            let time = FunctionTime::attach(function).unwrap();
            wait_for_beat();
            open(path, OWN).follow(path, &COURSE).unwrap();
            time.ns_per_call().unwrap()
        });
        net_ns.add(law - small);
    }
    net_ns
}

fn wait_for_beat() {
    let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap());
    let beats = now.as_millis() / BEAT.as_millis() + 1;
    std::thread::sleep((BEAT * u32::try_from(beats).unwrap()).saturating_sub(now));
}

/// How often each hook was called, and for how long.
struct Calls(BTreeMap<String, (u64, u64)>);

impl Calls {
    /// Of a new connection.
    fn on_course(path: &HandPath, name: &str) -> Self {
        let before = Calls::so_far(name).0;
        wait_for_beat();
        for windows_pkts in open(path, name).follow(path, &COURSE).unwrap() {
            require_meant(name, windows_pkts);
        }
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
