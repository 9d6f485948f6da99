// SPDX-License-Identifier: GPL-2.0-only
//! `examples/`: each passes its tests, and shows what its paper is about. `crates/cli/tests/suite/kernel/examples.rs` has the
//! kernel accept them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::scratch::Scratch;

/// One or four flows on a link of 20 Mbit/s and an RTT of 40 ms with room for four bandwidth-delay products, 264 packets. A packet
/// waits 0.6 ms for each before it: 1500 bytes at 20 Mbit/s.
const DEEP_QUEUE: &str = r#"title = "a deep queue"
[[link]]
name = "l"
rate = "20 Mbit/s"
delay = "18 ms"
queue = { kind = "droptail", size = "400 % BDP" }
[[flows]]
name = "a"
algorithm = "reno"
path = ["l"]
access_delay = "2 ms"
access_jitter = "100 us"
stagger = "5 s"
[run]
duration = "60 s"
window = ["20 s", "60 s"]
[[sweep]]
name = "n"
values = [1, 4]
set = ["flows.a.count"]
[measures]
wanted = ["utilisation", "queue_mean", "srtt_mean", "jain"]
"#;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn path(name: &str, ending: &str) -> String {
    folder().join(name).join(format!("{name}.{ending}")).to_string_lossy().into_owned()
}

fn names() -> Vec<String> {
    let folders = fs::read_dir(folder()).unwrap().flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_example_passes_its_vectors_and_properties() {
    assert_eq!(names(), ["aimd", "copa", "lola"]);
    let scratch = Scratch::new("examples");
    for name in names() {
        let answer =
            scratch.done(&["test", &path(&name, "bpf.c"), "--trust-writable", "--no-page", "--fuzz", "1s", "--json"]);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["passed"], true, "{answer}");
        assert!(answer["vectors"].as_array().unwrap().len() >= 4 && answer["unsanitized"].is_null(), "{answer}");
    }
}

/// The row says what the compiler makes of the struct.
#[test]
fn the_state_in_the_header_is_that_of_the_compiler() {
    for name in names() {
        let source = path(&name, "bpf.c");
        let object = ccctl_catalog::compile(Path::new(&source), ccctl_catalog::Target::Bpf).unwrap();
        let bytes = ccctl_catalog::Layout::of_object(&name, &object).unwrap().state_bytes;
        let row = format!("\n * State    {bytes} bytes of 104.\n");
        assert!(bytes <= 104 && fs::read_to_string(&source).unwrap().contains(&row), "{name}: {row}");
    }
}

/// Of one flow and of four: utilisation in %, mean queue in packets, Jain's index.
fn in_a_deep_queue(name: &str) -> [[f64; 3]; 2] {
    let scratch = Scratch::new(&format!("example-{name}"));
    fs::write(scratch.path("deep.toml"), DEEP_QUEUE).unwrap();
    scratch.done(&["run", "./deep.toml", "--algorithm", &path(name, "bpf.c"), "--trust-writable"]);
    let summary = scratch.json("ccctl-lab/deep/summary.json");
    [0, 1].map(|point| {
        let measures = &summary["points"][point]["measures"];
        ["utilisation:l", "queue_mean:l", "jain"]
            .map(|name| measures[name]["mean"].as_f64().unwrap_or_else(|| panic!("{measures}")))
    })
}

/// Section 3 of the paper: in equilibrium 1 / delta = 2 packets per flow wait, and the queue swings around that by 5 / 2 of one
/// flow's steps. AIMD fills the queue: half of it on average, for any number of flows.
#[test]
fn copa_keeps_a_few_packets_per_flow_in_a_deep_queue_and_the_link_full() {
    let [[alone_pct, alone_pkts, _], [four_pct, four_pkts, jain]] = in_a_deep_queue("copa");
    assert!(alone_pct > 99.0 && four_pct > 99.0, "{alone_pct} {four_pct}");
    assert!((1.0..5.0).contains(&alone_pkts) && (4.0..20.0).contains(&four_pkts), "{alone_pkts} {four_pkts}");
    assert!(jain > 0.99, "{jain}");
    let [[_, of_aimd, _], _] = in_a_deep_queue("aimd");
    assert!(of_aimd > 100.0, "{of_aimd}");
}

/// The paper's two claims: the queueing delay stays around the target of 5 ms, 8.3 packets, and does not grow with the number of
/// flows; shares are equal. The mean is below the target: each decrease empties the queue.
#[test]
fn lola_keeps_the_queue_at_its_target_for_one_flow_and_for_four() {
    let [[alone_pct, alone_pkts, _], [four_pct, four_pkts, jain]] = in_a_deep_queue("lola");
    assert!(alone_pct > 95.0 && four_pct > 95.0, "{alone_pct} {four_pct}");
    assert!((2.0..8.4).contains(&alone_pkts) && (2.0..12.0).contains(&four_pkts), "{alone_pkts} {four_pkts}");
    assert!(jain > 0.99, "{jain}");
}
