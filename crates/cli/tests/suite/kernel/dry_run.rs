// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--dry-run` of every command that changes something: it refuses what the command would refuse, tells what would be, and
//! leaves the kernel as it was.

use ccctl_testbed::{settled, Cgroup, HostState, Network, SERVER_V4};
use serde_json::Value;

use crate::support;
use support::policy::{listen, pair, rules};
use support::{code, json, names, parameter_text, refuses, show, succeeds};

/// Runs it with `--dry-run`, and gives what it says would be.
#[track_caller]
fn preview(words: &[&str]) -> Value {
    let before = HostState::read().unwrap();
    let answer = json(&[words, &["--dry-run", "--json"]].concat());
    assert_eq!(answer["dry_run"], true, "{words:?}: {answer}");
    if let Err(complaint) = settled(&before) {
        panic!("{words:?}: {complaint}");
    }
    answer
}

#[test]
fn of_instances() {
    support::test("dry runs of instances", 120, || {
        let default = json(&["default", "--json"])["congestion_control"].clone();
        let loaded = preview(&["load", "cubic", "--as", "dry", "--set", "beta=0.8", "--default"]);
        assert_eq!(
            (&loaded["name"], &loaded["changed"], &loaded["map_id"]),
            (&"dry".into(), &true.into(), &Value::Null)
        );
        assert_eq!(loaded["congestion_control_before"], default);
        refuses(&["load", "cubic", "--as", "dry", "--set", "beta=5", "--dry-run"], code::USAGE, &["beta"]);
        refuses(&["load", "cubic", "--as", "reno", "--dry-run"], code::REFUSED, &["reno"]);
        succeeds(&["load", "cubic", "--as", "dry"]);
        assert_eq!(preview(&["load", "cubic", "--as", "dry"])["changed"], false);
        refuses(&["load", "htcp", "--as", "dry", "--dry-run"], code::REFUSED, &["cubic runs under it"]);
        let tuned = preview(&["tune", "dry", "beta=0.8"]);
        let beta = tuned["parameters"].as_array().unwrap().iter().find(|one| one["name"] == "beta").unwrap();
        assert_eq!((&beta["value_text"], &beta["value_before_text"]), (&"0.8".into(), &"0.7".into()));
        assert_eq!(parameter_text("dry", "beta"), "0.7");
        let map = show("dry")["map_id"].clone();
        let swapped = preview(&["swap", "dry", "--with", "htcp"]);
        assert_eq!((&swapped["algorithm"], &swapped["map_id_before"]), (&"htcp".into(), &map));
        assert_eq!((&show("dry")["algorithm"], &show("dry")["map_id"]), (&"cubic".into(), &map));
        assert_eq!(preview(&["default", "dry"])["congestion_control"], "dry");
        assert_eq!(json(&["default", "--json"])["congestion_control"], default);
        refuses(&["default", "dryy", "--dry-run"], code::USAGE, &["dryy"]);
        assert_eq!(preview(&["unload", "--all"])["unloaded"], Value::from(vec!["dry"]));
        assert_eq!(preview(&["down"])["unloaded"], Value::from(vec!["dry"]));
        assert_eq!(names(), ["dry"]);
        succeeds(&["unload", "dry"]);
    });
}

#[test]
fn of_rules_and_of_what_has_sockets() {
    support::test("dry runs with sockets", 120, || {
        let network = Network::new().unwrap();
        let cgroup = Cgroup::new("dry").unwrap();
        let listener = listen(&cgroup, &network.server, SERVER_V4);
        succeeds(&["load", "cubic", "--as", "drysock"]);
        let assigned = preview(&["assign", "drysock", "--cgroup", cgroup.path()]);
        assert_eq!((&assigned["changed"], &assigned["rule"]["targets"]), (&true.into(), &"drysock".into()));
        assert!(rules().is_empty());
        succeeds(&["assign", "drysock", "--cgroup", cgroup.path()]);
        let _pair = pair(&cgroup, &network, &listener, SERVER_V4);
        // the two ends, and the listener that an existing connection of the cgroup counts with
        let existing = preview(&["assign", "reno", "--cgroup", cgroup.path(), "--existing"]);
        assert_eq!(
            (&existing["targets_before"], &existing["existing"]["found"]),
            (&"drysock".into(), &3.into()),
            "{existing}"
        );
        let absent = preview(&["assign", "reno", "--cgroup", "/not/there", "--absent-ok", "--existing"]);
        assert_eq!((&absent["cgroup_exists"], &absent["existing"]["found"]), (&false.into(), &0.into()), "{absent}");
        let removed = preview(&["unassign", "--cgroup", cgroup.path(), "--existing"]);
        assert_eq!(removed["removed"][0]["targets"], "drysock");
        assert_eq!(rules()[0]["targets"], "drysock");
        refuses(&["unload", "drysock", "--dry-run"], code::REFUSED, &["1 rule"]);
        let moved = preview(&["unload", "drysock", "--migrate-to", "reno"]);
        assert_eq!(moved["rules_changed"], 1, "{moved}");
        assert!(moved["migrated"].as_u64().unwrap() >= 2, "{moved}");
        let down = preview(&["down"]);
        assert_eq!((&down["rules_removed"], &down["unloaded"]), (&1.into(), &Value::from(vec!["drysock"])), "{down}");
        assert_eq!(names(), ["drysock"]);
        succeeds(&["down"]);
    });
}
