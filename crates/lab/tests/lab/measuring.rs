// SPDX-License-Identifier: GPL-2.0-only
//! Measures of runs that are made up, so that every value can be worked out by hand, and of simulations with closed forms.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ccctl_lab::backend::{
    Backend as _, Flow, FlowSample, LinkSample, LinkSeries, Outcome, Sim, StateField, Transfer, Watch,
};
use ccctl_lab::experiment::PointSpec;
use ccctl_lab::measures::Names;
use ccctl_lab::measures::{Evaluation, Reference};
use ccctl_lab::scenario::Scenario;

use crate::scenario;

/// 8 Mbit/s, 10 s, averages from 2 s to 10 s, samples each second, rates over 2 s; a queue of 50 packets.
const MADE_UP: &str = r#"title = "made up"
[[link]]
name = "l"
rate = "8 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", size = "50 packets" }
[[flows]]
name = "a"
algorithm = "cubic"
path = ["l"]
[[flows]]
name = "b"
algorithm = "reno"
path = ["l"]
[run]
duration = "10 s"
window = ["2 s", "10 s"]
sample_interval = "1 s"
rate_interval = "2 s"
"#;

fn names() -> Names {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Names { groups: words(&["a", "b"]), links: words(&["l"]), duration: Duration::from_secs(10) }
}

fn value(setup: &PointSpec, outcome: &Outcome, text: &str) -> Option<f64> {
    Evaluation { setup, outcome }.value(&Reference::parse(text, &names()).unwrap())
}

/// A flow whose samples are made of the second.
fn flow(group: usize, sample: impl Fn(u64) -> FlowSample) -> Flow {
    Flow {
        group,
        number: 0,
        start: Duration::ZERO,
        stop: None,
        samples: (0..=10).map(sample).collect(),
        state: Vec::new(),
    }
}

/// Flow a gets 6 Mbit/s all the time (750,000 bytes a second). Flow b gets 1 Mbit/s for 6 s and 3 Mbit/s after: 2 from 2 s to 10 s.
fn two_flows() -> Outcome {
    let a = flow(0, |second| FlowSample {
        received_bytes: 750_000 * second,
        data_segments_sent_pkts: 1000 * second,
        retransmits_pkts: 10 * second,
        timeouts: u64::from(second >= 5),
        recoveries: u64::from(second >= 1) + u64::from(second >= 7),
        cwnd_pkts: 100 + second as u32,
        ssthresh_pkts: Some(53),
        srtt_us: 20_000,
        ..FlowSample::default()
    });
    let mut b = flow(1, |second| FlowSample {
        received_bytes: 125_000 * second.min(6) + 375_000 * second.saturating_sub(6),
        data_segments_sent_pkts: 500 * second,
        cwnd_pkts: 10,
        ..FlowSample::default()
    });
    b.state.push(StateField { name: "queue_pkts".to_owned(), values: (0..=10).map(Some).collect() });
    let link = |second: u64| LinkSample {
        queue_pkts: second,
        waited_pkt_us: 20_000_000 * second,
        arrived_pkts: 2000 * second,
        dropped_pkts: 30 * second,
        lost_pkts: 10 * second,
        marked_pkts: 5 * second,
        delivered_bytes: 900_000 * second,
        ..LinkSample::default()
    };
    let transfer = |flow, started, finished| Transfer {
        flow,
        pkts: 1,
        started: Duration::from_millis(started),
        finished: Duration::from_millis(finished),
    };
    Outcome {
        times: (0..=10).map(Duration::from_secs).collect(),
        flows: vec![a, b],
        links: vec![LinkSeries { samples: (0..=10).map(link).collect() }],
        // One ends before the window; 1 s, 2 s and 6 s of flow a, half a second of b.
        transfers: vec![
            transfer(0, 0, 1000),
            transfer(0, 2000, 3000),
            transfer(0, 3000, 5000),
            transfer(1, 4500, 5000),
            transfer(0, 3000, 9000),
        ],
        path: None,
    }
}

