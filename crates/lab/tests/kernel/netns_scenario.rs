// SPDX-License-Identifier: GPL-2.0-only
//! A scenario on the running kernel: the algorithms are loaded by ccctl, the path is emulated.

use crate::support;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_lab::backend::{
    Algorithms, Backend as _, BackendError, Flow, KernelAlgorithm, Netns, Outcome, PathKind, Sim, Watch,
};
use ccctl_lab::experiment::PointSpec;
use ccctl_lab::scenario::Scenario;
use ccctl_loader::Instance;
use ccctl_path::{Bounds, Waiting};

/// Loads algorithms under names of the test's own.
#[derive(Default)]
struct ByLoader(AtomicU32);

struct Loaded(String);

impl Algorithms for ByLoader {
    fn provide(&self, algorithm: &str, parameters: &ParameterSet) -> Result<Box<dyn KernelAlgorithm>, BackendError> {
        let name = format!("lab_{}", self.0.fetch_add(1, Ordering::Relaxed));
        support::load(algorithm, &name, Some(parameters));
        Ok(Box::new(Loaded(name)))
    }
}

impl KernelAlgorithm for Loaded {
    fn kernel_name(&self) -> &str {
        &self.0
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        support::unload(&self.0);
    }
}

/// 20 Mbit/s and 40 ms: 66 packets of 1500 bytes are a BDP.
const SCENARIO: &str = r#"title = "A dumbbell on the running kernel"
[[link]]
name = "bottleneck"
rate = "20 Mbit/s"
delay = "15 ms"
queue = { kind = "droptail", size = "100 % BDP" }
[[flows]]
name = "early"
algorithm = "cubic"
set = { beta = 0.8 }
path = ["bottleneck"]
access_delay = "5 ms"
[[flows]]
name = "late"
algorithm = "reno"
path = ["bottleneck"]
access_delay = "5 ms"
start = "3 s"
stop = "7 s"
[[flows]]
name = "transfer"
algorithm = "reno"
path = ["bottleneck"]
access_delay = "5 ms"
start = "500 ms"
application = { kind = "transfer", size = "200 kB" }
[run]
duration = "10 s"
sample_interval = "100 ms"
"#;
const SEED: u64 = 1;
const QUEUE_PKTS: u64 = 66;
const PAYLOAD_BYTES: u64 = 1448;

fn setup(text: &str) -> PointSpec {
    Scenario::of_text(std::path::Path::new("test.toml"), text, &[]).unwrap().points.remove(0).setup
}

/// Room for all of them: what they send is a matter of the applications alone.
const APPLICATIONS: &str = r#"title = "Applications on the running kernel"
[[link]]
name = "bottleneck"
rate = "200 Mbit/s"
queue = { kind = "droptail", size = "1 MB" }
[[flows]]
name = "even"
algorithm = "reno"
path = ["bottleneck"]
access_delay = "5 ms"
application = { kind = "limited", rate = "2 Mbit/s" }
[[flows]]
name = "turns"
algorithm = "cubic"
path = ["bottleneck"]
access_delay = "5 ms"
application = { kind = "on-off", rate = "4 Mbit/s", on = "300 ms", off = "300 ms" }
[[flows]]
name = "short"
algorithm = "reno"
count = 3
path = ["bottleneck"]
access_delay = "5 ms"
application = { kind = "short", size = "20 kB", off = "50 ms" }
[[flows]]
name = "web"
algorithm = "reno"
count = 3
path = ["bottleneck"]
access_delay = "5 ms"
application = { kind = "web" }
[run]
duration = "8 s"
sample_interval = "100 ms"
"#;
const EVEN: usize = 0;
const TURNS: usize = 1;

/// Whether a run is faithful depends on what else the machine does; these bounds let everything pass.
fn no_bounds() -> Bounds {
    Bounds {
        late_windows_share: 1.0,
        very_late_windows_share: 1.0,
        rate_error: 1.0,
        clock_pause_share: 1.0,
        ..Bounds::default()
    }
}

fn run(setup: &PointSpec, algorithms: &ByLoader, bounds: Bounds) -> Result<Outcome, BackendError> {
    let backend = Netns { algorithms, path: PathKind::Emulator, waiting: Waiting::Sleep, bounds: Some(bounds) };
    backend.check(setup).unwrap();
    backend.run(setup, SEED, &watch(&AtomicBool::new(false)))
}

fn watch(cancel: &AtomicBool) -> Watch<'_> {
    Watch { cancel, progress: &|_| () }
}

