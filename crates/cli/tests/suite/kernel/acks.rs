// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl acks` on real traffic: its counts are those of the kernel's own counters, nothing of others is displaced, and
//! nothing of it stays behind.

use crate::support;
use crate::support::acks;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::Command;

use acks::{foreign_programs, has_tc_links, nstat, Measurement, LIMIT};
use ccctl_testbed::{
    connect, eventually, settled, HostState, IperfClient, IperfServer, Network, Offload, Receiver, CLIENT_V4,
    SERVER_V4, SERVER_V6,
};
use serde_json::Value;
use support::trace::quiet;
use support::{ccctl, code, refuses, succeeds, CCCTL};

/// All places, and what the report calls them.
fn places() -> [(&'static str, &'static str); 3] {
    let tc = if has_tc_links() { "tc ingress (tcx)" } else { "tc ingress (clsact)" };
    [("native", "native XDP"), ("generic", "generic XDP"), ("tc", tc)]
}

/// Connections of [`send`].
const CONNECTIONS: u64 = 2;
/// Over each of them: a thousand ACKs, where a guest of one processor acknowledges 70 packets at once.
const SENT_BYTES: usize = 40_000_000;

/// Sends so many bytes over each connection, and closes when all of it is acknowledged: ACKs after that are no longer
/// those of an established connection, which are what TCP input is told of.
fn send(network: &Network, receiver: &Receiver, address: &str, algorithm: &str, bytes: usize) {
    let streams: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let open = || connect(&receiver.at(address), Some(algorithm), LIMIT).unwrap();
            network.client.enter(open).unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for mut stream in &streams {
            scope.spawn(move || stream.write_all(&vec![7; bytes]).unwrap());
        }
    });
    quiet(&network.client);
    for mut stream in streams {
        stream.shutdown(Shutdown::Write).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
}

/// What arrived is what the receiver's kernel sent; what was processed and merged is what the sender's kernel says.
#[test]
fn counts_equal_the_kernels_own() {
    support::exact("counts of acks", 180, || {
        let network = Network::new().unwrap();
        for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
            network.set_offload(offload, false).unwrap(); // many ACKs
        }
        let receiver = Receiver::start(&network.server, "::").unwrap();
        for (place, name) in places() {
            for address in [SERVER_V4, SERVER_V6] {
                let measurement = Measurement::start(&network.client, &["--interface", "veth0", "--at", place]);
                let (server, client) = (nstat(&network.server), nstat(&network.client));
                let dropped = dropped_on_the_way(&network);
                send(&network, &receiver, address, "cubic", SENT_BYTES);
                let dropped = dropped_on_the_way(&network) - dropped;
                let (server, client) = (nstat(&network.server).since(&server), nstat(&network.client).since(&client));
                let report = measurement.stop();
                println!("{place}, {address}:");
                assert_eq!(report["interfaces"][0]["attached_to"], name, "{report}");
                let sent = server.get("TcpOutSegs") - server.get("TcpRetransSegs") - dropped;
                check_counts(&report, sent, client.get("TcpExtTCPBacklogCoalesce"));
            }
        }
    });
}

fn check_counts(report: &Value, sent: u64, merged_by_kernel: u64) {
    let (interface, cubic) = (&report["interfaces"][0], &report["acks_by_congestion_control"]["cubic"]);
    let arrived = interface["acks"].as_u64().unwrap();
    let number = |key: &str| cubic[key].as_u64().unwrap();
    let (processed, merged) = (number("acks"), number("coalesced"));
    println!("  {sent} segments sent, {arrived} ACKs arrived, {processed} processed, {merged} merged");
    assert!(arrived > 500, "{arrived} ACKs only");
    // Not ACKs only: a SYN, the receiver's answer in one or two segments, and a FIN, perhaps with the answer.
    assert!((sent - 4 * CONNECTIONS..=sent - 2 * CONNECTIONS).contains(&arrived), "{arrived} of {sent}");
    assert_eq!(merged, merged_by_kernel, "{report}");
    // The ACK of the FIN finds no established connection.
    let told = processed + merged;
    assert!((arrived - 2 * CONNECTIONS..=arrived).contains(&told), "{told} of {arrived}: {report}");
    assert_eq!((number("unstamped"), &cubic["waiting"]["count"]), (0, &processed.into()), "{report}");
    let ended = cubic["processing"]["count"].as_u64().unwrap();
    assert!(ended * 1000 >= processed * 995, "{ended} ends of {processed}");
    if let Some(reached) = interface["reached_tc"].as_u64() {
        assert_eq!(reached, arrived, "{report}");
    }
}