#[test]
fn each_measure_is_what_one_works_out_by_hand() {
    let scenario = scenario(MADE_UP).unwrap();
    let (setup, outcome) = (&scenario.points[0].setup, two_flows());
    let sigma_ts = [5.0_f64 / 2.0, 5.0 / 2.0, 3.0 / 2.0, 3.0 / 2.0]; // (6 - 1) / 2 twice, then (6 - 3) / 2 twice
    let rms = (sigma_ts.iter().map(|sigma| sigma * sigma).sum::<f64>() / 4.0).sqrt();
    for (text, expected) in [
        ("goodput", 8.0),
        ("goodput:a", 6.0),
        ("goodput:b", 2.0),
        ("goodput_per_flow", 4.0),
        ("goodput:b@0 s..6 s", 1.0),
        ("goodput:b@5.5 s..6.5 s", 2.0), // half a second at 1, half at 3: between samples on a line
        ("share:a", 75.0),
        ("throughput_ratio:a/b", 3.0),
        ("slow_over_fast", 1.0 / 3.0),
        ("asymmetry:a/b", 0.5),
        ("asymmetry:b/a", -0.5),
        ("sigma_f", 0.5),
        ("xi_f", 0.5 / 4.0), // sigma_t are 2.5 and 1.5, twice each: their deviation is 0.5
        ("xi_f_rms", rms / 4.0),
        ("jain", 64.0 / 80.0),
        ("smoothness:b", 0.5), // 1, 1, 3, 3: deviation 1 of 2
        ("smoothness", 0.25),  // a's is 0
        ("retransmits:a", 80.0),
        ("retransmit_rate:a", 1.0),
        ("retransmit_rate", 80.0 / 12_000.0 * 100.0),
        ("rtos:a", 1.0),
        ("loss_epochs:a", 2.0), // the timeout at 5 s, the recovery at 7 s; that at 1 s was before
        ("backoff:a", f64::midpoint(53.0 / 104.0, 53.0 / 106.0)),
        ("cwnd_mean:a", 106.5), // 103 to 110
        ("cwnd_peak", 110.0),
        ("srtt_mean", 20.0),
        ("fct_mean:a", 3.0),
        ("fct_p50:a", 2.0),
        ("fct_p95", 6.0),
        ("fct_p99", 6.0),
        ("transfers", 4.0),
        ("state.queue_pkts:b", 6.5), // 3 to 10
        ("utilisation:l", 90.0),
        ("queue_mean", 20.0),
        ("queue_p95", 10.0),
        ("queue_peak", 10.0),
        ("queue_normalised", 0.4),
        ("loss_rate", 2.0),
        ("drops", 240.0),
        ("losses", 80.0),
        ("marks", 40.0),
    ] {
        let found = value(setup, &outcome, text).unwrap_or(f64::NAN);
        assert!((found - expected).abs() < 1e-9, "{text}: {found}, not {expected}");
    }
}

#[test]
fn what_did_not_happen_has_no_value() {
    let scenario = scenario(MADE_UP).unwrap();
    let (setup, mut outcome) = (&scenario.points[0].setup, two_flows());
    for text in ["state.w_max_pkts:b", "backoff:b", "srtt_mean:b"] {
        assert_eq!(value(setup, &outcome, text), None, "{text}");
    }
    outcome.transfers.clear();
    assert_eq!((value(setup, &outcome, "fct_mean"), value(setup, &outcome, "transfers")), (None, Some(0.0)));
    outcome.flows.pop();
    assert_eq!((value(setup, &outcome, "goodput:b"), value(setup, &outcome, "asymmetry:a/b")), (None, None));
}

/// Two flows: all to a for 30 s after b has come at 20 s, then half each. Rates over 1 s; equal from 50 s on, 30 s after the last start.
#[test]
fn convergence_is_counted_from_the_last_start() {
    let text =
        MADE_UP.replace("10 s\"\nwindow = [\"2 s\", \"10 s\"]", "100 s\"").replace("rate_interval = \"2 s\"", "");
    let text = text.replace("sample_interval = \"1 s\"", "sample_interval = \"1 s\"\nrate_interval = \"1 s\"");
    let scenario = scenario(&text).unwrap();
    let setup = &scenario.points[0].setup;
    let flow = |group: usize, start: u64, bytes: fn(u64) -> u64| Flow {
        start: Duration::from_secs(start),
        samples: (0..=100)
            .map(|second| FlowSample { received_bytes: bytes(second), ..FlowSample::default() })
            .collect(),
        ..flow(group, |_| FlowSample::default())
    };
    let a = flow(0, 0, |second| 1000 * second.min(50) + 500 * second.saturating_sub(50));
    let b = flow(1, 20, |second| 500 * second.saturating_sub(50));
    let times = (0..=100).map(Duration::from_secs).collect();
    let mut outcome = Outcome { times, flows: vec![a, b], ..Outcome::default() };
    assert_eq!(value(setup, &outcome, "convergence_time"), Some(30.0));
    // Never equal: the 80 s that were left are a lower bound.
    outcome.flows[1] = flow(1, 20, |second| 250 * second.saturating_sub(50));
    assert_eq!(value(setup, &outcome, "convergence_time"), Some(80.0));
}

