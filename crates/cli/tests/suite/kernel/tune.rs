// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tuning: all keys or none, at once, and seen by connections that are under way.

use crate::support;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{Flows, Network, Receiver, Sending, SERVER_V4};
use serde_json::json as value;

use support::{code, json, parameter, refuses, show, steady, succeeds};

#[test]
fn all_keys_or_none() {
    support::test("tune", 60, || {
        succeeds(&["load", "cubic"]);
        let before = show("bpf_cubic");
        for (changes, part) in [
            (["beta=0.8", "c=9999999"], "c=9999999"),
            (["c=0.5", "no_such=1"], "no_such"),
            (["beta=0.8", "reno_friendly=perhaps"], "reno_friendly"),
            (["beta=0.8", "c"], "KEY=VALUE"),
            (["beta=0.8", "beta=0.81"], "twice"),
            (["beta=0.8", "c="], "KEY=VALUE"),
            (["beta=0.8", "=5"], "KEY=VALUE"),
            (["beta=0.8", "c=-1"], "c=-1"),
            (["beta=0.8", "c=1e3"], "c=1e3"),
            (["beta=0.8", "c=18446744073709551617"], "c=18446744073709551617"),
            (["beta=0.8", "c_q10=410"], "try: c=0.4"),
        ] {
            refuses(&["tune", "bpf_cubic", changes[0], changes[1]], code::USAGE, &[part]);
            assert_eq!(show("bpf_cubic"), before, "{changes:?} changed something");
        }
        let tuned = json(&["tune", "bpf_cubic", "beta=0.8", "reno_friendly=off", "c=0.4", "--json"]);
        assert_eq!(tuned["changed"], true);
        let parameters = tuned["parameters"].as_array().unwrap();
        let changed = parameters.iter().filter(|parameter| parameter.get("value_before").is_some());
        let changed: Vec<_> = changed.map(|one| value!([one["name"], one["value_before"], one["value"]])).collect();
        let expected = [value!(["beta", 0.7, 0.8]), value!(["reno_friendly", "on", "off"])];
        assert_eq!(changed, expected, "c has this value already: {tuned}");
        assert_eq!(
            (parameter("bpf_cubic", "beta"), parameter("bpf_cubic", "reno_friendly")),
            (0.8.into(), "off".into())
        );
        let again = json(&["tune", "bpf_cubic", "beta=0.8", "--json"]);
        assert_eq!(again["changed"], false);
        assert_eq!(show("bpf_cubic")["map_id"], before["map_id"], "tuning must not load anew");
        assert_eq!(succeeds(&["tune", "bpf_cubic", "beta=0.75"]), "bpf_cubic: beta = 0.75 (was 0.8)\n");
        assert_eq!(succeeds(&["tune", "bpf_cubic", "beta=0.8"]), "bpf_cubic: beta = 0.8 (was 0.75; 0.8 is 819/1024)\n");
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn every_parameter_takes_both_ends_of_its_range_and_nothing_beyond() {
    support::test("ranges", 120, || {
        for algorithm in support::catalogue() {
            let name = support::default_name(&algorithm);
            succeeds(&["load", &algorithm]);
            let described = json(&["show", &algorithm, "--json"]);
            let layout = ccctl_catalog::algorithm(&algorithm).unwrap().layout();
            let shown = described["parameters"].as_array().unwrap();
            assert_eq!(shown.len(), layout.parameters.len());
            for (shown, declared) in shown.iter().zip(&layout.parameters) {
                let key = &declared.name;
                assert_eq!(shown["name"], key.as_str());
                let ends = ["minimum_text", "maximum_text"].map(|end| shown[end].as_str().unwrap());
                for value in declared.words.iter().map(String::as_str).chain(ends) {
                    succeeds(&["tune", &name, &format!("{key}={value}")]);
                    assert_eq!(support::parameter_text(&name, key), value, "{key} of {name}");
                }
                let integers = [declared.minimum.checked_sub(1), declared.maximum.checked_add(1)];
                let beyond = integers.into_iter().flatten().map(|integer| declared.format(integer));
                for value in beyond.chain(["no_such_word".to_owned(), "-1".to_owned()]) {
                    refuses(&["tune", &name, &format!("{key}={value}")], code::USAGE, &[key]);
                }
            }
            succeeds(&["unload", &name]);
        }
    });
}

/// Scalable gives up 2^-shift of its window at a loss. At a bottleneck with a fixed queue, losses happen at about the same
/// window, so that the threshold after them tells the share: a half with shift 1, 1/64 with shift 6.
#[test]
fn a_connection_under_way_feels_the_change() {
    support::test("live effect", 60, || {
        succeeds(&["load", "scalable", "--set", "decrease_shift=1"]);
        let network = Network::with_bottleneck(100, 150_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let sending = Sending { pause: Duration::ZERO, ..steady(&receiver, SERVER_V4, "bpf_scalable") };
        let flow = Flows::start(&network.client, &sending, 1).unwrap();
        let half = median_ssthresh(&network);
        succeeds(&["tune", "bpf_scalable", "decrease_shift=6"]);
        let little = median_ssthresh(&network);
        println!("threshold after a loss: {half} packets giving up 1/2, {little} giving up 1/64");
        assert!(little * 10 > half * 15, "{half} packets before, {little} after");
        flow.stop().unwrap();
        drop(network);
        succeeds(&["unload", "bpf_scalable"]);
    });
}

/// Median over 2 s of what `ss` shows, after a second for the change to take effect.
fn median_ssthresh(network: &Network) -> u64 {
    std::thread::sleep(Duration::from_secs(1));
    let mut seen = Vec::new();
    for _ in 0..40 {
        let mut ss = Command::new("ss");
        let output = network.client.run(ss.args(["-Htin", "state", "established"]), Duration::from_secs(5)).unwrap();
        let value = output.stdout.split_whitespace().find_map(|word| word.strip_prefix("ssthresh:"));
        seen.extend(value.and_then(|value| value.parse::<u64>().ok()));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(seen.len() > 20, "the connection has seen no loss: {seen:?}");
    seen.sort_unstable();
    seen[seen.len() / 2]
}
