// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl why` for each of the cases that it tells apart.

use crate::support;
use crate::support::policy;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{eventually, sockets, Cgroup, Network, SERVER_V4, SERVER_V6};
use policy::{assign, cookie, findings, listen, pair, why};
use serde_json::json;
use support::{json, succeeds};

#[test]
fn each_case_is_told_apart() {
    support::test("why", 60, || {
        succeeds(&["load", "cubic"]);
        let network = Network::new().unwrap();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, "::");
        let old = pair(&front, &network, &listener, SERVER_V4);
        assert_eq!(findings(&old.client), ["no_rule"]);
        let rule = assign(&["--cgroup", front.path(), "bpf_cubic"]);
        assert_eq!(findings(&old.client), ["older_than_rule"]);

        let new = pair(&front, &network, &listener, SERVER_V6);
        let told = why(&new.client);
        assert_eq!(told["findings"], json!(["as_the_rule_says"]), "{told}");
        assert_eq!((&told["rule_id"], &told["met"]["rule_id"]), (&json!(rule), &json!(rule)));
        assert_eq!((&told["met"]["event"], &told["passive"]), (&json!("connect"), &json!(false)));
        assert_eq!((&told["met"]["wanted"], &told["met"]["given"]), (&json!("bpf_cubic"), &json!("bpf_cubic")));
        assert_eq!(told["now"]["congestion_control"], "bpf_cubic");
        assert_eq!(told["now"]["map_id"], support::show("bpf_cubic")["map_id"]);
        assert_eq!(told["cgroup"], front.path());
        assert!(told["namespace"].as_str().unwrap().contains(network.client.name()), "{told}");

        // a swap leaves it on the program before
        json(&["swap", "bpf_cubic", "--with", "reno", "--json"]);
        assert_eq!(findings(&new.client), ["as_the_rule_says", "old_program"]);
        json(&["migrate", "--instance", "bpf_cubic", "--to", "bpf_cubic", "--json"]);
        assert_eq!(findings(&new.client), ["as_the_rule_says"]);
        // somebody else changes it
        json(&["migrate", "--instance", "bpf_cubic", "--to", "cubic", "--json"]);
        assert_eq!(findings(&new.client), ["changed_since"]);
        let again = pair(&front, &network, &listener, SERVER_V6);
        assert_eq!(again.algorithms()[0], "bpf_cubic");

        // another rule is nearer now
        let port = listener.local_addr().unwrap().port().to_string();
        let nearer = assign(&["--cgroup", front.path(), "--dst", "fd77::/64", "--port", &port, "reno"]);
        let told = why(&again.client);
        assert_eq!(told["findings"], json!(["other_rule_now"]), "{told}");
        assert_eq!((&told["rule_id"], &told["met"]["rule_id"]), (&json!(nearer), &json!(rule)));
        let verdicts: Vec<_> = told["considered"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| [one["id"].clone(), one["verdict"].clone()])
            .collect();
        assert_eq!(verdicts, [[json!(nearer), json!("won")], [json!(rule), json!("wider_prefix")]]);
        assign(&["--cgroup", back.path(), "--dst", "10.0.0.0/8", "reno"]);
        let told = why(&again.client);
        assert_eq!(told["considered"][2]["verdict"], "other_cgroup");

        succeeds(&["unassign", "--id", &rule.to_string()]);
        succeeds(&["unassign", "--id", &nearer.to_string()]);
        assert_eq!(findings(&again.client), ["rule_gone"]);
        assert_eq!(findings(&old.client), ["no_rule"]);
        drop(again);
        succeeds(&["unassign", "--all"]);
        drop((old, new, listener, network));
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn sockets_are_found_by_each_of_their_names() {
    support::test("names of sockets", 60, || {
        let network = Network::new().unwrap();
        let front = Cgroup::new("front").unwrap();
        let listener = listen(&front, &network.server, "::");
        assign(&["--cgroup", front.path(), "reno"]);
        let socket = pair(&front, &network, &listener, SERVER_V4);
        let (source, destination) = (socket.client.local_addr().unwrap(), socket.client.peer_addr().unwrap());
        let wanted = cookie(&socket.client);
        let hex = format!("{:#x}", wanted.parse::<u64>().unwrap());
        let mapped = format!("[::ffff:{}]:{}", source.ip(), source.port());
        let (source, destination) = (source.to_string(), destination.to_string());
        for words in [
            &["--cookie", &wanted][..],
            &["--cookie", &hex],
            &["--src", &source],
            &["--src", &mapped],
            &["--src", &source, "--dst", &destination],
        ] {
            let answer = json(&[&["why", "--json"], words].concat());
            let cookies: Vec<_> =
                answer["explanations"].as_array().unwrap().iter().map(|found| found["cookie"].to_string()).collect();
            assert_eq!(cookies, [&*wanted], "{words:?}: {answer}");
        }
        // the other end, whose socket is one of IPv6
        let told = why(&socket.server);
        assert_eq!((&told["passive"], &told["met"]["event"]), (&json!(true), &json!("accept")));
        assert_eq!(told["source"], format!("[::ffff:{SERVER_V4}]:{}", listener.local_addr().unwrap().port()));
        let text = succeeds(&["why", "--cookie", &wanted]);
        for part in [front.path(), &source, "rule 1 gave it reno", "connected"] {
            assert!(text.contains(part), "{part}: {text}");
        }

        // of a process: iperf3's connections
        let mut server = Command::new("iperf3");
        let _server = network.server.start(server.args(["--server", "--port", "5201"])).unwrap();
        eventually(Duration::from_secs(5), || match sockets(&network.server, "listening").unwrap().len() {
            2 => Ok(()),
            count => Err(format!("{count} listen")),
        })
        .unwrap();
        let mut iperf = Command::new("iperf3");
        let iperf = iperf
            .args(["--client", SERVER_V4, "--port", "5201", "--time", "5", "--bitrate", "10M", "--parallel", "2"])
            .stdout(std::process::Stdio::null());
        let start = || network.client.enter(|| iperf.spawn().unwrap()).unwrap();
        let mut client = front.enter(start).unwrap();
        let pid = client.id().to_string();
        eventually(Duration::from_secs(5), || {
            let answer = support::ccctl(&["why", "--pid", &pid, "--json"]);
            match serde_json::from_str::<serde_json::Value>(&answer.stdout) {
                Ok(answer) if answer["explanations"].as_array().map(Vec::len) == Some(3) => Ok(answer),
                _ => Err(answer.stdout + &answer.stderr),
            }
        })
        .map(|answer| {
            for socket in answer["explanations"].as_array().unwrap() {
                assert_eq!(socket["now"]["congestion_control"], "reno", "{socket}");
                assert_eq!(socket["findings"], json!(["as_the_rule_says"]), "{socket}");
            }
        })
        .unwrap();
        let _ = client.kill();
        let _ = client.wait();
        succeeds(&["unassign", "--all"]);
    });
}

/// A route may name an algorithm and lock it: then the kernel refuses every other.
#[test]
fn a_route_that_names_an_algorithm_is_told_as_the_reason() {
    support::test("locked route", 60, || {
        let network = Network::new().unwrap();
        let route = ["route", "replace", "10.77.0.0/24", "dev", "veth0", "congctl", "lock", "cubic"];
        let mut ip = Command::new("ip");
        let set = network.server.run(ip.args(route), Duration::from_secs(10)).unwrap();
        assert!(set.success(), "{}", set.stderr);
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, SERVER_V4);
        assign(&["--cgroup", back.path(), "reno"]);
        let socket = pair(&front, &network, &listener, SERVER_V4);
        assert_eq!(socket.algorithms()[1], "cubic");
        let told = why(&socket.server);
        assert_eq!(told["findings"], json!(["refused"]), "{told}");
        assert!(told["met"]["cause"].as_str().unwrap().contains("route"), "{told}");
        succeeds(&["unassign", "--all"]);
    });
}

/// The server agrees only where its algorithm needs ECN, too: the SYN of such an algorithm is ECN-capable itself (RFC 8257).
#[test]
fn an_algorithm_without_the_ecn_that_it_needs_says_so() {
    support::test("no ECN", 60, || {
        succeeds(&["load", "dctcp"]);
        let network = Network::new().unwrap();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, SERVER_V4);
        assign(&["--cgroup", front.path(), "dctcp"]);
        let without = pair(&front, &network, &listener, SERVER_V4);
        assert_eq!(without.algorithms()[0], "reno", "it has left a connection that is not for it");
        let told = why(&without.client);
        assert_eq!(told["findings"], json!(["no_ecn"]), "{told}");
        assert_eq!(told["ecn_mode"], "disabled");
        let text = succeeds(&["why", "--cookie", &cookie(&without.client)]);
        for part in ["ecn      none", "bpf_dctcp needs ECN", "left the connection to reno", "the peer"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        json(&["migrate", "--dst", SERVER_V4, "--to", "cubic", "--json"]);
        assert_eq!(why(&without.client)["findings"], json!(["changed_since"]), "it has left it, and was moved on");
        let told = why(&without.server);
        assert_eq!((&told["findings"], &told["ecn_mode"]), (&json!(["no_rule"]), &json!("disabled")), "{told}");

        drop((without, listener));
        assign(&["--cgroup", back.path(), "dctcp"]);
        let listener = listen(&back, &network.server, SERVER_V4);
        let with = pair(&front, &network, &listener, SERVER_V4);
        let told = why(&with.client);
        assert_eq!(told["findings"], json!(["as_the_rule_says"]), "{told}");
        assert_eq!(told["ecn_mode"], "rfc3168");
        let text = succeeds(&["why", "--cookie", &cookie(&with.client)]);
        assert!(text.contains("ecn      ECN (RFC 3168)"), "{text}");
        assert_eq!(why(&listener)["ecn_mode"], json!(null), "a listener has agreed to nothing");
        drop((with, listener));
        succeeds(&["unassign", "--all"]);
        drop(network);
        succeeds(&["unload", "bpf_dctcp"]);
    });
}