/// Bytes received between two times.
fn received(outcome: &Outcome, flow: &Flow, from_s: u64, to_s: u64) -> f64 {
    let at = |time_s| {
        let place = outcome.times.iter().position(|time| *time >= Duration::from_secs(time_s)).unwrap();
        (outcome.times[place].as_secs_f64(), flow.samples[place].received_bytes as f64)
    };
    let ((began_s, first), (ended_s, last)) = (at(from_s), at(to_s));
    (last - first) / (ended_s - began_s) * (to_s - from_s) as f64
}

fn flows_keep_their_times(outcome: &Outcome) {
    let [early, late, _] = &outcome.flows[..] else { panic!("{} flows", outcome.flows.len()) };
    let has_nothing = |from_s, to_s| received(outcome, late, from_s, to_s).abs() < 1.0;
    assert!(has_nothing(0, 3));
    assert!(late.start >= Duration::from_secs(3) && late.start < Duration::from_millis(3500), "{:?}", late.start);
    assert!(received(outcome, late, 4, 7) > 100_000.0);
    assert!(has_nothing(8, 10), "it was stopped at 7 s");
    // 20 Mbit/s in packets of 1500 bytes with 1448 of data
    for (from_s, to_s) in [(4, 7), (8, 10)] {
        let both = received(outcome, early, from_s, to_s) + received(outcome, late, from_s, to_s);
        let ideal = 2_500_000.0 * (to_s - from_s) as f64 * 1448.0 / 1500.0;
        assert!((both / ideal - 1.0).abs() < 0.04, "{both} instead of {ideal} bytes from {from_s} s to {to_s} s");
    }
}

