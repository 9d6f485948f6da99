// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a BPF algorithm costs beside the kernel's own: processor time per gigabyte, and time in its hooks per ACK.
//!
//! In a guest in virtual time (`scripts/bench-exact`) a nanosecond is an instruction. `hooks`: only the time in hooks.
//!
//! Each comparison is of two connections that take turns in short portions (own, BPF, BPF, own), and each connection runs
//! in one thread with its window held: see `Lockstep`. A slow minute of the machine hits both alike.
#![allow(clippy::unwrap_used)] // a benchmark fails by panicking

mod hooks;
mod looks;
mod measure;
#[path = "../tests/suite/support/mod.rs"]
mod support;

use std::time::Duration;

use ccctl_loader::{recover, LoadRequest, Program};
use ccctl_testbed::{CpuTime, HandPath, Lockstep};
use hooks::{own_bbr_ns_per_ack, HookCost, HookCosts};
use looks::require_meant;
use measure::{form, is_smoke, machine, note, note_estimate, verdict, Form, Interval, Ratios};

/// What is accepted of an algorithm beside the kernel's own of the same name, and beside the kernel's cubic.
const SAME_AIM: f64 = 1.01;
const CUBIC_AIM: f64 = 1.05;
const ACK_AIM_NS: f64 = 250.0;

/// With longer windows the sender's buffer would be the limit.
const WINDOW_PKTS: u32 = 100;
/// Ratios of connections are compared whose windows differ by no more than this.
const SAME_WINDOW: f64 = 1.05;
/// What a packet of 1500 bytes carries, with time stamps.
const SEGMENT_BYTES: usize = 1448;

/// No other ccctl runs in the guest.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

struct Plan {
    connections: usize,
    turns: usize,
    turn_bytes: u64,
    hook_rounds: usize,
}

const FULL: Plan = Plan { connections: 12, turns: 5, turn_bytes: 20_000_000, hook_rounds: 9 };
const SMOKE: Plan = Plan { connections: 2, turns: 1, turn_bytes: 4_000_000, hook_rounds: 1 };
/// Of several connections, since the windows of some algorithms differ from one to the next.
const EXACT: Plan = Plan { connections: 3, turns: 2, turn_bytes: 10_000_000, hook_rounds: 6 };

fn main() {
    let plan = match form() {
        Form::Full => FULL,
        Form::Smoke => SMOKE,
        Form::Exact => EXACT,
    };
    support::test("ack", 1800, || {
        let algorithms = if only_hooks() { names() } else { support::catalogue() };
        for algorithm in &algorithms {
            load(algorithm);
        }
        let before = CpuTime::now().unwrap();
        println!("{}; load average at the start {}.", machine(), load_average());
        if is_smoke() {
            println!("Short form: too few connections for its verdicts to mean anything.");
        }
        let path = HandPath::new(WINDOW_PKTS).unwrap();
        if only_hooks() {
            hooks_alone(&path, &algorithms, &plan);
        } else {
            println!(
                "One connection in one thread, window held at {WINDOW_PKTS} packets, {} pairs of connections with {} \
                 turns of 2 x {} MB each; 95 % intervals of the median by bootstrap.\n",
                plan.connections,
                plan.turns,
                plan.turn_bytes / 1_000_000
            );
            same_names(&path, &algorithms, &plan);
            every_algorithm(&path, &algorithms, &plan);
        }
        looks::print();
        let meanwhile = CpuTime::now().unwrap().since(before);
        println!("\nLoad average at the end {}; stolen by the hypervisor {:?}.", load_average(), meanwhile.stolen);
        drop(path);
        for algorithm in &algorithms {
            support::succeeds(&["unload", &support::default_name(algorithm), "--force"]);
        }
    });
}

fn only_hooks() -> bool {
    std::env::args().any(|word| word == "hooks")
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap();
    text.split(' ').next().unwrap().to_owned()
}

fn open(path: &HandPath, name: &str) -> Lockstep {
    Lockstep::open(path, name).unwrap()
}

