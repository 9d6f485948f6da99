// SPDX-License-Identifier: MIT OR Apache-2.0
//! Migration: idle, busy, half-closed and listening sockets, over both protocols, in all namespaces or in one; each
//! socket asked by `ss` and by itself.

use crate::support;
use std::collections::{BTreeMap, VecDeque};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ccctl_testbed::{
    algorithm_of, connect, eventually, sockets, Amount, Background, Connections, Flows, Namespace, Network, Receiver,
    Sending, Unconnected, SERVER_V4, SERVER_V6,
};
use support::{code, established, json, listed, refuses, steady, succeeds};

const MAPPED_V4: &str = "::ffff:10.77.0.2";

/// All of them, and none else.
fn all_use(connections: &Connections, name: &str) {
    assert_eq!(connections.algorithms().unwrap(), BTreeMap::from([(name.to_owned(), connections.count())]));
}

#[track_caller]
fn migrate(words: &[&str], found: usize, moved: usize) {
    let result = json(&[&["migrate", "--json"], words].concat());
    assert_eq!((&result["found"], &result["moved"]), (&found.into(), &moved.into()), "{result}");
    assert_eq!(
        (&result["failed"], &result["unreadable"]),
        (&serde_json::json!([]), &serde_json::json!([])),
        "{result}"
    );
}

#[test]
fn a_thousand_idle_and_50_busy_connections() {
    support::test("1,000 idle and 50 busy", 120, || {
        succeeds(&["load", "cubic"]);
        succeeds(&["load", "htcp"]);
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let mut idle: Vec<Connections> = [(SERVER_V4, 400), (SERVER_V6, 400), (MAPPED_V4, 200)]
            .map(|(address, count)| Connections::open(&network, address, Some("bpf_cubic"), count).unwrap())
            .into();
        let v4 = Flows::start(&network.client, &steady(&receiver, SERVER_V4, "bpf_cubic"), 25).unwrap();
        let v6 = Flows::start(&network.client, &steady(&receiver, SERVER_V6, "bpf_cubic"), 25).unwrap();
        eventually(Duration::from_secs(10), || match established(&network.client, "bpf_cubic") {
            1050 => Ok(()),
            count => Err(format!("{count} connections")),
        })
        .unwrap();

        migrate(&["--instance", "bpf_cubic", "--to", "bpf_htcp", "--dry-run"], 1050, 0);
        assert_eq!(established(&network.client, "bpf_cubic"), 1050, "a dry run moves nothing");
        for connections in &idle {
            all_use(connections, "bpf_cubic");
        }

        migrate(&["--instance", "bpf_cubic", "--to", "bpf_htcp"], 1050, 1050);
        assert_eq!(established(&network.client, "bpf_htcp"), 1050);
        assert_eq!(established(&network.client, "bpf_cubic"), 0);
        assert_eq!(
            (&listed("bpf_cubic").unwrap()["socket_count"], &listed("bpf_htcp").unwrap()["socket_count"]),
            (&0.into(), &1050.into())
        );
        for connections in &mut idle {
            all_use(connections, "bpf_htcp");
            connections.check().unwrap();
        }
        let carried = v4.bytes() + v6.bytes();
        eventually(Duration::from_secs(5), || if v4.bytes() + v6.bytes() > carried { Ok(()) } else { Err("stuck") })
            .unwrap();
        let busy: Vec<_> = v4.stop().unwrap().into_iter().chain(v6.stop().unwrap()).collect();
        assert!(busy.iter().all(|flow| flow.algorithm == "bpf_htcp"));
        assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());

        migrate(&["--instance", "bpf_cubic", "--to", "bpf_htcp"], 0, 0);
        succeeds(&["unload", "bpf_cubic"]);
        succeeds(&["unload", "bpf_htcp", "--migrate-to", "reno"]);
        for connections in &mut idle {
            all_use(connections, "reno");
            connections.check().unwrap();
        }
    });
}

/// Connections that open and close all the time, in the hash table in which the kernel goes from one socket to the next.
struct Churn {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Churn {
    fn start(network: &Network) -> Self {
        let listener = network.server.enter(|| TcpListener::bind((SERVER_V4, 0)).unwrap()).unwrap();
        let to = listener.local_addr().unwrap().to_string();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let open = move || {
            let mut open = VecDeque::new();
            let mut count = 0;
            while !stopped.load(Ordering::Relaxed) {
                let client = connect(&to, Some("reno"), Duration::from_secs(10))?;
                ccctl_testbed::close_with_reset(&client).unwrap();
                open.push_back((client, listener.accept().unwrap().0));
                count += 1;
                if open.len() > 200 {
                    open.pop_front();
                }
            }
            Ok(count)
        };
        let thread = network.client.spawn(open).unwrap();
        let thread = std::thread::spawn(move || thread.join().unwrap().unwrap());
        Self { stop, thread: Some(thread) }
    }

