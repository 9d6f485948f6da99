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
            (["beta_q10=800", "c_q10=9999999"], "c_q10"),
            (["c_q10=500", "no_such=1"], "no_such"),
            (["beta_q10=800", "reno_friendly=perhaps"], "reno_friendly"),
            (["beta_q10=800", "c_q10"], "KEY=VALUE"),
            (["beta_q10=800", "beta_q10=801"], "twice"),
            (["beta_q10=800", "c_q10="], "c_q10"),
            (["beta_q10=800", "=5"], "KEY=VALUE"),
            (["beta_q10=800", "c_q10=-1"], "c_q10"),
            (["beta_q10=800", "c_q10=1e3"], "c_q10"),
            (["beta_q10=800", "c_q10=18446744073709551617"], "c_q10"),
        ] {
            refuses(&["tune", "bpf_cubic", changes[0], changes[1]], code::USAGE, &[part]);
            assert_eq!(show("bpf_cubic"), before, "{changes:?} changed something");
        }
        let tuned = json(&["tune", "bpf_cubic", "beta_q10=800", "reno_friendly=off", "c_q10=410", "--json"]);
        assert_eq!(tuned["changed"], true);
        let parameters = tuned["parameters"].as_array().unwrap();
        let changed = parameters.iter().filter(|parameter| parameter.get("value_before").is_some());
        let changed: Vec<_> = changed.map(|one| value!([one["name"], one["value_before"], one["value"]])).collect();
        let expected = [value!(["beta_q10", 717, 800]), value!(["reno_friendly", "on", "off"])];
        assert_eq!(changed, expected, "c_q10 has this value already: {tuned}");
        assert_eq!(
            (parameter("bpf_cubic", "beta_q10"), parameter("bpf_cubic", "reno_friendly")),
            (800.into(), "off".into())
        );
        let again = json(&["tune", "bpf_cubic", "beta_q10=800", "--json"]);
        assert_eq!(again["changed"], false);
        assert_eq!(show("bpf_cubic")["map_id"], before["map_id"], "tuning must not load anew");
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
            for declared in described["parameters"].as_array().unwrap() {
                let key = declared["name"].as_str().unwrap();
                let words = declared["words"].as_array().filter(|words| !words.is_empty());
                let (minimum, maximum) = (declared["minimum"].as_i64().unwrap(), declared["maximum"].as_i64().unwrap());
                if let Some(words) = words {
                    for word in words.iter().map(|word| word.as_str().unwrap()) {
                        succeeds(&["tune", &name, &format!("{key}={word}")]);
                        assert_eq!(parameter(&name, key), word, "{key} of {name}");
                    }
                    refuses(&["tune", &name, &format!("{key}=no_such_word")], code::USAGE, &[key]);
                } else {
                    for value in [minimum, maximum] {
                        succeeds(&["tune", &name, &format!("{key}={value}")]);
                        assert_eq!(parameter(&name, key), value, "{key} of {name}");
                    }
                    for value in [minimum - 1, maximum + 1] {
                        refuses(&["tune", &name, &format!("{key}={value}")], code::USAGE, &[key]);
                    }
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