/// Without `--every-ack` one in 8 is timed, and as many are counted.
#[test]
fn one_ack_in_eight_is_timed_and_all_are_counted() {
    support::exact("share of acks", 60, || {
        let network = Network::new().unwrap();
        for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
            network.set_offload(offload, false).unwrap();
        }
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let measurement = Measurement::of_a_share(&network.client, &["--interface", "veth0", "--at", "native"]);
        let before = nstat(&network.client);
        send(&network, &receiver, SERVER_V4, "cubic", SENT_BYTES);
        let merged = nstat(&network.client).since(&before).get("TcpExtTCPBacklogCoalesce");
        let report = measurement.stop();
        let (interface, cubic) = (&report["interfaces"][0], &report["acks_by_congestion_control"]["cubic"]);
        let (arrived, stamped) = (interface["acks"].as_u64().unwrap(), interface["stamped"].as_u64().unwrap());
        let told = cubic["acks"].as_u64().unwrap() + cubic["coalesced"].as_u64().unwrap();
        println!("{arrived} arrived, {stamped} stamped, {told} processed or merged");
        assert_eq!(cubic["coalesced"], merged, "{report}");
        assert!((arrived - 2 * CONNECTIONS..=arrived).contains(&told), "{told} of {arrived}: {report}");
        // Where the machine is late packets are lost: ACKs with SACK blocks are all stamped.
        let with_blocks: u64 = counts(&interface["sack_blocks"])[1..].iter().sum();
        let (others, chosen) = (arrived - with_blocks, stamped - with_blocks);
        assert!(others > 500 && chosen * 10 > others && chosen * 6 < others, "{stamped} of {report}");
        let reached_tc = if has_tc_links() { stamped.into() } else { Value::Null };
        assert_eq!(interface["reached_tc"], reached_tc, "{report}");
    });
}

/// What veth had no room for: with native XDP its queue holds 256 packets.
fn dropped_on_the_way(network: &Network) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let text = network.server.enter(read).unwrap();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("veth0:")).unwrap();
    line.split_whitespace().nth(11).unwrap().parse().unwrap() // transmitted: bytes, packets, errors, drop
}

