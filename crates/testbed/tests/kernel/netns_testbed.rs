// SPDX-License-Identifier: GPL-2.0-only
//! The testbed itself, on the kernel's own algorithms: what the other kernel tests rest on.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{
    assert_same, sockets, within, Amount, Connections, Exclusive, Flows, HostState, IperfClient, IperfServer,
    Namespace, Network, Offload, Receiver, Sending, SERVER_V4, SERVER_V6,
};

const LIMIT: Duration = Duration::from_secs(60);

fn sending(receiver: &Receiver, address: &str, algorithm: &str) -> Sending {
    Sending {
        to: receiver.at(address),
        algorithm: Some(algorithm.to_owned()),
        amount: Amount::Bytes(3_000_001),
        pause: Duration::ZERO,
    }
}

#[test]
fn payload_arrives_whole_over_both_protocols_and_ss_names_the_algorithm() {
    let _exclusive = Exclusive::acquire().unwrap();
    let before = HostState::read().unwrap();
    within(LIMIT, "verified traffic", || {
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        for (address, algorithm) in [(SERVER_V4, "reno"), (SERVER_V6, "cubic")] {
            let flows = Flows::start(&network.client, &sending(&receiver, address, algorithm), 4).unwrap();
            let delivered = flows.wait().unwrap();
            assert_eq!(delivered.len(), 4);
            assert!(delivered.iter().all(|flow| flow.bytes == 3_000_001 && flow.algorithm == algorithm));
            assert_ne!(delivered[0].digest, delivered[1].digest);
        }
        let listening = sockets(&network.server, "listening").unwrap();
        assert_eq!(listening.len(), 1, "{listening:?}");
        assert!(listening[0].algorithm.is_some());
        assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
    });
    assert_same(&before);
}

#[test]
fn a_reset_connection_is_reported() {
    let _exclusive = Exclusive::acquire().unwrap();
    within(LIMIT, "reset connection", || {
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let endless = Sending { amount: Amount::UntilStopped, ..sending(&receiver, SERVER_V4, "reno") };
        let flows = Flows::start(&network.client, &endless, 1).unwrap();
        flows.carry(1_000_000);
        let mut kill = Command::new("ss");
        kill.args(["-K", "-t", "-n", "state", "established"]);
        network.server.run(&mut kill, LIMIT).unwrap();
        let error = flows.stop().unwrap_err();
        assert!(error.to_string().contains("was reset after"), "{error}");
    });
}

#[test]
fn idle_connections_are_counted_alike_by_their_sockets_and_by_ss() {
    let _exclusive = Exclusive::acquire().unwrap();
    within(LIMIT, "idle connections", || {
        let network = Network::new().unwrap();
        let mut connections = Connections::open(&network, SERVER_V6, Some("cubic"), 200).unwrap();
        connections.check().unwrap();
        assert_eq!(connections.algorithms().unwrap(), BTreeMap::from([("cubic".to_owned(), 200)]));
        let seen = sockets(&network.client, "established").unwrap();
        assert_eq!(seen.len(), connections.count());
        assert!(seen.iter().all(|socket| socket.algorithm.as_deref() == Some("cubic")), "{:?}", seen[0]);
    });
}

#[test]
fn iperf3_runs_between_the_namespaces() {
    let _exclusive = Exclusive::acquire().unwrap();
    within(LIMIT, "iperf3", || {
        let network = Network::new().unwrap();
        let server = IperfServer::start(&network.server, 5201).unwrap();
        for address in [SERVER_V4, SERVER_V6] {
            let client =
                IperfClient { server: address, port: server.port(), algorithm: "cubic", bytes: 5_000_000, parallel: 2 };
            let report = client.run(&network.client, LIMIT).unwrap();
            assert_eq!(report.sender_algorithm, "cubic");
            assert!(report.sent_bytes >= 5_000_000 && report.received_bytes > 0, "{report:?}");
        }
        let unknown =
            IperfClient { server: SERVER_V4, port: server.port(), algorithm: "no_such", bytes: 1, parallel: 1 };
        assert!(unknown.run(&network.client, LIMIT).is_err());
    });
}

#[test]
fn offloads_of_a_network_can_be_switched() {
    let _exclusive = Exclusive::acquire().unwrap();
    let network = Network::new().unwrap();
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
        for on in [false, true, false] {
            network.set_offload(offload, on).unwrap();
            assert_eq!(network.offload(offload).unwrap(), on, "{offload:?}");
        }
    }
}

#[test]
fn a_namespace_is_gone_after_drop_and_host_mounts_are_seen_inside() {
    let _exclusive = Exclusive::acquire().unwrap();
    let namespace = Namespace::new("drop").unwrap();
    let path = namespace.path();
    assert!(path.exists());
    let inside = namespace.enter(|| Path::new("/sys/fs/cgroup").read_dir().unwrap().count()).unwrap();
    assert!(inside > 0, "cgroup is hidden");
    drop(namespace);
    assert!(!path.exists());
}

#[test]
fn a_bottleneck_holds_its_rate_and_loses_packets_not_bytes() {
    let _exclusive = Exclusive::acquire().unwrap();
    within(LIMIT, "bottleneck", || {
        let network = Network::with_bottleneck(50, 60_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let sending = Sending { amount: Amount::Bytes(6_250_000), ..sending(&receiver, SERVER_V4, "reno") };
        let delivered = Flows::start(&network.client, &sending, 1).unwrap().wait().unwrap();
        let seconds = delivered[0].elapsed.as_secs_f64();
        assert!((0.95..1.6).contains(&seconds), "50 Mbit took {seconds} s at 50 Mbit/s");
    });
}