/// All but Prague, which no kernel runs.
fn names() -> Vec<String> {
    ccctl_catalog::names().into_iter().filter(|name| *name != "prague").map(str::to_owned).collect()
}

/// As `ccctl load`, and past the fence: all that an algorithm can harm here is this machine's own.
fn load(algorithm: &str) {
    let program = Program::named(algorithm).unwrap();
    let (name, parameters) = (program.default_name().unwrap(), program.defaults());
    let request = LoadRequest { program: &program, name: &name, profile: "", parameters: &parameters };
    let lock = recover(LOCK_PATIENCE).unwrap().lock;
    ccctl_loader::load(&lock, &request).unwrap();
}

/// What hooks take is time in the kernel: it does not depend on how this program was compiled.
fn hooks_alone(path: &HandPath, algorithms: &[String], plan: &Plan) {
    let costs = HookCosts::measure(path, algorithms, plan.hook_rounds);
    println!(
        "Mean of {} connections or more, smallest and largest. An empty hook reads {} ns.\n",
        plan.hook_rounds, costs.empty_ns
    );
    println!(
        "| algorithm | connections | calls per ACK | ns per ACK, gross | net of empty hooks | aim: {ACK_AIM_NS} net |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for algorithm in algorithms {
        let HookCost { calls, gross_ns, net_ns } = &costs.of[algorithm];
        note_estimate(&format!("{algorithm}: per ACK, net"), net_ns.mean(), net_ns.standard_error(), "ns");
        println!(
            "| {algorithm} | {} | {:.1} | {} | {} | {} |",
            net_ns.count(),
            calls.mean(),
            gross_ns.mean_cell(0),
            net_ns.mean_cell(0),
            aim_of_ack(net_ns.mean())
        );
    }
    if form() == Form::Exact {
        let own = own_bbr_ns_per_ack(path, plan.hook_rounds);
        println!(
            "\nThe kernel's own bbr: {} ns in bbr_main() per ACK, beyond what is read for bbr_min_tso_segs().",
            own.mean_cell(0)
        );
        note_estimate("the kernel's own bbr_main(): per ACK, net", own.mean(), own.standard_error(), "ns");
    }
}

fn aim_of_ack(net_ns: f64) -> &'static str {
    if net_ns <= ACK_AIM_NS {
        "met"
    } else {
        "missed"
    }
}

/// Both kinds of those that the kernel has, too.
fn same_names(path: &HandPath, algorithms: &[String], plan: &Plan) {
    println!(
        "| algorithm | windows, pkts: own, BPF | CPU s/GB, kernel's own | CPU per GB, BPF / own | aim: {SAME_AIM} |"
    );
    println!("| --- | --- | --- | --- | --- |");
    // Linux's dctcp is another algorithm where ECN is not negotiated, as on this path.
    for algorithm in algorithms.iter().filter(|name| *name != "dctcp" && support::available(name)) {
        hold_window(path, algorithm, true);
        let compared = compare(path, algorithm, &support::default_name(algorithm), plan);
        hold_window(path, algorithm, false);
        let (own, ratio) = (compared.own_s_per_gb, compared.ratio);
        let verdict =
            if compared.has_same_windows() { verdict(ratio, SAME_AIM) } else { "not comparable: other windows" };
        println!("| {algorithm} | {} | {own:.3} | {ratio} | {verdict} |", compared.windows());
        note(&format!("per GB, {algorithm} / the kernel's own"), ratio.median, "");
    }
    let itself = compare(path, "cubic", "cubic", plan);
    println!("| the kernel's cubic against itself | {} | | {} | noise |", itself.windows(), itself.ratio);
    let itself = itself.ratio;
    note("per GB, the kernel's cubic / itself", itself.median, "");
}

