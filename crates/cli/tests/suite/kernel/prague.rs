// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prague on the running kernel: refused, for the reason that a program without its last flag shows.

use ccctl_testbed::{skip, Cgroup, Network, SERVER_V4, SERVER_V6};

use crate::support;
use crate::support::policy::{assign, listen, pair};
use support::compile::compile;
use support::ecn_fields::ecn_fields;
use support::{ccctl, code, json, refuses, succeeds, Folder};

#[test]
fn prague_is_refused_with_the_reason_and_nothing_changes() {
    support::test("prague refused", 60, || {
        let parts = ["prague needs ECT(1) on all packets", "kernels send ECT(0)", "ccctl-lab"];
        refuses(&["load", "prague"], code::HOST, &parts);
        refuses(&["load", "prague", "--dry-run"], code::HOST, &parts);
        succeeds(&["load", "reno"]);
        refuses(&["swap", "bpf_reno", "--with", "prague"], code::HOST, &parts);
        succeeds(&["unload", "bpf_reno"]);
    });
}

/// Without the flag that no kernel knows: Accurate ECN is agreed upon if both ends ask for it, and a connection without it is left to
/// Reno, with a rule as well. The handshake has ECT(1), and what follows ECT(0): when that is no longer so, Prague can be loaded.
#[test]
fn the_handshake_alone_has_ect_1_and_without_accurate_ecn_it_is_reno() {
    support::test("prague without its flag", 60, || {
        let folder = Folder::new("prague");
        let source = include_str!("../../../../../bpf/algorithms/prague.bpf.c");
        let object = compile(&folder, &source.replace(" | CC_ECT_1_ESTABLISHED", ""), "prague");
        let loaded = ccctl(&["load", &object]);
        if loaded.code != Some(0) {
            skip(
                "prague without its flag",
                &format!("this kernel's algorithms have no Accurate ECN: {}", loaded.stderr),
            );
            return;
        }
        let network = Network::new().unwrap();
        let seen = ecn_fields(&network.client, "bpf_prague", "bpf_prague");
        assert_eq!(seen, "1 then 2", "ECT(1), then ECT(0)");
        falls_back(&network);
        drop(network);
        succeeds(&["unload", "bpf_prague"]);
    });
}

fn falls_back(network: &Network) {
    let [front, back, other] = ["front", "back", "other"].map(|name| Cgroup::new(name).unwrap());
    for end in [&front, &back] {
        assign(&["--cgroup", end.path(), "bpf_prague"]);
    }
    for address in [SERVER_V4, SERVER_V6] {
        let used = |listener: &Cgroup| {
            let listener = listen(listener, &network.server, "::");
            let pair = pair(&front, network, &listener, address);
            let sockets = json(&["sockets", "--netns", network.client.name(), "--json"]);
            (pair.algorithms()[0].clone(), sockets["sockets"][0]["transport"]["ecn_mode"].clone())
        };
        assert_eq!(used(&back), ("bpf_prague".to_owned(), "accecn".into()), "{address}: both ends asked");
        let (algorithm, mode) = used(&other);
        assert_eq!(algorithm, "reno", "{address}: one end asked, and got {mode}");
        assert_ne!(mode, "accecn");
    }
    succeeds(&["unassign", "--all"]);
}
