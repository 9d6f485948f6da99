// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default algorithm of a network namespace: set, remembered, restored.

use crate::support;
use ccctl_testbed::{Amount, Flows, Namespace, Network, Receiver, Sending, SERVER_V4};
use support::{ccctl, code, json, json_in, refuses, steady, succeeds};

const SYSCTL: &str = "net/ipv4/tcp_congestion_control";

#[test]
fn load_default_is_undone_by_unload() {
    support::test("load --default", 60, || {
        let before = json(&["default", "--json"])["congestion_control"].clone();
        let loaded = json(&["load", "cubic", "--default", "--json"]);
        assert_eq!(loaded["congestion_control_before"], before);
        assert_eq!(json(&["default", "--json"])["congestion_control"], "bpf_cubic");
        assert_eq!(json(&["list", "--json"])["congestion_control"], "bpf_cubic");
        assert_eq!(support::show("bpf_cubic")["is_default"], true);
        // again: nothing changes, and what was before is not forgotten
        assert_eq!(json(&["load", "cubic", "--default", "--json"])["changed"], false);
        succeeds(&["swap", "bpf_cubic", "--with", "reno"]);
        let unloaded = json(&["unload", "bpf_cubic", "--json"]);
        assert_eq!(unloaded["defaults_restored"][0]["congestion_control"], before, "{unloaded}");
        assert_eq!(json(&["default", "--json"])["congestion_control"], before);
    });
}

#[test]
fn several_instances_as_default_one_after_the_other() {
    support::test("chain of defaults", 60, || {
        let before = json(&["default", "--json"])["congestion_control"].clone();
        succeeds(&["load", "cubic", "--default"]);
        succeeds(&["load", "reno", "--default"]);
        let shown = json(&["default", "bpf_cubic", "--json"]);
        assert_eq!(
            (&shown["congestion_control_before"], &shown["congestion_control"]),
            (&"bpf_reno".into(), &"bpf_cubic".into())
        );
        succeeds(&["unload", "bpf_reno"]);
        assert_eq!(json(&["default", "--json"])["congestion_control"], "bpf_cubic");
        succeeds(&["unload", "bpf_cubic"]);
        assert_eq!(json(&["default", "--json"])["congestion_control"], before);
        // the other order
        succeeds(&["load", "cubic", "--default"]);
        succeeds(&["load", "reno", "--default"]);
        succeeds(&["unload", "bpf_cubic"]);
        succeeds(&["unload", "bpf_reno"]);
        assert_eq!(json(&["default", "--json"])["congestion_control"], before);
        // both at once
        succeeds(&["load", "cubic", "--default"]);
        succeeds(&["load", "reno", "--default"]);
        succeeds(&["unload", "--all"]);
        assert_eq!(json(&["default", "--json"])["congestion_control"], before);
    });
}

#[test]
fn a_default_that_the_operator_set_since_stays() {
    support::test("operator's choice", 60, || {
        let before = json(&["default", "--json"])["congestion_control"].as_str().unwrap().to_owned();
        succeeds(&["load", "cubic", "--default"]);
        std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno").unwrap();
        let unloaded = json(&["unload", "bpf_cubic", "--json"]);
        let after = json(&["default", "--json"])["congestion_control"].clone();
        std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", &before).unwrap();
        assert_eq!((&after, &unloaded["defaults_restored"]), (&"reno".into(), &serde_json::json!([])));
    });
}

