// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every algorithm and profile of the catalogue loads, carries verified traffic, and leaves no trace.

use crate::support;
use std::time::Duration;

use ccctl_catalog::Profile;
use ccctl_testbed::{
    eventually, sockets, Amount, Flows, IperfClient, IperfServer, Network, Receiver, Sending, SERVER_V4, SERVER_V6,
};
use support::{available, catalogue, established, json, listed, parameter, parameter_text, show, steady, succeeds};

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn every_algorithm_loads_carries_traffic_and_leaves_nothing() {
    let algorithms = catalogue();
    assert!(algorithms.len() >= 6, "{algorithms:?}");
    for algorithm in algorithms {
        support::test(&algorithm, 60, || {
            let name = support::default_name(&algorithm);
            loads_and_is_shown(&algorithm, &name);
            let network = Network::new().unwrap();
            network.have_ecn().unwrap(); // iperf3 sets the algorithm of a connection that it has made; without, dctcp leaves it
            carries_verified_traffic(&network, &name);
            carries_iperf3(&network, &name);
            nobody_uses(&name);
            drop(network);
            let unloaded = json(&["unload", &name, "--json"]);
            assert_eq!(unloaded["unloaded"], serde_json::json!([name]));
            assert!(!available(&name));
        });
    }
}

fn loads_and_is_shown(algorithm: &str, name: &str) {
    let loaded = json(&["load", algorithm, "--json"]);
    assert_eq!((&loaded["name"], &loaded["algorithm"]), (&name.into(), &algorithm.into()));
    assert_eq!(loaded["changed"], true);
    assert!(available(name), "the kernel does not offer {name}");
    let entry = listed(name).unwrap();
    assert_eq!((&entry["algorithm"], &entry["socket_count"]), (&algorithm.into(), &0.into()), "{entry}");
    let shown = show(name);
    for key in ["map_id", "link_id"] {
        assert_eq!(shown[key], loaded[key], "{key} of {name}");
        assert!(shown[key].as_u64().unwrap() > 0);
    }
    let programs = shown["programs"].as_array().unwrap();
    assert!(programs.len() >= 3, "ssthresh, undo_cwnd and cong_avoid are required: {programs:?}");
    assert!(programs.iter().all(|program| program["jited_bytes"].as_u64().unwrap() > 0), "{programs:?}");
    // what the catalogue calls default is what runs
    let described = json(&["show", algorithm, "--json"]);
    for declared in described["parameters"].as_array().unwrap() {
        let key = declared["name"].as_str().unwrap();
        assert_eq!(parameter(name, key), declared["default"], "{key} of {name}");
    }
}

/// At either end, before its namespace goes: what has not said its last word stays, and keeps the program.
fn nobody_uses(name: &str) {
    let is_alone = || match listed(name).unwrap()["socket_count"].as_u64() {
        Some(0) => Ok(()),
        others => Err(format!("{others:?} sockets use {name}")),
    };
    eventually(LIMIT, is_alone).unwrap();
}

fn carries_verified_traffic(network: &Network, name: &str) {
    let receiver = Receiver::start(&network.server, "::").unwrap();
    network.set_server_algorithm(name).unwrap(); // so that both ends agree on ECN
    let both = [SERVER_V4, SERVER_V6].map(|address| steady(&receiver, address, name));
    let flows = both.clone().map(|sending| Flows::start(&network.client, &sending, 4).unwrap());
    for flows in &flows {
        flows.carry(4_000_000);
    }
    assert_eq!(established(&network.client, name), 8, "{:?}", sockets(&network.client, "established"));
    assert_eq!(listed(name).unwrap()["socket_count"], 16, "8 at each end");
    for flows in flows {
        assert!(flows.stop().unwrap().iter().all(|flow| flow.algorithm == name));
    }
    let whole = |sending| Sending { amount: Amount::Bytes(8_000_003), pause: Duration::ZERO, ..sending };
    let flows = both.map(|sending| Flows::start(&network.client, &whole(sending), 2).unwrap());
    for delivered in flows.map(|flows| flows.wait().unwrap()) {
        assert!(delivered.iter().all(|flow| flow.bytes == 8_000_003));
    }
    nobody_uses(name);
    assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
}

fn carries_iperf3(network: &Network, name: &str) {
    let over = |server, port| {
        let server_process = IperfServer::start(&network.server, port).unwrap();
        let port = server_process.port();
        let client = IperfClient { server, port, algorithm: name, bytes: 10_000_000, parallel: 2 };
        let report = client.run(&network.client, LIMIT).unwrap();
        assert_eq!(report.sender_algorithm, name);
        assert!(report.sent_bytes >= 10_000_000, "{report:?}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| over(SERVER_V4, 5201));
        scope.spawn(|| over(SERVER_V6, 5202));
    });
}

/// SEARCH keeps its bins in socket storage, which an instance that does not ask for it never makes.
#[test]
fn every_way_out_of_slow_start_carries_traffic() {
    support::test("slow start", 60, || {
        let network = Network::new().unwrap();
        for exit in ["loss", "hystart", "hystart++", "search"] {
            let setting = format!("slow_start_exit={exit}");
            succeeds(&["load", "cubic", "--as", "slow", "--set", &setting]);
            carries_verified_traffic(&network, "slow");
            succeeds(&["unload", "slow", "--force"]);
        }
    });
}

#[test]
fn every_algorithm_recovers_from_losses_at_a_bottleneck() {
    support::test("losses", 60, || {
        let network = Network::with_bottleneck(400, 100_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        for algorithm in catalogue() {
            let name = support::default_name(&algorithm);
            succeeds(&["load", &algorithm]);
            network.set_server_algorithm(&name).unwrap();
            let flows = [SERVER_V4, SERVER_V6].map(|address| {
                let sending = Sending {
                    amount: Amount::Bytes(6_000_000),
                    pause: Duration::ZERO,
                    ..steady(&receiver, address, &name)
                };
                Flows::start(&network.client, &sending, 4).unwrap()
            });
            for flows in flows {
                flows.wait().unwrap();
            }
            nobody_uses(&name);
            succeeds(&["unload", &name]);
        }
        assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
    });
}

#[test]
fn every_profile_loads_and_its_values_are_read_back() {
    support::test("profiles", 60, || {
        let mut loaded = 0;
        for profile in Profile::names() {
            for algorithm in Profile::named(&profile).unwrap().algorithms() {
                if !catalogue().iter().any(|known| known == algorithm) {
                    continue;
                }
                succeeds(&["load", algorithm, "--as", "profiled", "--profile", &profile]);
                assert_eq!(show("profiled")["profile"], profile.as_str());
                let layout = ccctl_catalog::algorithm(algorithm).unwrap().layout();
                let mut wanted = ccctl_catalog::ParameterSet::defaults(algorithm, &layout.parameters);
                Profile::named(&profile).unwrap().apply(algorithm, &mut wanted).unwrap();
                for (declared, value) in wanted.iter() {
                    let read = parameter_text("profiled", &declared.name);
                    assert_eq!(read, declared.format(value), "{profile}: {}", declared.name);
                }
                succeeds(&["unload", "profiled"]);
                loaded += 1;
            }
        }
        assert!(loaded >= 5, "only {loaded} profiles were tried");
    });
}
