// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that can be done to an instance, done while connections use it: no byte lost, no connection reset.

use crate::support;
use std::time::{Duration, Instant};

use ccctl_testbed::{eventually, Flows, HostState, Network, Receiver, SERVER_V4, SERVER_V6};
use support::{catalogue, established, json, listed, names, show, steady, succeeds};

/// Number of swaps, and of connections under which they happen.
const PARALLEL: usize = 64;

#[test]
fn all_commands_under_traffic_lose_no_byte() {
    support::test("all commands under traffic", 120, || {
        let algorithms = catalogue();
        succeeds(&["load", "cubic", "--as", "work"]);
        succeeds(&["load", "reno", "--as", "other"]);
        let network = Network::new().unwrap();
        network.have_ecn().unwrap(); // dctcp leaves a connection without
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let v4 = Flows::start(&network.client, &steady(&receiver, SERVER_V4, "work"), 12).unwrap();
        let v6 = Flows::start(&network.client, &steady(&receiver, SERVER_V6, "work"), 12).unwrap();
        let started = Instant::now();
        for round in 0.. {
            let algorithm = &algorithms[round % algorithms.len()];
            one_round(algorithm);
            if round >= algorithms.len() && started.elapsed() > Duration::from_secs(5) {
                break;
            }
        }
        assert_eq!(established(&network.client, "work"), 24);
        let carried: u64 = v4.stop().unwrap().iter().chain(&v6.stop().unwrap()).map(|flow| flow.bytes).sum();
        assert!(carried > 24 * 1_000_000, "only {carried} bytes");
        assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
        drop(receiver);
        drop(network);
        succeeds(&["unload", "work", "other"]);
    });
}

/// `work` and its sockets end where they were, on another program.
fn one_round(algorithm: &str) {
    succeeds(&["swap", "work", "--with", algorithm]);
    succeeds(&["tune", "other", "abc_limit_pkts=2"]);
    let there = json(&["migrate", "--instance", "work", "--to", "other", "--json"]);
    assert_eq!((&there["found"], &there["moved"]), (&24.into(), &24.into()), "{there}");
    assert_eq!(listed("other").unwrap()["socket_count"], 24);
    succeeds(&["tune", "other", "abc_limit_pkts=1"]);
    let back = json(&["migrate", "--instance", "other", "--to", "work", "--json"]);
    assert_eq!(back["moved"], 24, "{back}");
    succeeds(&["load", algorithm, "--as", "third"]);
    let renewed = json(&["swap", "work", "--with", algorithm, "--json"]);
    assert_eq!(renewed["changed"], true, "{renewed}");
    let same = json(&["migrate", "--instance", "work", "--to", "work", "--json"]);
    assert_eq!(same["moved"], 24, "{same}");
    assert_eq!(listed("work").unwrap()["sockets_on_old_program"], 0);
    succeeds(&["unload", "third"]);
    succeeds(&["list"]);
}

#[test]
fn unloading_in_use_moves_or_leaves_the_connections() {
    support::test("unload in use", 60, || {
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        succeeds(&["load", "htcp"]);
        let moved = Flows::start(&network.client, &steady(&receiver, SERVER_V6, "bpf_htcp"), 8).unwrap();
        eventually(Duration::from_secs(5), || match established(&network.client, "bpf_htcp") {
            8 => Ok(()),
            count => Err(format!("{count} connections")),
        })
        .unwrap();
        support::refuses(&["unload", "bpf_htcp"], support::code::REFUSED, &["bpf_htcp", "8 sockets"]);
        let unloaded = json(&["unload", "bpf_htcp", "--migrate-to", "cubic", "--json"]);
        assert_eq!(unloaded["migrated"], 8, "{unloaded}");
        assert!(moved.stop().unwrap().iter().all(|flow| flow.algorithm == "cubic"));

        succeeds(&["load", "htcp"]);
        let left = Flows::start(&network.client, &steady(&receiver, SERVER_V4, "bpf_htcp"), 8).unwrap();
        left.carry(1_000_000);
        succeeds(&["unload", "bpf_htcp", "--force"]);
        assert!(names().is_empty());
        let carried = left.bytes();
        eventually(Duration::from_secs(5), || if left.bytes() > carried + 1_000_000 { Ok(()) } else { Err("stuck") })
            .unwrap();
        // the name is free again while the old program still serves its sockets
        let again = json(&["load", "cubic", "--as", "bpf_htcp", "--json"]);
        assert_eq!(again["changed"], true);
        assert!(left.stop().unwrap().iter().all(|flow| flow.algorithm == "bpf_htcp"));
        assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
        succeeds(&["unload", "bpf_htcp", "--force"]);
    });
}

#[test]
fn hundreds_of_swaps_under_64_connections() {
    support::test("swaps under traffic", 240, || {
        let swaps = support::times(120, 1000);
        let algorithms = catalogue();
        // its parameters per connection have a map that serves all instances, until there are none
        succeeds(&["load", "ledbatpp", "--as", "swapped"]);
        succeeds(&["swap", "swapped", "--with", "reno"]);
        let before = HostState::read().unwrap();
        let network = Network::new().unwrap();
        network.have_ecn().unwrap(); // dctcp leaves a connection without
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let half = PARALLEL / 2;
        let v4 = Flows::start(&network.client, &steady(&receiver, SERVER_V4, "swapped"), half).unwrap();
        let v6 = Flows::start(&network.client, &steady(&receiver, SERVER_V6, "swapped"), half).unwrap();
        let started = Instant::now();
        let mut map_id = show("swapped")["map_id"].clone();
        for swap in 1..=swaps {
            let algorithm = &algorithms[swap % algorithms.len()];
            let swapped = json(&["swap", "swapped", "--with", algorithm, "--json"]);
            assert_eq!(swapped["map_id_before"], map_id, "swap {swap}: {swapped}");
            assert_ne!(swapped["map_id"], map_id, "swap {swap}: {swapped}");
            map_id = swapped["map_id"].clone();
            if swap % 50 == 0 {
                renew_all(&format!("swap {swap}"));
            }
        }
        println!("{swaps} swaps under {PARALLEL} connections: {:?}", started.elapsed());
        assert_eq!(established(&network.client, "swapped"), PARALLEL);
        for flow in v4.stop().unwrap().iter().chain(&v6.stop().unwrap()) {
            assert_eq!(flow.algorithm, "swapped");
            assert!(flow.bytes > 1_000_000, "a connection carried only {} bytes", flow.bytes);
        }
        assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
        drop(receiver);
        drop(network);
        succeeds(&["swap", "swapped", "--with", "reno"]);
        only_one_program_is_left(&before);
        succeeds(&["unload", "swapped"]);
    });
}

fn renew_all(when: &str) {
    let renewed = json(&["migrate", "--instance", "swapped", "--to", "swapped", "--json"]);
    assert_eq!((&renewed["found"], &renewed["moved"]), (&PARALLEL.into(), &PARALLEL.into()), "{when}: {renewed}");
    assert_eq!(renewed["failed"], serde_json::json!([]), "{when}");
}

/// As many maps and programs as when the instance was loaded: the thousand before are freed.
fn only_one_program_is_left(before: &HostState) {
    eventually(Duration::from_secs(10), || match HostState::read().unwrap().objects() {
        count if count <= before.objects() => Ok(()),
        count => Err(format!("{count} maps and programs, {} before", before.objects())),
    })
    .unwrap();
}