/// With loss there are duplicate ACKs and SACK blocks; XDP and TCP input must agree on them.
#[test]
fn sack_blocks_of_a_lossy_path() {
    support::exact("SACK blocks", 120, || {
        let network = Network::with_bottleneck(50, 40_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let measurement = Measurement::start(&network.client, &["--interface", "veth0", "--at", "native"]);
        let before = nstat(&network.client);
        send(&network, &receiver, SERVER_V4, "reno", 10_000_000);
        let kernel = nstat(&network.client).since(&before);
        let report = measurement.stop();
        let at_xdp: Vec<u64> = counts(&report["interfaces"][0]["sack_blocks"]);
        let reno = &report["acks_by_congestion_control"]["reno"];
        let at_input: Vec<u64> = counts(&reno["sack_blocks"]);
        let (all, some) = (at_xdp.iter().sum::<u64>(), at_xdp[1..].iter().sum::<u64>());
        println!(
            "XDP {at_xdp:?}, TCP input {at_input:?}, duplicate {}, merged {}",
            reno["duplicate_acks"], reno["coalesced"]
        );
        assert_eq!(all, report["interfaces"][0]["acks"].as_u64().unwrap());
        assert!(kernel.get("TcpRetransSegs") > 0 && some > 20, "{kernel:?} {at_xdp:?}");
        // What was merged in a backlog carries one list of blocks; with a slow path hardly anything is.
        let merged = reno["coalesced"].as_u64().unwrap();
        let lost = some - at_input[1..].iter().sum::<u64>();
        assert!(lost <= merged, "{lost} ACKs with blocks did not reach TCP input, {merged} were merged: {report}");
        let duplicate = reno["duplicate_acks"].as_u64().unwrap();
        assert!(duplicate > 20 && duplicate <= some, "{duplicate} duplicate ACKs, {some} with SACK blocks");
    });
}

fn counts(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect()
}

/// Our own algorithms and the kernel's are told apart by name, with no code of the clock in any of them.
#[test]
fn each_algorithm_has_its_own_histogram() {
    support::test("algorithms of acks", 60, || {
        succeeds(&["load", "scalable"]);
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let measurement = Measurement::start(&network.client, &[]);
        for algorithm in ["bpf_scalable", "reno"] {
            send(&network, &receiver, SERVER_V4, algorithm, 5_000_000);
        }
        let report = measurement.stop();
        for algorithm in ["bpf_scalable", "reno"] {
            let counted = &report["acks_by_congestion_control"][algorithm];
            assert!(counted["processing"]["count"].as_u64().unwrap() > 10, "{algorithm}: {report}");
            assert!(counted["processing"]["mean_ns"].as_u64().unwrap() > 50, "{algorithm}: {report}");
        }
        drop((receiver, network));
        succeeds(&["unload", "bpf_scalable"]);
    });
}

/// Whatever is on the interface stays, works on, and is told of.
#[test]
fn programs_of_others_stay() {
    support::test("programs of others", 120, || {
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let foreign = foreign_programs(&network.client, "veth0");
        let before = foreign.attached(&network.client);
        for (place, taken) in [("auto", false), ("native", true), ("generic", true), ("tc", false)] {
            let words = ["acks", "--interface", "veth0", "--at", place, "--for", "300ms", "--json"];
            let output = network.client.run(Command::new(CCCTL).args(words), LIMIT).unwrap();
            if taken {
                support::is_refusal(
                    &words.join(" "),
                    &output,
                    code::HOST,
                    &["veth0", "another program is there, and stays"],
                );
            } else {
                let report: Value = serde_json::from_str(&output.stdout).unwrap();
                assert_eq!(report["interfaces"][0]["attached_to"], "tc ingress (tcx)", "{report}");
            }
            assert_eq!(foreign.attached(&network.client), before, "after --at {place}");
        }
        let measurement = Measurement::start(&network.client, &["--interface", "veth0"]);
        let before = foreign.acks();
        send(&network, &receiver, SERVER_V4, "cubic", 5_000_000);
        let after = foreign.acks();
        let report = measurement.stop();
        let arrived = report["interfaces"][0]["acks"].as_u64().unwrap();
        let seen = [after[0] - before[0], after[1] - before[1]];
        println!("{arrived} ACKs; the others' XDP and tc programs saw {seen:?}");
        assert!(arrived > 10 && seen.iter().all(|seen| arrived.abs_diff(*seen) <= 4), "{seen:?}: {report}");
    });
}

#[test]
fn a_killed_measurement_leaves_nothing() {
    support::test("killed acks", 60, || {
        let network = Network::new().unwrap();
        let before = HostState::read().unwrap();
        for place in ["native", "generic", "tc"] {
            let mut command = Command::new(CCCTL);
            command.args(["acks", "--interface", "veth0", "--at", place, "--for", "60s"]);
            let mut running = network.client.start(&mut command).unwrap();
            eventually(LIMIT, || match HostState::read().unwrap().objects() {
                objects if objects >= before.objects() + 8 => Ok(()),
                objects => Err(format!("{objects} BPF objects")),
            })
            .unwrap();
            assert!(running.kill(), "it had ended by itself");
            settled(&before).unwrap();
            let link = network.client.run(Command::new("ip").args(["link", "show", "veth0"]), LIMIT).unwrap();
            assert!(!link.stdout.contains("xdp"), "{}", link.stdout);
        }
    });
}

#[test]
fn wrong_requests_are_refused() {
    support::test("wrong acks", 60, || {
        refuses(&["acks", "--interface", "nosuch"], code::USAGE, &["nosuch", "lo"]);
        refuses(&["acks", "--netns", "nosuch"], code::USAGE, &["nosuch"]);
        refuses(&["acks", "--rate", "fast"], code::USAGE, &["fast", "250mbit"]);
        refuses(&["acks", "--for", "soon"], code::USAGE, &["soon"]);
        refuses(&["acks", "--watch", "--json"], code::USAGE, &["--json"]);
        refuses(
            &["acks", "--interface", "lo", "--at", "native", "--for", "1s"],
            code::HOST,
            &["lo", "the driver has none"],
        );
        let mut words = Command::new("setpriv");
        words.args(["--reuid=65534", "--clear-groups", CCCTL, "acks"]);
        let output = ccctl_testbed::run(&mut words, LIMIT).unwrap();
        support::is_refusal("acks as nobody", &output, code::HOST, &["CAP_BPF", "CAP_NET_ADMIN", "root"]);
    });
}

/// Ctrl-C ends it and prints what there is; with `--watch` it has printed before.
#[test]
fn an_interrupt_prints_what_was_measured() {
    support::test("interrupted acks", 60, || {
        let network = Network::new().unwrap();
        let server = IperfServer::start(&network.server, 5201).unwrap();
        let measurement = Measurement::start(&network.client, &["--rate", "250mbit"]);
        let client =
            IperfClient { server: SERVER_V4, port: server.port(), algorithm: "cubic", bytes: 50_000_000, parallel: 1 };
        client.run(&network.client, LIMIT).unwrap();
        let report = measurement.stop();
        assert_eq!(report["slow_ns"], 48_000);
        let (processing, all) = (&report["acks_by_congestion_control"]["cubic"]["processing"], "all buckets");
        let sum: u64 = processing["buckets"].as_array().unwrap().iter().map(|b| b["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, processing["count"].as_u64().unwrap(), "{all}");
        let slow: u64 = processing["slow"].as_u64().unwrap();
        let buckets = processing["buckets"].as_array().unwrap();
        let above: u64 = buckets
            .iter()
            .filter(|b| b["from_ns"].as_u64() >= Some(49_152))
            .map(|b| b["count"].as_u64().unwrap())
            .sum();
        assert!(slow >= above, "{slow} slow, {above} in the buckets above: {report}");
        let watched = ccctl(&["acks", "--netns", network.client.name(), "--watch", "--for", "1300ms"]);
        assert!(watched.success(), "{watched:?}");
        assert_eq!(watched.stdout.matches("ACK clock, ").count(), 2, "{}", watched.stdout);
        assert!(!watched.stdout.contains(CLIENT_V4), "no addresses: {}", watched.stdout);
    });
}
