// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules beside connections that are alive: splits that last, `--existing`, listeners that follow, replacement under
//! traffic, ten thousand connections, and kills.

use crate::support;
use crate::support::policy;
use std::collections::{BTreeMap, HashMap};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use ccctl_testbed::{
    algorithm_of, eventually, notsent_lowat_of, sockets, Background, Cgroup, Connections, Flows, Network, Receiver,
    SERVER_V4, SERVER_V6,
};
use policy::{assign, client, findings, listen, pair, rules, why, Pair};
use support::{established, json, steady, succeeds, Random, CCCTL};

#[test]
fn a_split_follows_its_weights() {
    const CONNECTIONS: u32 = 4000;
    const WEIGHTS: [(&str, u32); 3] = [("reno", 10), ("cubic", 30), ("bbr", 60)];
    // Pearson's statistic over three kinds has two degrees of freedom, where P(X > x) = exp(-x / 2): 18.42 is exceeded
    // once in 10,000 runs by chance.
    const CRITICAL: f64 = 18.42;
    support::test("split", 60, || {
        let network = Network::new().unwrap();
        let front = Cgroup::new("front").unwrap();
        let split = WEIGHTS.map(|(name, weight)| format!("{name}={weight}")).join(",");
        assign(&["--cgroup", front.path(), &split]);
        let open = || Connections::open(&network, SERVER_V4, None, CONNECTIONS as usize).unwrap();
        let connections = front.enter(open).unwrap();
        let used = connections.algorithms().unwrap();
        let statistic: f64 = WEIGHTS
            .iter()
            .map(|(name, weight)| {
                let expected = f64::from(CONNECTIONS * weight) / 100.0;
                let found = used.get(*name).copied().unwrap_or(0) as f64;
                (found - expected).powi(2) / expected
            })
            .sum();
        println!("{used:?}: chi-square {statistic:.2}, critical {CRITICAL}");
        assert!(statistic < CRITICAL, "{used:?}: chi-square {statistic}");
        assert_eq!(used.len(), WEIGHTS.len(), "{used:?}");
        succeeds(&["unassign", "--all"]);
    });
}

/// Names of the algorithms that these connections use, in order.
fn used(pairs: &[Pair]) -> Vec<String> {
    pairs.iter().map(|pair| algorithm_of(&pair.client).unwrap()).collect()
}

