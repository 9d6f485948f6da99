// SPDX-License-Identifier: GPL-2.0-only
//! `configs/algorithms/udt.bpf.c`: UDT's law against numbers that follow from the formulas of its paper (Gu, Grossman 2007).

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::scratch::Scratch;

/// One flow in a link of 1 Gbit/s, which UDT takes for what B says; packets of 1500 bytes.
const ALONE: &str = r#"title = "udt alone"
[[link]]
name = "l"
rate = "1 Gbit/s"
queue = { kind = "droptail", size = "100 packets" }
[[flows]]
name = "first"
algorithm = "udt"
path = ["l"]
access_delay = "10 ms"
[run]
duration = "22 s"
warm_up = "2 s"
[measures]
wanted = ["goodput@1 s..2 s", "goodput@4 s..5 s", "goodput@7 s..8 s", "goodput@10 s..11 s", "goodput@14.5 s..15.5 s", "loss_epochs"]
"#;

/// A second flow comes 20 s later.
const TWO: &str = r#"title = "two of udt"
[[link]]
name = "l"
rate = "100 Mbit/s"
queue = { kind = "droptail", size = "100 packets" }
[[flows]]
name = "first"
algorithm = "udt"
set = { capacity = "100mbit" }
path = ["l"]
access_delay = "5 ms"
[[flows]]
name = "second"
algorithm = "udt"
set = { capacity = "100mbit" }
path = ["l"]
access_delay = "5 ms"
start = "20 s"
[run]
duration = "120 s"
warm_up = "60 s"
[measures]
wanted = ["jain", "utilisation"]
"#;

fn measures(name: &str, scenario: &str, set: &[&str]) -> Value {
    let scratch = Scratch::new(name);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/algorithms/udt.bpf.c");
    fs::copy(file, scratch.path("udt.bpf.c")).unwrap();
    fs::write(scratch.path("udt.toml"), scenario).unwrap();
    let fixed = ["run", "./udt.toml", "--algorithm", "./udt.bpf.c", "--trust-writable", "--series", "none"];
    scratch.done(&[&fixed[..], set].concat());
    scratch.json("ccctl-lab/udt/units/p00001-r1.json")["measures"].clone()
}

/// While 100 Mbit/s or more are free, a step is 10^9 1.5e-6 / 1500 = 1 packet per SYN, 120 Mbit/s each second: after 7.5 s the flow
/// has 90 % of the link. Then a step is a tenth of that, and after another 7.5 s it has 99 %.
#[test]
fn the_rate_takes_7_5_s_for_each_nine() {
    let measures = measures("udt-alone", ALONE, &[]);
    let data_share = 1448.0 / 1500.0;
    // Mean rate of the time, in Mbit/s. From 7 to 8 s: from 840 to 900, and to 906; from 14.5 s on: from 984 to 990, and hardly more.
    let rates = [
        ("1 s..2 s", 180.0),
        ("4 s..5 s", 540.0),
        ("7 s..8 s", 886.5),
        ("10 s..11 s", 936.0),
        ("14.5 s..15.5 s", 988.5),
    ];
    for (when, rate) in rates {
        let found = measures[format!("goodput@{when}")].as_f64().unwrap() / data_share;
        // Up to three steps late: the first ACKs take a round trip, and are delayed.
        assert!((rate - 3.6..rate + 0.6).contains(&found), "{when}: {found}, expected {rate}");
    }
    assert_eq!(measures["loss_epochs"], 0.0);
}

/// The link has half of what B says. From loss to loss the rate goes up 120 Mbit/s each second: beyond 500 it fills the queue of
/// 100 packets, 1.2 Mbit, within (2 * 1.2 / 120)^(1/2) = 0.141 s, and grows on for a round trip of 20 ms and the queue's 2.4 ms: 519.6. A
/// ninth of that is 57.7 Mbit/s, which takes 0.481 s.
#[test]
fn a_loss_costs_a_ninth_of_the_rate() {
    let measures = measures("udt-loss", ALONE, &["--set", "link.l.rate=500 Mbit/s", "--set", "run.warm_up=5 s"]);
    let epochs = measures["loss_epochs"].as_f64().unwrap();
    let expected = (22.0 - 5.0) / 0.481;
    assert!((epochs / expected - 1.0).abs() < 0.04, "{epochs}, expected {expected}");
}

/// The one that has less of the link grows by larger steps, and gives up less at a loss.
#[test]
fn a_late_flow_gets_its_half() {
    let measures = measures("udt-two", TWO, &[]);
    assert!(measures["jain"].as_f64().unwrap() > 0.95, "{measures}");
    assert!(measures["utilisation:l"].as_f64().unwrap() > 85.0, "{measures}");
}