    /// How many there were.
    fn stop(mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Both ends of 5,000 connections, of which one is moved each time.
#[test]
fn none_of_10000_sockets_is_left_behind_while_others_come_and_go() {
    support::test("10,000 sockets and others", 180, || {
        succeeds(&["load", "cubic", "--as", "kfrom"]);
        succeeds(&["load", "reno", "--as", "kto"]);
        let network = Network::new().unwrap();
        let held = Connections::open(&network, SERVER_V4, Some("kfrom"), 5_000).unwrap();
        let churn = Churn::start(&network);
        for (from, to) in [("kfrom", "kto"), ("kto", "kfrom"), ("kfrom", "kto")] {
            let result = json(&["migrate", "--instance", from, "--to", to, "--json"]);
            assert_eq!((&result["found"], &result["moved"]), (&5_000.into(), &5_000.into()), "{result}");
            assert_eq!((&result["failed"], &result["is_settled"]), (&serde_json::json!([]), &true.into()), "{result}");
            // the last one has found nothing
            assert!(result["passes"].as_u64() >= Some(2), "{result}");
            all_use(&held, to);
        }
        let others = churn.stop();
        assert!(others > 500, "only {others} others came");
        let said = succeeds(&["migrate", "--instance", "kto", "--to", "kfrom"]);
        assert!(said.contains("2 passes; the last one found nothing to move"), "{said}");
        drop((held, network));
        succeeds(&["unload", "kfrom", "kto"]);
    });
}

#[test]
fn after_a_swap_live_connections_are_counted_as_old_until_renewed() {
    support::test("renew", 60, || {
        succeeds(&["load", "cubic", "--as", "same"]);
        let network = Network::new().unwrap();
        let mut idle = Connections::open(&network, SERVER_V6, Some("same"), 100).unwrap();
        assert_eq!(listed("same").unwrap()["sockets_on_old_program"], 0);
        let swapped = json(&["swap", "same", "--with", "bic", "--json"]);
        assert_eq!(swapped["sockets_on_old_program"], 100);
        let mut new = Connections::open(&network, SERVER_V4, Some("same"), 10).unwrap();
        let entry = listed("same").unwrap();
        assert_eq!((&entry["socket_count"], &entry["sockets_on_old_program"]), (&110.into(), &100.into()));
        migrate(&["--instance", "same", "--to", "same", "--dry-run"], 110, 0);
        migrate(&["--instance", "same", "--to", "same"], 110, 100);
        assert_eq!(listed("same").unwrap()["sockets_on_old_program"], 0);
        migrate(&["--instance", "same", "--to", "same"], 110, 0);
        idle.check().unwrap();
        new.check().unwrap();
        all_use(&idle, "same");
        drop((idle, new, network));
        succeeds(&["unload", "same"]);
    });
}

#[test]
fn only_the_namespace_that_is_asked_for() {
    support::test("one namespace", 60, || {
        succeeds(&["load", "scalable"]);
        let (left, right) = (Network::new().unwrap(), Network::new().unwrap());
        let of_left = Connections::open(&left, SERVER_V4, Some("bpf_scalable"), 30).unwrap();
        let of_right = Connections::open(&right, SERVER_V6, Some("bpf_scalable"), 40).unwrap();
        let (left_name, right_path) = (left.client.name(), right.client.path());
        let both = json(&["migrate", "--instance", "bpf_scalable", "--to", "reno", "--dry-run", "--json"]);
        let namespaces = both["namespaces"].as_array().unwrap();
        assert_eq!((both["found"].as_u64(), namespaces.len()), (Some(70), 2), "{both}");
        assert!(namespaces.iter().any(|one| one["namespace"].as_str().unwrap().contains(left_name)), "{both}");

        migrate(&["--instance", "bpf_scalable", "--to", "reno", "--netns", left_name], 30, 30);
        all_use(&of_left, "reno");
        all_use(&of_right, "bpf_scalable");
        // from a built-in algorithm back, and by path
        migrate(&["--instance", "reno", "--to", "bpf_scalable", "--netns", left_name], 30, 30);
        all_use(&of_left, "bpf_scalable");
        migrate(&["--instance", "bpf_scalable", "--to", "cubic", "--netns", right_path.to_str().unwrap()], 40, 40);
        all_use(&of_right, "cubic");

        for wrong in ["no_such_netns", "/nowhere", "/etc/passwd", ""] {
            refuses(
                &["migrate", "--instance", "bpf_scalable", "--to", "reno", "--netns", wrong],
                code::USAGE,
                &["namespace"],
            );
        }
        all_use(&of_left, "bpf_scalable");
        drop((of_left, of_right, left, right));
        succeeds(&["unload", "bpf_scalable"]);
    });
}

#[test]
fn listeners_move_and_what_they_accept_follows() {
    support::test("listeners", 60, || {
        succeeds(&["load", "cubic"]);
        succeeds(&["load", "bic"]);
        let network = Network::new().unwrap();
        let dual = Receiver::start(&network.server, "::").unwrap();
        let only_v4 = Receiver::start(&network.server, SERVER_V4).unwrap();
        for listener in [&dual, &only_v4] {
            listener.set_algorithm("bpf_cubic").unwrap();
        }
        migrate(&["--instance", "bpf_cubic", "--to", "bpf_bic"], 2, 2);
        let listening = sockets(&network.server, "listening").unwrap();
        assert!(listening.iter().all(|socket| socket.algorithm.as_deref() == Some("bpf_bic")), "{listening:?}");
        for (listener, address) in [(&dual, SERVER_V4), (&dual, SERVER_V6), (&only_v4, SERVER_V4)] {
            let flows = Flows::start(&network.client, &steady(listener, address, "reno"), 3).unwrap();
            eventually(Duration::from_secs(5), || match established(&network.server, "bpf_bic") {
                3 => Ok(()),
                count => Err(format!("{count} accepted connections use it")),
            })
            .unwrap();
            flows.stop().unwrap();
        }
        // what was accepted closes by itself
        eventually(Duration::from_secs(5), || match listed("bpf_bic").unwrap()["socket_count"].as_u64() {
            Some(2) => Ok(()),
            count => Err(format!("{count:?} sockets use it")),
        })
        .unwrap();
        // a listener is a user, too
        refuses(&["unload", "bpf_bic"], code::REFUSED, &["bpf_bic is in use by 2 sockets"]);
        drop((dual, only_v4, network));
        succeeds(&["unload", "bpf_cubic", "bpf_bic"]);
    });
}

#[test]
fn half_closed_and_half_open_connections() {
    support::test("half closed", 60, || {
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let mut half = Connections::open(&network, SERVER_V4, Some("bpf_cubic"), 20).unwrap();
        half.close_client_side().unwrap();
        // SYN-SENT: nobody answers for this address
        let unanswered = network
            .client
            .spawn(|| Ok(connect("10.77.0.99:9", Some("bpf_cubic"), Duration::from_secs(4)).is_err()))
            .unwrap();
        eventually(Duration::from_secs(2), || match sockets(&network.client, "syn-sent").unwrap().len() {
            1 => Ok(()),
            count => Err(format!("{count} in SYN-SENT")),
        })
        .unwrap();
        migrate(&["--instance", "bpf_cubic", "--to", "reno"], 21, 21);
        let waiting = sockets(&network.client, "fin-wait-2").unwrap();
        assert_eq!(waiting.len(), 20);
        assert!(waiting.iter().all(|socket| socket.algorithm.as_deref() == Some("reno")), "{waiting:?}");
        assert!(unanswered.join().unwrap().unwrap());
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn namespaces_without_a_name_are_found_through_their_processes() {
    support::test("nameless namespace", 60, || {
        succeeds(&["load", "cubic"]);
        let script = "ip link set lo up; iperf3 -s -1 >/dev/null & \
            for i in 1 2 3 4 5 6 7 8 9; do iperf3 -c 127.0.0.1 -C bpf_cubic -t 8 -b 20M >/dev/null && exit; sleep 0.1; done";
        let mut unshare = Command::new("unshare");
        // --kill-child takes iperf3 along when the test kills unshare
        let unshare = unshare.args(["--net", "--pid", "--fork", "--kill-child", "sh", "-c", script]);
        let mut nameless = Background::start(unshare).unwrap();
        let found = eventually(Duration::from_secs(5), || {
            match json(&["migrate", "--instance", "bpf_cubic", "--to", "reno", "--dry-run", "--json"]) {
                result if result["found"].as_u64() >= Some(2) => Ok(result["found"].as_u64().unwrap() as usize),
                result => Err(result.to_string()),
            }
        })
        .unwrap();
        migrate(&["--instance", "bpf_cubic", "--to", "reno"], found, found);
        assert_eq!(listed("bpf_cubic").unwrap()["socket_count"], 0);
        assert!(nameless.kill(), "it ended before");
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn a_namespace_whose_name_was_deleted_still_counts() {
    support::test("deleted name", 60, || {
        succeeds(&["load", "cubic"]);
        let namespace = Namespace::new("deleted").unwrap();
        let script = "iperf3 -s -1 >/dev/null & until ss -Hltn | grep -q :5201; do sleep 0.05; done; \
                      exec iperf3 -c 127.0.0.1 -C bpf_cubic -t 30 -b 20M";
        let mut inside = namespace.start(Command::new("sh").args(["-c", script])).unwrap();
        eventually(Duration::from_secs(5), || match established(&namespace, "bpf_cubic") {
            0 => Err("no connection"),
            _ => Ok(()),
        })
        .unwrap();
        drop(namespace);
        assert!(
            listed("bpf_cubic").unwrap()["socket_count"].as_u64() >= Some(2),
            "sockets of a deleted name are forgotten"
        );
        refuses(&["unload", "bpf_cubic"], code::REFUSED, &["in use"]);
        json(&["unload", "bpf_cubic", "--migrate-to", "reno", "--json"]);
        inside.kill();
    });
}

#[test]
fn wrong_names_move_nothing() {
    support::test("wrong names", 60, || {
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let idle = Connections::open(&network, SERVER_V6, Some("bpf_cubic"), 5).unwrap();
        refuses(
            &["migrate", "--instance", "bpf_cubic", "--to", "bpf_cubci"],
            code::USAGE,
            &["bpf_cubci", "did you mean"],
        );
        refuses(&["migrate", "--instance", "bpf_cubci", "--to", "reno"], code::USAGE, &["bpf_cubci", "did you mean"]);
        refuses(&["migrate", "--instance", "bpf_cubic"], code::USAGE, &["--to"]);
        refuses(&["migrate", "--to", "reno"], code::USAGE, &["--instance"]);
        refuses(&["unload", "bpf_cubic", "--migrate-to", "bpf_cubic"], code::REFUSED, &["bpf_cubic"]);
        refuses(&["unload", "bpf_cubic", "--migrate-to", "nothing"], code::USAGE, &["nothing"]);
        all_use(&idle, "bpf_cubic");
        succeeds(&["unload", "bpf_cubic", "--migrate-to", "reno"]);
        all_use(&idle, "reno");
    });
}

/// A socket that has never been connected is in no table that the kernel shows; it must neither block nor break.
#[test]
fn an_unconnected_socket_keeps_its_program_and_nothing_else() {
    support::test("unconnected socket", 60, || {
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, SERVER_V4).unwrap();
        let to = receiver.at(SERVER_V4);
        let socket = network.client.enter(|| Unconnected::new(&to, Some("bpf_cubic"))).unwrap().unwrap();
        succeeds(&["unload", "bpf_cubic"]);
        succeeds(&["load", "reno", "--as", "bpf_cubic"]);
        // the old program still drives it, beside the new one of the same name
        let stream = socket.connect(Duration::from_secs(5)).unwrap();
        assert_eq!(algorithm_of(&stream).unwrap(), "bpf_cubic");
        assert_eq!(listed("bpf_cubic").unwrap()["sockets_on_old_program"], 1);
        let amount = Amount::Bytes(1_000_000);
        let sending = Sending { amount, ..steady(&receiver, SERVER_V4, "bpf_cubic") };
        Flows::start(&network.client, &sending, 1).unwrap().wait().unwrap();
        drop(stream);
        succeeds(&["unload", "bpf_cubic", "--force"]);
    });
}

/// `ip netns` makes an empty file before it puts the namespace there, and removes it afterwards: whoever looks in between
/// finds a file that is none.
#[test]
fn a_file_where_namespaces_are_that_is_none_stops_nothing() {
    support::test("a file that is no namespace", 30, || {
        let network = Network::new().unwrap();
        let file = NoNamespace::make();
        succeeds(&["load", "cubic"]);
        let receiver = Receiver::start(&network.server, SERVER_V4).unwrap();
        let flow = Flows::start(&network.client, &steady(&receiver, SERVER_V4, "bpf_cubic"), 1).unwrap();
        migrate(&["--instance", "bpf_cubic", "--to", "reno"], 1, 1);
        succeeds(&["unload", "bpf_cubic"]);
        flow.stop().unwrap();
        drop(file);
    });
}

struct NoNamespace(PathBuf);

impl NoNamespace {
    fn make() -> Self {
        let path = PathBuf::from(format!("/run/netns/ccctl-test-{}-none", std::process::id()));
        std::fs::write(&path, "").unwrap();
        Self(path)
    }
}

impl Drop for NoNamespace {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}