#[test]
fn what_was_drawn_lasts_for_the_connection() {
    support::test("split lasts", 60, || {
        let network = Network::new().unwrap();
        let front = Cgroup::new("front").unwrap();
        let listener = listen(&Cgroup::new("back").unwrap(), &network.server, "::");
        assign(&["--cgroup", front.path(), "reno=1,cubic=1"]);
        let pairs: Vec<Pair> = (0..60).map(|_| pair(&front, &network, &listener, SERVER_V6)).collect();
        let drawn = used(&pairs);
        assert!(["reno", "cubic"].iter().all(|name| drawn.iter().any(|used| used == name)), "{drawn:?}");
        // other weights, one more choice: what was drawn is still there
        for _ in 0..3 {
            let again = json(&["assign", "--cgroup", front.path(), "cubic=90,reno=5,bbr=5", "--existing", "--json"]);
            assert_eq!((&again["existing"]["found"], &again["existing"]["moved"]), (&60.into(), &0.into()), "{again}");
            assert_eq!(used(&pairs), drawn);
        }
        assert_eq!(findings(&pairs[0].client), ["as_the_rule_says"]);
        // and when it is gone, the socket is told apart, and moved when asked for
        assign(&["--cgroup", front.path(), "bbr"]);
        assert_eq!(used(&pairs), drawn);
        assert_eq!(findings(&pairs[0].client), ["choice_gone"]);
        let moved = json(&["assign", "--cgroup", front.path(), "bbr", "--existing", "--json"]);
        assert_eq!((&moved["changed"], &moved["existing"]["moved"]), (&false.into(), &60.into()), "{moved}");
        assert!(used(&pairs).iter().all(|name| name == "bbr"));
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn existing_connections_move_where_their_rule_is_the_one() {
    support::test("existing", 60, || {
        let network = Network::new().unwrap();
        let outer = Cgroup::new("outer").unwrap();
        let inner = outer.child("inner").unwrap();
        let stranger = Cgroup::new("stranger").unwrap();
        let listener = listen(&inner, &network.server, "::");
        let port = listener.local_addr().unwrap().port().to_string();
        let of_outer = pair(&outer, &network, &listener, SERVER_V4);
        let of_inner = pair(&inner, &network, &listener, SERVER_V6);
        let of_stranger = pair(&stranger, &network, &listener, SERVER_V4);
        let all = [&of_outer, &of_inner, &of_stranger];
        let before = of_outer.algorithms()[0].clone();
        let after = |client: &[&str; 3], server: &str| {
            let found: Vec<_> = all.iter().map(|pair| pair.algorithms()).collect();
            let expected: Vec<_> = client.iter().map(|name| [(*name).to_owned(), server.to_owned()]).collect();
            assert_eq!(found, expected);
        };
        // a more specific rule is there first, for new connections only
        assign(&["--cgroup", inner.path(), "--dst", "fd77::/64", "reno"]);
        after(&[&before, &before, &before], &before);
        assert_eq!(findings(&of_inner.client), ["older_than_rule"]);
        // the subtree: two clients less the one of the other rule, three accepted connections less the one over IPv6, and
        // the listener
        let moved = json(&["assign", "--cgroup", outer.path(), "cubic", "--existing", "--json"]);
        assert_eq!((&moved["existing"]["found"], &moved["existing"]["failed"]), (&4.into(), &serde_json::json!([])));
        assert_eq!(of_outer.algorithms(), ["cubic", "cubic"]);
        assert_eq!(of_inner.algorithms(), [before.as_str(), before.as_str()]);
        assert_eq!(of_stranger.algorithms(), [before.as_str(), "cubic"]);
        let listening = sockets(&network.server, "listening").unwrap();
        assert_eq!(listening[0].algorithm.as_deref(), Some("cubic"));
        assert_eq!(why(&of_outer.server)["met"]["event"], "existing");
        assert_eq!(why(&of_outer.server)["passive"], true);
        // by the port of the service: own port of the accepted, peer's port of the others
        let moved = json(&["assign", "--cgroup", outer.path(), "--port", &port, "reno", "--existing", "--json"]);
        assert_eq!(moved["existing"]["found"], 4);
        assert_eq!(of_outer.algorithms(), ["reno", "reno"]);
        // back again: the rule with the port goes, the one without applies
        let gone = json(&["unassign", "--cgroup", outer.path(), "--port", &port, "--existing", "--json"]);
        assert_eq!(gone["existing"]["moved"], 4, "{gone}");
        assert_eq!(of_outer.algorithms(), ["cubic", "cubic"]);
        // and without any rule all is as it was
        let gone = json(&["unassign", "--all", "--existing", "--json"]);
        assert_eq!(gone["existing"]["failed"], serde_json::json!([]), "{gone}");
        after(&[&before, &before, &before], &before);
        let listening = sockets(&network.server, "listening").unwrap();
        assert_eq!(listening[0].algorithm.as_deref(), Some(before.as_str()));
    });
}

/// A listener gives what it has to those that it accepts: it must not outlive its rule.
#[test]
fn listeners_follow_rules_at_once() {
    support::test("listeners", 60, || {
        let network = Network::new().unwrap();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        assign(&["--cgroup", back.path(), "reno"]);
        let listener = listen(&back, &network.server, "::");
        let now = || sockets(&network.server, "listening").unwrap()[0].algorithm.clone().unwrap();
        assert_eq!(now(), "reno");
        let first = pair(&front, &network, &listener, SERVER_V4);
        let [default, accepted] = first.algorithms();
        assert_eq!(accepted, "reno");
        assign(&["--cgroup", back.path(), "cubic"]);
        assert_eq!(now(), "cubic");
        // left to chance, and so to each accepted connection
        assign(&["--cgroup", back.path(), "reno=1,cubic=1"]);
        assert_eq!(now(), default);
        let drawn: Vec<String> =
            (0..40).map(|_| pair(&front, &network, &listener, SERVER_V6).algorithms()[1].clone()).collect();
        assert!(["reno", "cubic"].iter().all(|name| drawn.iter().any(|used| used == name)), "{drawn:?}");
        assign(&["--cgroup", back.path(), "reno"]);
        let again = listen(&back, &network.server, "::");
        succeeds(&["unassign", "--all"]);
        for listener in [&listener, &again] {
            assert_eq!(pair(&front, &network, listener, SERVER_V4).algorithms(), [default.clone(), default.clone()]);
        }
        assert_eq!(first.algorithms()[1], "reno", "a live connection keeps what it has");
    });
}

#[test]
fn ten_thousand_connections_under_a_hundred_rules() {
    const RULES: usize = 100;
    const EACH: usize = 100;
    const ALGORITHMS: [&str; 3] = ["reno", "cubic", "bbr"];
    support::test("10,000 connections", 240, || {
        let network = Network::new().unwrap();
        let parent = Cgroup::new("services").unwrap();
        let cgroups: Vec<Cgroup> = (0..RULES).map(|index| parent.child(&format!("{index}.service")).unwrap()).collect();
        for (index, cgroup) in cgroups.iter().enumerate() {
            assign(&["--cgroup", cgroup.path(), ALGORITHMS[index % 3]]);
        }
        // The other ends wait to be accepted: a process may not have files for both.
        network.server.set_sysctl("net/core/somaxconn", "20000").unwrap();
        let listener = listen(&parent, &network.server, "::");
        nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::MAXALLOWABLE).unwrap();
        let started = Instant::now();
        let mut clients: Vec<(usize, TcpStream)> = Vec::new();
        for round in 0..EACH {
            for (index, cgroup) in cgroups.iter().enumerate() {
                let address = if round % 2 == 0 { SERVER_V4 } else { SERVER_V6 };
                clients.push((index, client(cgroup, &network, &listener, address)));
            }
        }
        let opened = started.elapsed();
        let shown = sockets(&network.client, "established").unwrap();
        let shown: HashMap<SocketAddr, String> =
            shown.into_iter().map(|socket| (socket.local.parse().unwrap(), socket.algorithm.unwrap())).collect();
        for (index, client) in &clients {
            let local = client.local_addr().unwrap();
            assert_eq!(shown[&local], ALGORITHMS[index % 3], "{local} of {}", cgroups[*index].path());
        }
        assert_eq!(shown.len(), RULES * EACH);
        let counted = rules();
        assert!(counted.iter().all(|rule| rule["socket_count"] == EACH), "{counted:?}");
        println!("{} connections in {opened:?}, each confirmed by ss", clients.len());
        let started = Instant::now();
        let gone = json(&["unassign", "--all", "--existing", "--json"]);
        assert_eq!(gone["existing"]["found"], RULES * EACH, "{}", gone["existing"]);
        println!("all moved back in {:?}", started.elapsed());
    });
}

#[test]
fn rules_change_under_traffic_and_no_byte_is_lost() {
    const FLOWS: usize = 16;
    support::test("replacement under traffic", 90, || {
        succeeds(&["load", "htcp"]);
        let network = Network::new().unwrap();
        let front = Cgroup::new("front").unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        assign(&["--cgroup", front.path(), "reno"]);
        let start = |address| {
            let sending = ccctl_testbed::Sending { algorithm: None, ..steady(&receiver, address, "") };
            Flows::start(&network.client, &sending, FLOWS / 2).unwrap()
        };
        let (v4, v6) = front
            .enter(|| {
                let flows = (start(SERVER_V4), start(SERVER_V6));
                wait_for(&network, "reno", FLOWS); // they connect in threads
                flows
            })
            .unwrap();
        let (started, mut changes) = (Instant::now(), 0);
        while started.elapsed() < Duration::from_secs(6) {
            for targets in ["htcp|reno", "reno=1,cubic=1,htcp=2", "cubic", "reno"] {
                json(&["assign", "--cgroup", front.path(), targets, "--existing", "--json"]);
                json(&["assign", "--cgroup", front.path(), "--port", "1", targets, "--json"]);
                changes += 2;
            }
            assert_eq!(established(&network.client, "reno"), FLOWS);
            succeeds(&["unassign", "--all", "--existing"]);
            json(&["assign", "--cgroup", front.path(), "reno", "--existing", "--json"]);
            changes += 2;
        }
        let delivered: Vec<_> = v4.stop().unwrap().into_iter().chain(v6.stop().unwrap()).collect();
        let bytes: u64 = delivered.iter().map(|flow| flow.bytes).sum();
        println!("{changes} changes under {FLOWS} connections that carried {bytes} bytes");
        assert!(delivered.len() == FLOWS && bytes > FLOWS as u64 * 1_000_000, "only {bytes} bytes");
        assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
        drop((receiver, network));
        succeeds(&["unassign", "--all"]);
        succeeds(&["unload", "bpf_htcp"]);
    });
}

fn wait_for(network: &Network, algorithm: &str, count: usize) {
    eventually(Duration::from_secs(10), || match established(&network.client, algorithm) {
        found if found == count => Ok(()),
        found => Err(format!("{found} connections")),
    })
    .unwrap();
}

/// What rules say, by selector: algorithm, and bytes of `notsent_lowat`, the only setting here.
fn state() -> BTreeMap<String, (String, u64)> {
    let text = |rule: &serde_json::Value| format!("{} {} {}", rule["cgroup"], rule["dst"], rule["port"]);
    let lowat = |rule: &serde_json::Value| rule["settings"][0]["setting_value"].as_u64().unwrap_or(0);
    let given = |rule: &serde_json::Value| (rule["targets"].as_str().unwrap().to_owned(), lowat(rule));
    rules().iter().map(|rule| (text(rule), given(rule))).collect()
}

#[test]
fn kills_leave_a_whole_set_of_rules() {
    support::test("kills", 240, || {
        let kills = support::times(16, 80);
        let network = Network::new().unwrap();
        let cgroups = [Cgroup::new("a").unwrap(), Cgroup::new("b").unwrap()];
        let [a, b] = [cgroups[0].path(), cgroups[1].path()];
        let operations: [(&[&str], bool); 8] = [
            (&["assign", "--cgroup", a, "cubic", "--notsent-lowat", "64k", "--existing"], true),
            (&["assign", "--cgroup", a, "reno", "--notsent-lowat", "16k"], false),
            (&["assign", "--cgroup", a, "cubic"], false),
            (&["assign", "--cgroup", a, "cubic", "--existing"], true),
            (&["assign", "--cgroup", b, "--port", "80", "cubic|reno"], true),
            (&["unassign", "--cgroup", a], true),
            (&["unassign", "--all"], true),
            (&["unassign", "--all", "--existing"], true),
        ];
        let listener = listen(&cgroups[0], &network.server, "::");
        let connect = || pair(&cgroups[0], &network, &listener, SERVER_V4);
        let [default, _] = connect().algorithms();
        let prepare = |with_rules: bool| {
            succeeds(&["unassign", "--all", "--existing"]);
            let live = connect();
            if with_rules {
                succeeds(&["assign", "--cgroup", a, "reno", "--notsent-lowat", "32k", "--existing"]);
                succeeds(&["assign", "--cgroup", b, "--dst", SERVER_V6, "reno"]);
            }
            (live, state())
        };
        let outcomes = operations.map(|(words, with_rules)| {
            let mut shortest = Duration::MAX; // others may be busy on this machine
            for _ in 0..2 {
                prepare(with_rules);
                let started = Instant::now();
                succeeds(words);
                shortest = shortest.min(started.elapsed());
            }
            let after = state();
            (prepare(with_rules).1, after, shortest)
        });
        let mut random = Random(0x5eed_0fcc_0c72);
        let mut killed = 0;
        for round in 0..kills {
            let (words, with_rules) = operations[round % operations.len()];
            let (before, after, elapsed) = &outcomes[round % operations.len()];
            let (live, prepared) = prepare(with_rules);
            assert_eq!(prepared, *before);
            let microseconds = random.below(elapsed.as_micros() as u64);
            support::prepare(words);
            let mut process = Background::start(Command::new(CCCTL).args(words)).unwrap();
            std::thread::sleep(Duration::from_micros(microseconds));
            killed += usize::from(process.kill());
            let now = state();
            let when = format!("round {round}: {words:?} killed after {microseconds} us");
            assert!(now == *before || now == *after, "{when}: {now:?} is neither {before:?} nor {after:?}");
            // what is told is what new connections get, also from a listener that an earlier rule had set
            let rule = now.iter().find(|(selector, _)| selector.contains(a)).map(|(_, given)| given);
            let (expected, lowat) = rule.map_or((&*default, 0), |(name, lowat)| (name, *lowat));
            let new = connect();
            let [_, accepted] = new.algorithms();
            let left = std::path::Path::new(ccctl_testbed::RULES_PIN).exists();
            assert_eq!(new.algorithms()[0], expected, "{when}: {now:?}");
            assert_eq!(u64::from(notsent_lowat_of(&new.client).unwrap()), lowat, "{when}: {now:?}");
            // with the link gone nobody watches a listener that was not reached
            assert!(accepted == expected || !left, "{when}: {now:?}: accepted {accepted}");
            // the next command finishes what was begun: rules that went with --existing leave nothing
            succeeds(&["unassign", "--all"]);
            let with_existing = words.contains(&"--existing") && words.contains(&"unassign");
            assert!(!with_existing || !now.is_empty() || live.algorithms() == [&*default, &default], "{when}");
            let lowat = notsent_lowat_of(&live.client).unwrap();
            assert!(!with_existing || !now.is_empty() || lowat == 0, "{when}: the connection has {lowat} bytes");
        }
        println!("{killed} of {kills} were killed before their end");
        assert!(killed > kills / 2, "only {killed} were killed in time");
    });
}
