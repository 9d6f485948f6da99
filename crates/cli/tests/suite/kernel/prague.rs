// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prague on the running kernel: refused, for the reason that a program without its last flag shows.

use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{skip, Cgroup, Network, SERVER_V4, SERVER_V6};

use crate::support;
use crate::support::policy::{assign, listen, pair};
use support::compile::compile;
use support::{ccctl, code, json, refuses, succeeds, Folder};

const LIMIT: Duration = Duration::from_secs(20);

/// Data from one end of a connection to the other, both over the algorithm that is named, and the ECN fields of its packets: the two
/// of the handshake, then those with data.
const ECN_FIELDS: &str = "
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
raw.settimeout(0.5)
listener = socket.socket()
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
listener.bind(('127.0.0.1', 0))
listener.listen()
client = socket.socket()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
client.connect(listener.getsockname())
server = listener.accept()[0]
for _ in range(20):
    client.sendall(bytes(1000))
    server.recv(1000)
handshake, data = set(), set()
try:
    while True:
        packet = raw.recv(2000)
        is_syn = packet[33] & 2
        if is_syn or len(packet) > 1000:
            (handshake if is_syn else data).add(packet[1] & 3)
except TimeoutError:
    print(*handshake, 'then', *data)
";

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
        let mut python = Command::new("python3");
        let seen = network.client.run(python.args(["-c", ECN_FIELDS, "bpf_prague"]), LIMIT).unwrap();
        assert_eq!(seen.stdout.trim(), "1 then 2", "ECT(1), then ECT(0): {}", seen.stderr);
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