/// Linux's hybla lifts the route's limit of the window: there the server's offer is one for both. Its lp takes congestion for
/// what overflows with time stamps (docs/results/module-comparison.md), and ours yields to the delays of this path, which are
/// those of the thread: without the one and the other, both keep their window.
fn hold_window(path: &HandPath, algorithm: &str, begin: bool) {
    match algorithm {
        "hybla" => path.offer(if begin { WINDOW_PKTS as usize * SEGMENT_BYTES } else { 0 }).unwrap(),
        "lp" => {
            let time_stamps = if begin { "0" } else { "1" };
            path.client.set_sysctl("net/ipv4/tcp_timestamps", time_stamps).unwrap();
            let least_range = if begin { "min_range=1s" } else { "min_range=100us" };
            support::succeeds(&["tune", &support::default_name(algorithm), least_range]);
        }
        _ => {}
    }
}

fn every_algorithm(path: &HandPath, algorithms: &[String], plan: &Plan) {
    let costs = HookCosts::measure(path, algorithms, plan.hook_rounds);
    println!("\nEvery algorithm beside the kernel's cubic. An empty hook reads {} ns.\n", costs.empty_ns);
    println!("| algorithm | calls per ACK | ns per ACK, gross | net of empty hooks | aim: {ACK_AIM_NS} net | window, pkts | CPU per GB, BPF / kernel's cubic | aim: {CUBIC_AIM} |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for algorithm in algorithms {
        let compared = compare(path, "cubic", &support::default_name(algorithm), plan);
        let cost = &costs.of[algorithm];
        note(&format!("per GB, {algorithm} / the kernel's cubic"), compared.ratio.median, "");
        println!(
            "| {algorithm} | {:.1} | {} | {} | {} | {} | {} | {} |",
            cost.calls.median(),
            cost.gross_ns.cell(0),
            cost.net_ns.cell(0),
            aim_of_ack(cost.net_ns.median()),
            compared.windows_pkts[1],
            compared.ratio,
            if compared.has_same_windows() {
                verdict(compared.ratio, CUBIC_AIM)
            } else {
                "not comparable: another window"
            }
        );
    }
    for (what, own, other) in [("the kernel's bbr", "cubic", "bbr"), ("bpf_bbr / the kernel's bbr", "bbr", "bpf_bbr")] {
        let compared = compare(path, own, other, plan);
        println!("| {what} | | | | | {} | {} | |", compared.windows_pkts[1], compared.ratio);
    }
}

struct Compared {
    own_s_per_gb: f64,
    ratio: Interval,
    /// At the end, of the last two connections. More than the limit of the route or the server's offer is not in flight.
    windows_pkts: [u32; 2],
}

impl Compared {
    fn has_same_windows(&self) -> bool {
        let [one, other] = self.windows_pkts.map(f64::from);
        one.max(other) <= SAME_WINDOW * one.min(other)
    }

    fn windows(&self) -> String {
        self.windows_pkts.map(|pkts| pkts.to_string()).join(", ")
    }
}

fn compare(path: &HandPath, own: &str, bpf: &str, plan: &Plan) -> Compared {
    let mut ratios = Ratios::default();
    let (mut own_s, mut windows_pkts) = (measure::Sample::default(), [0; 2]);
    for _ in 0..plan.connections {
        let (mut first, mut second) = (open(path, own), open(path, bpf));
        let mut group = Vec::new();
        for turn in 0..=plan.turns {
            let seconds = |name: &str, end: &mut Lockstep| {
                let time = end.carry(path, plan.turn_bytes).unwrap();
                require_meant(name, end.windows_pkts().unwrap());
                time.as_secs_f64()
            };
            let a = seconds(own, &mut first);
            let [b, c] = [(); 2].map(|()| seconds(bpf, &mut second));
            let d = seconds(own, &mut first);
            if turn > 0 {
                // the first one warms up
                group.push((b + c) / (a + d));
                own_s.add((a + d) * 0.5e9 / plan.turn_bytes as f64);
            }
        }
        ratios.add_group(group);
        let window_of = |end: &Lockstep| end.windows_pkts().unwrap()[0].min(WINDOW_PKTS);
        windows_pkts = [&first, &second].map(window_of);
        first.close(path).unwrap();
        second.close(path).unwrap();
    }
    Compared { own_s_per_gb: own_s.median(), ratio: ratios.median(), windows_pkts }
}