fn simulate(scenario: &Scenario, seed: u64) -> Outcome {
    let watch = Watch { cancel: &AtomicBool::new(false), progress: &|_| () };
    Sim.run(&scenario.points[0].setup, seed, &watch).unwrap()
}

/// One Reno flow and a buffer of one BDP: the link is always full, so goodput is the share of data in packets,
/// 1000 of 1040 bytes; a loss halves the window.
#[test]
fn a_full_link_carries_the_share_of_data() {
    let text = r#"title = "t"
[[link]]
name = "l"
rate = "20 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", size = "1 BDP" }
[tcp]
mss = "1000 bytes"
header = "40 bytes"
[[flows]]
name = "a"
algorithm = "reno"
path = ["l"]
[[flows]]
name = "b"
algorithm = "reno"
path = ["l"]
count = 0
[run]
duration = "60 s"
warm_up = "20 s"
"#;
    let scenario = scenario(text).unwrap();
    let (setup, outcome) = (&scenario.points[0].setup, simulate(&scenario, 1));
    let value = |text: &str| value(setup, &outcome, text).unwrap();
    assert!((value("utilisation") - 100.0).abs() < 0.5, "{}", value("utilisation"));
    assert!((value("goodput:a") - 20.0 * 1000.0 / 1040.0).abs() < 0.1, "{}", value("goodput:a"));
    assert!((value("backoff:a") - 0.5).abs() < 0.01, "{}", value("backoff:a"));
    // The window swings between 1 and 2 BDP, so the queue between 0 and its size.
    assert!((0.35..0.65).contains(&value("queue_normalised")), "{}", value("queue_normalised"));
    assert!(value("rtos:a").abs() < 1e-9 && value("loss_epochs:a") >= 1.0);
}

/// A writer of 4 Mbit/s on a link of 10 Mbit/s that loses one packet in 50: 4 Mbit/s of data, 2 % lost, no queue to speak of.
/// Data comes back over the same link: its own direction, with a queue of its own.
#[test]
fn a_slow_writer_gets_what_it_writes_in_both_directions() {
    let text = r#"title = "t"
[[link]]
name = "l"
rate = "10 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail", size = "100 packets" }
loss = { kind = "bernoulli", probability = "2 %" }
[[flows]]
name = "a"
algorithm = "cubic"
path = ["l"]
application = { kind = "limited", rate = "4 Mbit/s" }
[[flows]]
name = "b"
algorithm = "cubic"
path = ["l"]
reverse = true
application = { kind = "limited", rate = "3 Mbit/s" }
[run]
duration = "100 s"
warm_up = "10 s"
"#;
    let scenario = scenario(text).unwrap();
    let (setup, outcome) = (&scenario.points[0].setup, simulate(&scenario, 1));
    let value = |text: &str| value(setup, &outcome, text).unwrap();
    assert!((value("goodput:a") - 4.0).abs() < 0.05, "{}", value("goodput:a"));
    assert!((value("goodput:b") - 3.0).abs() < 0.05, "{}", value("goodput:b"));
    assert!((value("loss_rate") - 2.0).abs() < 0.3, "{}", value("loss_rate"));
    // Forward a's packets arrive once each, and an ACK of 52 bytes for every second packet of b's 3 Mbit/s.
    let expected = (4.0 * 1500.0 / 1448.0 + 3.0 / 1448.0 * 52.0 / 2.0) * 10.0;
    assert!((value("utilisation") - expected).abs() < 0.2, "{} not {expected}", value("utilisation"));
    assert!(value("queue_mean") < 1.0);
}

#[test]
fn the_seed_spreads_starts_within_their_limit() {
    let text = MADE_UP.replace("algorithm = \"cubic\"", "algorithm = \"cubic\"\ncount = 50\nstart_spread = \"1 s\"");
    let scenario = scenario(&text).unwrap();
    let starts =
        |seed| simulate(&scenario, seed).flows.iter().take(50).map(|flow| flow.start).collect::<Vec<Duration>>();
    let (one, two) = (starts(1), starts(2));
    assert_ne!(one, two);
    assert_eq!(one, starts(1));
    assert!(one.iter().all(|start| *start < Duration::from_secs(1)));
    let mean_s = one.iter().map(Duration::as_secs_f64).sum::<f64>() / 50.0;
    assert!((mean_s - 0.5).abs() < 0.15, "{mean_s}"); // deviation of the mean: 1 / sqrt(12 * 50) = 0.04
}