#[test]
fn another_namespace_has_its_own_default() {
    support::test("default of a namespace", 60, || {
        let before = json(&["default", "--json"])["congestion_control"].clone();
        let network = Network::new().unwrap();
        let own = network.client.sysctl(SYSCTL).unwrap();
        let loaded = json_in(&network.client, &["load", "htcp", "--default", "--json"]);
        assert_eq!(loaded["congestion_control_before"], own.as_str());
        assert_eq!(network.client.sysctl(SYSCTL).unwrap(), "bpf_htcp");
        assert_eq!(json(&["default", "--json"])["congestion_control"], before, "the host's default must not change");
        // a connection that asks for nothing gets it
        let receiver = Receiver::start(&network.server, SERVER_V4).unwrap();
        let plain = Sending { algorithm: None, amount: Amount::Bytes(1_000_000), ..steady(&receiver, SERVER_V4, "") };
        let delivered = Flows::start(&network.client, &plain, 1).unwrap().wait().unwrap();
        assert_eq!(delivered[0].algorithm, "bpf_htcp");
        // unloaded from outside
        let unloaded = json(&["unload", "bpf_htcp", "--force", "--json"]);
        assert_eq!(unloaded["defaults_restored"][0]["congestion_control"], own.as_str(), "{unloaded}");
        assert!(unloaded["defaults_restored"][0]["namespace"].as_str().unwrap().contains(network.client.name()));
        assert_eq!(network.client.sysctl(SYSCTL).unwrap(), own);
    });
}

/// A new namespace takes the default of the first one, and with it a reference to the program.
#[test]
fn a_namespace_that_inherited_the_default_is_restored_too() {
    support::test("inherited default", 60, || {
        let before = json(&["default", "--json"])["congestion_control"].clone();
        succeeds(&["load", "cubic", "--default"]);
        let heir = Namespace::new("heir").unwrap();
        assert_eq!(heir.sysctl(SYSCTL).unwrap(), "bpf_cubic");
        let unloaded = json(&["unload", "bpf_cubic", "--json"]);
        assert_eq!(unloaded["defaults_restored"].as_array().unwrap().len(), 2, "{unloaded}");
        assert_eq!(heir.sysctl(SYSCTL).unwrap(), before.as_str().unwrap());
    });
}

/// A namespace's default is a pointer to the program, not a name: after a swap it must be told.
#[test]
fn new_connections_of_a_default_use_the_program_after_a_swap() {
    support::test("default after swap", 60, || {
        let network = Network::new().unwrap();
        json_in(&network.client, &["load", "cubic", "--default", "--json"]);
        succeeds(&["swap", "bpf_cubic", "--with", "bic"]);
        let receiver = Receiver::start(&network.server, SERVER_V4).unwrap();
        let plain = Sending { algorithm: None, ..steady(&receiver, SERVER_V4, "") };
        let flows = Flows::start(&network.client, &plain, 5).unwrap();
        flows.carry(1_000_000);
        let entry = support::listed("bpf_cubic").unwrap();
        assert_eq!((&entry["socket_count"], &entry["sockets_on_old_program"]), (&5.into(), &0.into()), "{entry}");
        flows.stop().unwrap();
        succeeds(&["unload", "bpf_cubic", "--force"]);
    });
}

#[test]
fn a_namespace_that_is_gone_does_not_hinder() {
    support::test("gone namespace", 60, || {
        let namespace = Namespace::new("gone").unwrap();
        json_in(&namespace, &["load", "bic", "--default", "--json"]);
        drop(namespace);
        let unloaded = json(&["unload", "bpf_bic", "--json"]);
        assert_eq!(unloaded["unloaded"], serde_json::json!(["bpf_bic"]), "{unloaded}");
    });
}

#[test]
fn wrong_defaults_change_nothing() {
    support::test("wrong defaults", 60, || {
        refuses(&["default", "bpf_cubic"], code::USAGE, &["bpf_cubic"]);
        refuses(&["default", "cubci"], code::USAGE, &["did you mean"]);
        refuses(&["default", ""], code::USAGE, &[]);
        refuses(&["load", "cubic", "--default", "--as", "reno"], code::REFUSED, &["reno"]);
        let before = json(&["default", "--json"])["congestion_control"].as_str().unwrap().to_owned();
        let same = json(&["default", &before, "--json"]);
        assert_eq!(
            (&same["congestion_control_before"], &same["congestion_control"]),
            (&before.as_str().into(), &before.as_str().into())
        );
        assert!(ccctl(&["default"]).stdout.contains(&before));
    });
}
