// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several commands at once: one wins, the others wait or are refused, and the end is one that a sequence could reach.

use crate::support;
use std::thread;

use ccctl_testbed::Output;
use support::{available, ccctl, code, is_refusal, json, listed, names, parameter, parsed, succeeds};

const ROUNDS: usize = 20;

/// Runs all commands at the same time.
fn together(commands: &[Vec<String>]) -> Vec<Output> {
    thread::scope(|scope| {
        let running: Vec<_> = commands
            .iter()
            .map(|words| scope.spawn(|| ccctl(&words.iter().map(String::as_str).collect::<Vec<_>>())))
            .collect();
        running.into_iter().map(|command| command.join().unwrap()).collect()
    })
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Indices of those commands that succeeded; all others are refused with one of these codes.
fn winners(commands: &[Vec<String>], outputs: &[Output], codes: &[i32]) -> Vec<usize> {
    let mut won = Vec::new();
    for (index, (command, output)) in commands.iter().zip(outputs).enumerate() {
        match output.code {
            Some(0) => won.push(index),
            Some(code) if codes.contains(&code) => is_refusal(&command.join(" "), output, code, &[]),
            other => panic!("{other:?}\n{}{}", output.stdout, output.stderr),
        }
    }
    won
}

#[test]
fn the_same_load_from_four_sides_loads_once() {
    support::test("same loads", 120, || {
        for _ in 0..ROUNDS {
            let commands = vec![words("load cubic --json"); 4];
            let outputs = together(&commands);
            assert_eq!(winners(&commands, &outputs, &[]).len(), 4);
            let changed = outputs.iter().filter(|output| parsed(&["load"], &output.stdout)["changed"] == true).count();
            assert_eq!(changed, 1);
            assert_eq!(names(), ["bpf_cubic"]);
            succeeds(&["unload", "bpf_cubic"]);
        }
    });
}

#[test]
fn different_algorithms_under_one_name_one_wins() {
    support::test("different loads", 120, || {
        let algorithms = ["cubic", "reno", "scalable", "bic"];
        for _ in 0..ROUNDS {
            let commands = algorithms.map(|algorithm| words(&format!("load {algorithm} --as one")));
            let won = winners(&commands, &together(&commands), &[code::REFUSED]);
            assert_eq!(won.len(), 1);
            assert_eq!(listed("one").unwrap()["algorithm"], algorithms[won[0]]);
            succeeds(&["unload", "one"]);
        }
    });
}

#[test]
fn tunes_do_not_mix() {
    support::test("tunes", 120, || {
        succeeds(&["load", "cubic"]);
        for _ in 0..ROUNDS {
            let commands = ["0.6", "0.75", "0.8", "0.9"].map(|n| words(&format!("tune bpf_cubic beta={n} c={n}")));
            assert_eq!(winners(&commands, &together(&commands), &[]).len(), 4);
            assert_eq!(parameter("bpf_cubic", "beta"), parameter("bpf_cubic", "c"), "two sets are mixed");
        }
        // single keys from several sides: none is lost
        let commands = ["beta=0.55", "c=0.33", "max_step_pkts=7", "reno_friendly=off"];
        together(&commands.map(|change| words(&format!("tune bpf_cubic {change}"))));
        let values = ["beta", "c", "max_step_pkts", "reno_friendly"].map(|key| parameter("bpf_cubic", key));
        assert_eq!(serde_json::json!(values), serde_json::json!([0.55, 0.33, 7, "off"]));
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn swaps_follow_each_other() {
    support::test("swaps", 120, || {
        succeeds(&["load", "reno", "--as", "swapped"]);
        let algorithms = ["cubic", "reno", "scalable", "htcp"];
        for _ in 0..ROUNDS {
            let before = listed("swapped").unwrap()["map_id"].clone();
            let commands = algorithms.map(|with| words(&format!("swap swapped --with {with} --json")));
            let outputs = together(&commands);
            assert_eq!(winners(&commands, &outputs, &[]).len(), 4);
            let swaps: Vec<_> = outputs.iter().map(|output| parsed(&["swap"], &output.stdout)).collect();
            // they form one chain: each map is the predecessor of one other, but for the last
            let end = listed("swapped").unwrap();
            let (mut map, mut length) = (before, 0);
            while let Some(next) = swaps.iter().find(|swap| swap["map_id_before"] == map) {
                (map, length) = (next["map_id"].clone(), length + 1);
            }
            assert_eq!((length, &map), (4, &end["map_id"]), "{swaps:?}");
            let last = swaps.iter().find(|swap| swap["map_id"] == map).unwrap();
            assert_eq!(last["algorithm"], end["algorithm"]);
        }
        succeeds(&["unload", "swapped"]);
    });
}

#[test]
fn one_unload_of_several_takes_it_out() {
    support::test("unloads", 120, || {
        for _ in 0..ROUNDS {
            succeeds(&["load", "bic"]);
            let commands = vec![words("unload bpf_bic"); 4];
            let won = winners(&commands, &together(&commands), &[code::USAGE]);
            assert_eq!(won.len(), 1);
            assert!(names().is_empty() && !available("bpf_bic"));
        }
    });
}

#[test]
fn everything_at_once_ends_consistent() {
    support::test("everything", 120, || {
        for round in 0..ROUNDS {
            succeeds(&["load", "cubic", "--as", "busy"]);
            let commands = [
                "load cubic --as busy",
                "load reno --as busy2",
                "swap busy --with scalable",
                "tune busy beta=0.8",
                "unload busy",
                "migrate --instance busy --to cubic",
                "list --json",
                "show busy --json",
            ]
            .map(words);
            let outputs = together(&commands);
            winners(&commands, &outputs, &[code::USAGE, code::REFUSED]);
            assert!(outputs[6].success(), "round {round}: list: {}", outputs[6].stderr);
            let there = names();
            assert_eq!(there.iter().any(|name| name == "busy"), available("busy"), "round {round}");
            assert!(available("busy2"));
            let there: Vec<_> =
                there.iter().map(String::as_str).filter(|name| ["busy", "busy2"].contains(name)).collect();
            json(&[&["unload", "--json"], &there[..]].concat());
            assert!(names().is_empty());
        }
    });
}