fn samples_agree(outcome: &Outcome) {
    let [early, late, transfer] = &outcome.flows[..] else { panic!("{} flows", outcome.flows.len()) };
    let link = &outcome.links[0].samples;
    assert_eq!(link.len(), outcome.times.len());
    assert!(link.iter().all(|sample| sample.queue_pkts <= QUEUE_PKTS));
    assert!(link.iter().any(|sample| sample.queue_pkts > QUEUE_PKTS / 2));
    let last = link.last().unwrap();
    assert!(last.dropped_pkts > 0 && last.waited_pkt_us > 0, "{last:?}");
    let received: u64 = outcome.flows.iter().map(|flow| flow.samples.last().unwrap().received_bytes).sum();
    // The last look at the link may be 10 ms older than that at the flows, or younger by what was under way.
    let link_bytes = last.delivered_pkts * PAYLOAD_BYTES;
    assert!(link_bytes.abs_diff(received) < received / 50, "{link_bytes} and {received}");
    let early_last = early.samples.last().unwrap();
    assert!(early_last.loss_epochs() > 0 && early_last.srtt_us > 40_000, "{early_last:?}");
    assert!(
        early.state.iter().any(|field| field.values.iter().any(|value| value.is_some_and(|value| value != 0))),
        "{:?}",
        early.state
    );
    assert!(late.samples.iter().any(|sample| sample.cwnd_pkts > 10));
    let ended = &outcome.transfers[..];
    assert_eq!((ended.len(), ended[0].flow, ended[0].pkts), (1, 2, 139), "200 kB are 139 packets");
    assert_eq!(transfer.samples.last().unwrap().received_bytes, 200_000);
    // Three rounds of an initial window of 10 packets bring 70, the fourth the rest: 4 RTTs at least, and the handshake.
    let took = ended[0].finished.saturating_sub(ended[0].started);
    assert!(took > Duration::from_millis(5 * 40) && took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_dumbbell_runs_as_the_scenario_says() {
    support::test("a scenario", 120, || {
        let algorithms = ByLoader::default();
        let outcome = run(&setup(SCENARIO), &algorithms, no_bounds()).unwrap();
        flows_keep_their_times(&outcome);
        samples_agree(&outcome);
    });
}

/// Packets of the transfers of a flow, in their order.
fn lengths_pkts(outcome: &Outcome, flow: usize) -> Vec<u32> {
    outcome.transfers.iter().filter(|transfer| transfer.flow == flow).map(|transfer| transfer.pkts).collect()
}

/// What has come of a flow at each sample is what the simulator's flow has, give or take what is written in this time: it
/// has the same random numbers and no noise.
fn comes_as_simulated(kernel: &Outcome, simulated: &Outcome, flow: usize, rate_bytes_per_s: f64) {
    let allowed_bytes = rate_bytes_per_s * 0.15;
    for (time, sample) in kernel.times.iter().zip(&kernel.flows[flow].samples) {
        let place = simulated.times.partition_point(|it| it <= time) - 1;
        let expected = simulated.flows[flow].samples[place].received_bytes as f64;
        let off = (sample.received_bytes as f64 - expected).abs();
        assert!(off < allowed_bytes, "flow {flow} at {time:?}: {} and {expected} bytes", sample.received_bytes);
    }
}

/// Objects of three users of the web, three of short transfers, and what is written by a clock.
#[test]
fn applications_send_what_they_send_in_the_simulator() {
    support::test("applications", 40, || {
        let setup = setup(APPLICATIONS);
        let simulated = Sim.run(&setup, SEED, &watch(&AtomicBool::new(false))).unwrap();
        let kernel = run(&setup, &ByLoader::default(), no_bounds()).unwrap();
        comes_as_simulated(&kernel, &simulated, EVEN, 250_000.0);
        comes_as_simulated(&kernel, &simulated, TURNS, 500_000.0);
        let even = kernel.flows[EVEN].samples.last().unwrap().received_bytes as f64;
        assert!((even / (8.0 * 250_000.0) - 1.0).abs() < 0.02, "{even} bytes in 8 s at 2 Mbit/s");
        has_the_same_transfers(&kernel, &simulated);
    });
}

fn has_the_same_transfers(kernel: &Outcome, simulated: &Outcome) {
    let mut all = 0;
    for flow in 2..8 {
        let (lengths, expected) = (lengths_pkts(kernel, flow), lengths_pkts(simulated, flow));
        assert!(lengths.iter().zip(&expected).all(|(one, other)| one == other), "{lengths:?} and {expected:?}");
        assert!(lengths.len().abs_diff(expected.len()) <= 2 + expected.len() / 5, "{lengths:?} and {expected:?}");
        let last = kernel.flows[flow].samples.last().unwrap();
        let transferred: u64 = lengths.iter().map(|pkts| u64::from(*pkts) * PAYLOAD_BYTES).sum();
        assert!(last.received_bytes >= transferred && last.acked_bytes >= transferred, "{last:?}: {transferred}");
        all += lengths.len();
    }
    assert!(all > 100, "{all} transfers");
}

#[test]
fn parameters_reach_the_kernel() {
    support::test("parameters", 60, || {
        let group = &setup(SCENARIO).groups[0];
        let loaded = ByLoader::default().provide(&group.algorithm, &group.parameters).unwrap();
        let parameters = Instance::named(loaded.kernel_name()).unwrap().parameters;
        assert_eq!(parameters.get("beta"), Some(819));
    });
}

/// Each group has its own; no packet has been lost yet.
#[test]
fn slow_start_ends_at_the_threshold_that_was_asked_for() {
    support::test("thresholds", 60, || {
        let with = |pkts: u32| format!("[flows.tcp]\ninitial_ssthresh = \"{pkts} packets\"\n");
        let (early, late) = (with(20), with(30));
        let text = SCENARIO
            .replace("[[flows]]\nname = \"late\"", &format!("{early}[[flows]]\nname = \"late\""))
            .replace("[[flows]]\nname = \"transfer\"", &format!("{late}[[flows]]\nname = \"transfer\""))
            .replace("\"10 s\"", "\"4 s\"")
            .replace("stop = \"7 s\"\n", "");
        let outcome = run(&setup(&text), &ByLoader::default(), no_bounds()).unwrap();
        let first = |flow: &Flow| flow.samples.iter().find_map(|sample| sample.ssthresh_pkts);
        let seen: Vec<Option<u32>> = outcome.flows[..2].iter().map(first).collect();
        assert_eq!(seen, [Some(20), Some(30)]);
    });
}

/// No path is never late.
#[test]
fn an_invalid_run_has_no_outcome() {
    support::test("an invalid run", 60, || {
        let short =
            SCENARIO.replace("\"10 s\"", "\"1 s\"").replace("\"7 s\"", "\"900 ms\"").replace("\"3 s\"", "\"100 ms\"");
        let bounds = Bounds { late: Duration::ZERO, late_windows_share: 0.0, ..Bounds::default() };
        let error = run(&setup(&short), &ByLoader::default(), bounds).unwrap_err().to_string();
        assert!(error.starts_with("the run is invalid: ") && error.contains("late by more than 0ns"), "{error}");
    });
}
