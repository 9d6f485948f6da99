// SPDX-License-Identifier: MIT OR Apache-2.0
//! Advice for connections over paths whose answer is known: one where losses without a queue hold Reno back, and one whose
//! sender has nothing to send.

use std::process::Command;
use std::time::Duration;

use ccctl_path::{Path, PathSpec, Waiting, RECEIVER_V4};
use ccctl_sim::{BitRate, Limit, Loss, Probability};
use ccctl_testbed::{run, Amount, Flows, Receiver, Sending};
use serde_json::Value;

use crate::support::compile::compile;
use crate::support::{self, code, refuses, Folder, CCCTL};

/// Of a measurement of 20 s, and simulations.
const PATIENCE: Duration = Duration::from_secs(100);

/// Reno gets 1.22 / sqrt(0.01) packets per RTT of 40 ms: 3.7 Mbit/s of 20. BBR is not stopped by losses that no queue has caused.
fn lossy_path() -> Path {
    let mut spec = PathSpec::new(BitRate::mbit_per_s(20), Duration::from_millis(40), Limit::Packets(67));
    spec.forward.loss = Loss::Bernoulli(Probability::ratio(1, 100));
    spec.waiting = Waiting::Sleep;
    Path::start(&spec).unwrap()
}

/// What is said, after a look of so long, of one connection of Reno that pauses after each 32 KiB, and of these candidates.
fn advice(path: &Path, pause: Duration, look: &str, candidates: &str) -> Value {
    let receiver = Receiver::start(path.endpoints().receiver(), "::").unwrap();
    let to = receiver.at(&RECEIVER_V4.to_string());
    let sending = Sending { to, algorithm: Some("reno".to_owned()), amount: Amount::UntilStopped, pause };
    let sender = path.endpoints().sender(0);
    let flows = Flows::start(sender, &sending, 1).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let how = ["advise", "--netns", sender.name(), "--for", look, "--candidates", candidates, "--no-keep"];
    let output = run(Command::new(CCCTL).args(how).args(["--trust-writable", "--json"]), PATIENCE).unwrap();
    flows.stop().unwrap();
    assert!(output.success(), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn random_losses_are_found_and_bbr_is_worth_an_experiment() {
    support::test("advise", 60, || {
        let folder = Folder::new("advise");
        let mirror = include_str!("../../../../../bpf/algorithms/veno.bpf.c").replace("veno", "mirror");
        let mirror = compile(&folder, &mirror, "mirror");
        let advice = advice(&lossy_path(), Duration::ZERO, "20s", &format!("bbr,veno,{mirror}"));
        assert_eq!(advice["verdict"], "try", "{advice}");
        let best = &advice["candidates"][0];
        assert_eq!((&best["algorithm"], &best["compared"]), (&Value::from("bbr"), &Value::from("ahead")), "{advice}");
        assert!(best["change_range_pct"]["least"].as_f64() > Some(30.0), "{best}");
        let loss_pct = advice["fit"]["plausible_paths"][0]["random_loss_pct"].as_f64().unwrap();
        assert!((0.4..2.0).contains(&loss_pct), "{advice}");
        let commands = advice["next_commands"].to_string();
        assert!(commands.contains("ccctl experiment plan try_bbr --a reno --b "), "{commands}");
        let found = |algorithm: &str| {
            let mut candidates = advice["candidates"].as_array().unwrap().iter();
            let mut found = candidates.find(|candidate| candidate["algorithm"] == algorithm).unwrap().clone();
            found["algorithm"].take();
            found
        };
        assert_eq!(found("mirror"), found("veno"), "an object does what the algorithm does that it is a copy of");
        advice_again(&folder, &advice, &found("veno"));
    });
}

/// From the same measurement, with fewer candidates: the same paths, and in them the same for the one that is left.
fn advice_again(folder: &Folder, advice: &Value, veno: &Value) {
    let file = folder.file("advice.json", advice.to_string());
    let again = ["advise", "--measured", &file, "--candidates", "veno", "--no-keep", "--json"];
    let output = run(Command::new(CCCTL).args(again), PATIENCE).unwrap();
    assert!(output.success(), "{}", output.stderr);
    let again: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&again["measured"], &again["fit"]), (&advice["measured"], &advice["fit"]));
    let keys = ["goodput_range", "change_range_pct", "neighbour_range_pct"];
    assert_eq!(keys.map(|key| &again["candidates"][0][key]), keys.map(|key| &veno[key]), "{again}");

    let refused = |what: &str, value: Value, parts: &[&str]| {
        let mut changed = advice.clone();
        *changed.pointer_mut(what).unwrap() = value;
        let file = folder.file("changed.json", changed.to_string());
        refuses(&["advise", "--measured", &file], code::USAGE, parts);
    };
    refused("/measured/congestion_control", "reno; reboot".into(), &["changed.json", "reno; reboot"]);
    refused("/measured", Value::Null, &["nothing was measured"]);
    refuses(&["advise", "--measured", "/dev/zero"], code::USAGE, &["/dev/zero"]);
    refuses(&["advise", "--measured", "./none.json"], code::USAGE, &["none.json"]);
}

#[test]
fn a_sender_with_nothing_to_send_is_told_that_no_algorithm_helps() {
    support::test("advise-idle", 60, || {
        let mut spec = PathSpec::new(BitRate::mbit_per_s(20), Duration::from_millis(40), Limit::Packets(67));
        spec.waiting = Waiting::Sleep;
        let path = Path::start(&spec).unwrap();
        let advice = advice(&path, Duration::from_millis(400), "8s", "cubic");
        assert_eq!(advice["verdict"], "no-help", "{advice}");
        assert!(advice["why"].as_str().unwrap().contains("the application, which has nothing to send"), "{advice}");
        assert!(advice["measured"]["limited_by"]["application_pct"].as_f64() > Some(80.0), "{advice}");
    });
}

#[test]
fn candidates_and_times_that_cannot_be_are_refused() {
    support::test("advise-refused", 20, || {
        refuses(&["advise", "--candidates", "cubci"], code::USAGE, &["no algorithm \"cubci\"", "did you mean cubic?"]);
        refuses(&["advise", "--candidates", "./none.o"], code::USAGE, &["none.o"]);
        refuses(&["advise", "--for", "1s"], code::USAGE, &["from 5s to 1h"]);
    });
}
