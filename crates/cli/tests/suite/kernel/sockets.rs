// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl sockets`: each filter selects exactly the right sockets, by the word of `ss`; and `migrate` moves these and no
//! others.

use crate::support;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{run, Connections, Flows, Network, Receiver, CLIENT_V4, CLIENT_V6, SERVER_V4, SERVER_V6};
use serde_json::Value;
use support::listing::{cookies, listed, selects, ss, Line};
use support::{ccctl, code, is_refusal, json, refuses, steady, succeeds, Folder, CCCTL};

const MAPPED_V4: &str = "::ffff:10.77.0.2";
const LIMIT: Duration = Duration::from_secs(60);

fn host(end: &str) -> &str {
    end.rsplit_once(':').unwrap().0
}

fn port(end: &str) -> &str {
    end.rsplit_once(':').unwrap().1
}

/// 3 connections over IPv4, 4 over IPv6, 5 over IPv4 from dual-stack sockets, and two listeners.
struct Scene {
    network: Network,
    _listeners: [Receiver; 2],
    _idle: Vec<Connections>,
}

impl Scene {
    fn new(algorithm: &str) -> Self {
        let network = Network::new().unwrap();
        let listeners = ["::", SERVER_V4].map(|address| Receiver::start(&network.server, address).unwrap());
        let counts = [(SERVER_V4, 3), (SERVER_V6, 4), (MAPPED_V4, 5)];
        let idle = counts.map(|(address, count)| Connections::open(&network, address, Some(algorithm), count).unwrap());
        Self { network, _listeners: listeners, _idle: idle.into() }
    }

    /// In the namespaces of this scene only: others use this host, too.
    fn selects(&self, words: &[&str], holds: impl Fn(&Line) -> bool) -> usize {
        let Network { client, server, .. } = &self.network;
        let in_client = selects(&[client], &[words, &["--netns", client.name()]].concat(), &holds);
        let path = server.path();
        in_client + selects(&[server], &[words, &["--netns", path.to_str().unwrap()]].concat(), &holds)
    }
}

#[test]
fn each_filter_selects_what_ss_says() {
    support::test("filters", 120, || {
        succeeds(&["load", "cubic"]);
        let scene = Scene::new("bpf_cubic");
        let one = ss(&scene.network.client).into_values().next().unwrap();
        let (cookie, _) = ss(&scene.network.client).into_iter().next().unwrap();
        let of_cubic = |line: &Line| line.value("bpf_cubic").is_some();
        assert_eq!(scene.selects(&[], |_| true), 2 * 12 + 2);
        assert_eq!(scene.selects(&["--instance", "bpf_cubic"], of_cubic), 12);
        // "ss" has no word for what is behind an instance: this one and the kernel's own of that name are cubic
        let is_cubic = |line: &Line| line.value("bpf_cubic").is_some() || line.value("cubic").is_some();
        assert!(scene.selects(&["--algorithm", "cubic"], is_cubic) >= 12);
        assert_eq!(scene.selects(&["--algorithm", "vegas"], |line| line.value("vegas").is_some()), 0);
        for command in [&["sockets"][..], &["migrate", "--to", "reno"], &["trace", "--for", "1ms"]] {
            let with = |name| [command, &["--algorithm", name]].concat();
            refuses(&with("bpf_cubic"), code::USAGE, &["bpf_cubic", "--instance bpf_cubic"]);
            refuses(&with("cubci"), code::USAGE, &["cubci", "did you mean cubic"]);
            refuses(&with(""), code::USAGE, &["--algorithm"]);
        }
        assert_eq!(scene.selects(&["--tcp-state", "listen"], |line| line.state == "LISTEN"), 2);
        assert_eq!(scene.selects(&["--tcp-state", "connected"], |line| line.state == "ESTAB"), 24);
        assert_eq!(scene.selects(&["--tcp-state", "established", "--tcp-state", "listen"], |_| true), 26);
        assert_eq!(scene.selects(&["--tcp-state", "close-wait"], |line| line.state == "CLOSE-WAIT"), 0);
        let either = |line: &Line| port(&line.local) == port(&one.remote) || port(&line.remote) == port(&one.remote);
        assert!(scene.selects(&["--port", port(&one.remote)], either) >= 6);
        let v4 = [CLIENT_V4.to_owned(), format!("[::ffff:{CLIENT_V4}]")];
        assert_eq!(scene.selects(&["--src", CLIENT_V4], |line| v4.iter().any(|v4| v4 == host(&line.local))), 8);
        assert_eq!(scene.selects(&["--dst", CLIENT_V4], |line| v4.iter().any(|v4| v4 == host(&line.remote))), 8);
        let mapped = format!("::ffff:{CLIENT_V4}");
        assert_eq!(scene.selects(&["--src", &mapped], |line| v4.iter().any(|v4| v4 == host(&line.local))), 8);
        let v6 = format!("[{CLIENT_V6}]");
        assert_eq!(scene.selects(&["--src", CLIENT_V6], |line| host(&line.local) == v6), 4);
        assert_eq!(scene.selects(&["--dst", &v6], |line| host(&line.remote) == v6), 4);
        assert_eq!(scene.selects(&["--src", &one.local], |line| line.local == one.local), 1);
        let only_port = format!(":{}", port(&one.local));
        let to_one = |line: &Line| port(&line.remote) == port(&one.local);
        assert!(scene.selects(&["--dst", &only_port], to_one) >= 1);
        assert_eq!(
            selects(&[&scene.network.client], &["--cookie", &cookie.to_string()], |line| line.local == one.local),
            1
        );
        assert_eq!(
            selects(&[&scene.network.client], &["--cookie", &format!("{cookie:#x}")], |line| line.local == one.local),
            1
        );
        // all that is said must hold
        assert_eq!(scene.selects(&["--instance", "bpf_cubic", "--dst", CLIENT_V4], |_| false), 0);
        assert_eq!(
            scene.selects(&["--src", SERVER_V6, "--tcp-state", "established"], |line| host(&line.local)
                == format!("[{SERVER_V6}]")),
            4
        );
        drop(scene);
        succeeds(&["unload", "bpf_cubic"]);
    });
}

/// Instances under other names, the program before a swap and the kernel's own: `sockets`, `trace` and `migrate` take the
/// same ones for cubic, and not what is cubic in name only.
#[test]
fn an_algorithm_is_all_its_instances_and_the_built_in_one() {
    support::test("filter by algorithm", 120, || {
        let folder = Folder::new("by-algorithm");
        succeeds(&["load", "cubic", "--as", "swapped"]);
        succeeds(&["load", "cubic", "--as", "other"]);
        let network = Network::new().unwrap();
        let client = &network.client;
        let open = |name, count| {
            let before: BTreeSet<u64> = ss(client).into_keys().collect();
            let connections = Connections::open(&network, SERVER_V6, Some(name), count).unwrap();
            (connections, ss(client).into_keys().filter(|cookie| !before.contains(cookie)).collect::<BTreeSet<_>>())
        };
        let (old, on_old_program) = open("swapped", 3);
        json(&["swap", "swapped", "--with", "bic", "--json"]);
        let (recent, bic) = open("swapped", 2);
        let (other, on_other) = open("other", 4);
        let (own, built_in) = open("cubic", 1);
        let cubic: BTreeSet<u64> = [on_old_program, on_other, built_in].into_iter().flatten().collect();
        assert_eq!((cubic.len(), bic.len()), (8, 2));
        for (algorithm, expected) in [("cubic", &cubic), ("bic", &bic), ("vegas", &BTreeSet::new())] {
            let words = ["--algorithm", algorithm, "--netns", client.name()];
            assert_eq!(&cookies(&listed(&words)), expected, "sockets of {algorithm}");
            let file = folder.path().join(format!("{algorithm}.jsonl"));
            let trace = ["trace", "--every", "20ms", "--for", "60ms", "-o", file.to_str().unwrap()];
            let output = ccctl(&[&trace, &words[..]].concat()); // it says where nothing matches yet
            assert!(output.success(), "{}", output.stderr);
            let traced: BTreeSet<u64> =
                support::trace::lines(&file).0.iter().map(|row| row["cookie"].as_u64().unwrap()).collect();
            assert_eq!(&traced, expected, "trace of {algorithm}");
            let dry = json(&[&["migrate", "--to", "reno", "--dry-run", "--json"], &words[..]].concat());
            assert_eq!(dry["found"], expected.len(), "migrate of {algorithm}");
        }
        let moved = json(&["migrate", "--algorithm", "cubic", "--netns", client.name(), "--to", "reno", "--json"]);
        assert_eq!((&moved["found"], &moved["moved"]), (&8.into(), &8.into()), "{moved}");
        let by_name = |name: &str| -> BTreeSet<u64> {
            ss(client).into_iter().filter(|(_, line)| line.value(name).is_some()).map(|(cookie, _)| cookie).collect()
        };
        assert_eq!((by_name("reno"), by_name("swapped")), (cubic, bic));
        drop((old, recent, other, own, network));
        succeeds(&["unload", "swapped", "other"]);
    });
}

#[test]
fn sockets_of_all_namespaces_with_their_names() {
    support::test("namespaces", 60, || {
        succeeds(&["load", "bic"]);
        let scenes = [Scene::new("bpf_bic"), Scene::new("bpf_bic")];
        let all = listed(&["--instance", "bpf_bic"]);
        assert_eq!(cookies(&all).len(), 24);
        for scene in &scenes {
            let name = scene.network.client.name();
            let own: Vec<Value> = all.iter().filter(|socket| socket["namespace"] == name).cloned().collect();
            assert_eq!(cookies(&own), ss(&scene.network.client).into_keys().collect(), "{name}");
        }
        drop(scenes);
        succeeds(&["unload", "bpf_bic"]);
    });
}

#[test]
fn sorted_limited_and_in_columns() {
    support::test("sorted", 60, || {
        let scene = Scene::new("reno");
        let netns = ["--netns", scene.network.client.name()];
        let column = |words: &[&str], key: &str| -> Vec<String> {
            listed(&[&netns[..], words].concat()).iter().map(|socket| socket[key].to_string()).collect()
        };
        let mut unsorted = column(&[], "cookie");
        let numbers = |texts: &[String]| texts.iter().map(|text| text.parse::<u64>().unwrap()).collect::<Vec<_>>();
        let sorted = numbers(&column(&["--sort", "cookie"], "cookie"));
        unsorted.sort_by_key(|cookie| std::cmp::Reverse(cookie.parse::<u64>().unwrap()));
        assert_eq!(sorted, numbers(&unsorted), "numbers from the largest");
        assert_eq!(numbers(&column(&["--sort", "cookie", "--limit", "5"], "cookie")), sorted[..5]);
        assert_eq!(column(&["--limit", "3"], "cookie").len(), 3);
        assert_eq!(column(&["--limit", "0"], "cookie").len(), 0);
        let sources = column(&["--sort", "source"], "source");
        assert!(sources.is_sorted(), "text from a to z: {sources:?}");
        let table = succeeds(&[&["sockets", "--columns", "state,cookie", "--sort", "cookie"], &netns[..]].concat());
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows[0].split_whitespace().collect::<Vec<_>>(), ["STATE", "COOKIE"]);
        assert_eq!(rows[1].split_whitespace().collect::<Vec<_>>(), ["established", &sorted[0].to_string()]);
        assert_eq!(rows.len(), 13);
        let wide = succeeds(&[&["sockets", "--wide"], &netns[..]].concat());
        assert!(wide.lines().next().unwrap().ends_with("ALGORITHM'S STATE"), "{wide}");
        // sorted answers are printed at once, others as they come: the same JSON
        let sort = json(&[&["sockets", "--json", "--sort", "state"], &netns[..]].concat());
        let stream = json(&[&["sockets", "--json"], &netns[..]].concat());
        assert_eq!(cookies(sort["sockets"].as_array().unwrap()), cookies(stream["sockets"].as_array().unwrap()));
        assert_eq!(
            sort["sockets"][0].as_object().unwrap().keys().collect::<Vec<_>>(),
            stream["sockets"][0].as_object().unwrap().keys().collect::<Vec<_>>()
        );
    });
}

#[test]
fn each_filter_moves_what_it_selects() {
    support::test("migrate by filter", 120, || {
        succeeds(&["load", "cubic"]);
        let scene = Scene::new("reno");
        let client = &scene.network.client;
        let (cookie, one) = ss(client).into_iter().next().unwrap();
        let (cookie, local_port) = (cookie.to_string(), port(&one.local).to_owned());
        let pid = std::process::id().to_string();
        for (words, count) in [
            (&["--cookie", &cookie][..], 1),
            (&["--src", &one.local], 1),
            (&["--src", CLIENT_V6], 4),
            (&["--dst", SERVER_V4], 8),
            (&["--dst", "10.77.0.0/16"], 8),
            (&["--dst", "fd77::/16"], 4),
            (&["--src", "10.78.0.0/16"], 0),
            (&["--dst", "0.0.0.0/0", "--instance", "reno"], 8),
            (&["--port", &local_port, "--tcp-state", "established"], 1),
            (&["--pid", &pid], 12),
            (&["--cgroup", "/"], 12),
            (&["--instance", "reno", "--dst", SERVER_V6], 4),
            (&[], 12),
        ] {
            let words = [words, &["--netns", client.name()]].concat();
            let ask = |to: &str, more: &[&str]| json(&[&["migrate", "--json", "--to", to], more, &words[..]].concat());
            let dry = ask("bpf_cubic", &["--dry-run"]);
            assert_eq!((&dry["found"], &dry["moved"]), (&count.into(), &0.into()), "{words:?}: {dry}");
            let selected = cookies(&listed(&words));
            let moved = ask("bpf_cubic", &[]);
            assert_eq!((&moved["found"], &moved["moved"]), (&count.into(), &count.into()), "{words:?}: {moved}");
            let using: BTreeSet<u64> = ss(client)
                .into_iter()
                .filter(|(_, line)| line.value("bpf_cubic").is_some())
                .map(|(cookie, _)| cookie)
                .collect();
            assert_eq!(using, selected, "{words:?}");
            json(&["migrate", "--instance", "bpf_cubic", "--to", "reno", "--json"]);
        }
        drop(scene);
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn wrong_words_are_refused_with_what_to_type() {
    support::test("wrong words", 60, || {
        for (words, parts) in [
            (&["--pid", "0"][..], &["pid 0"][..]),
            (&["--pid", "4194304000"], &["process"]),
            (&["--pid", "x"], &["x"]),
            (&["--port", "0"], &["port 0"]),
            (&["--port", "65536"], &["65536"]),
            (&["--src", "10.0.0"], &["10.0.0", "192.0.2.1:443"]),
            (&["--dst", "example.org"], &["example.org"]),
            (&["--dst", "10.0.0.1:0"], &["port 0"]),
            (&["--dst", "10.0.0.1/8"], &["10.0.0.0/8"]),
            (&["--dst", "::/0"], &["IPv4"]),
            (&["--cgroup", "/", "--unit", "a.service"], &["--unit"]),
            (&["--tcp-state", "establish"], &["did you mean established"]),
            (&["--tcp-state", "time-wait"], &["time-wait", "no algorithm"]),
            (&["--cookie", "0"], &["cookie 0"]),
            (&["--cookie", "-1"], &["-1"]),
            (&["--netns", "no_such_netns"], &["namespace"]),
            (&["--cgroup", "/no/such/cgroup"], &["/no/such/cgroup"]),
            (&["--cgroup", "/etc"], &["/etc"]),
            (&["--cgroup", ""], &["cgroup"]),
        ] {
            refuses(&[&["sockets"], words].concat(), code::USAGE, parts);
            refuses(&[&["migrate", "--to", "reno"], words].concat(), code::USAGE, parts);
        }
        refuses(&["sockets", "--instance", "cubci"], code::USAGE, &["did you mean cubic"]);
        refuses(&["sockets", "--instance", "a_name_far_too_long_for_the_kernel"], code::USAGE, &["15"]);
        refuses(&["sockets", "--sort", "wnd"], code::USAGE, &["wnd"]);
        refuses(&["sockets", "--columns", "state,wnd"], code::USAGE, &["wnd"]);
        refuses(&["sockets", "--wide", "--columns", "state"], code::USAGE, &["--wide"]);
        refuses(&["migrate", "--to", "reno"], code::USAGE, &["no filter selects the sockets", "--cgroup", "--all"]);
        refuses(&["migrate", "--to", "reno", "--all", "--port", "1"], code::USAGE, &["--all"]);
        refuses(&["migrate", "--all", "--to", "rneo"], code::USAGE, &["did you mean reno"]);
    });
}

#[test]
fn an_unprivileged_user_is_refused() {
    support::test("unprivileged", 60, || {
        let folder = Folder::new("unprivileged");
        let copy = folder.path().join("ccctl");
        std::fs::copy(CCCTL, &copy).unwrap();
        for words in
            [&["sockets"][..], &["sockets", "--json"], &["sockets", "--sort", "cwnd"], &["sockets", "--pid", "1"]]
        {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&copy).args(words);
            is_refusal(
                &format!("setpriv ccctl {}", words.join(" ")),
                &run(&mut command, LIMIT).unwrap(),
                code::HOST,
                &["root"],
            );
        }
    });
}

/// Connections come and go as fast as they can: those that stay are in every listing, and none is in one twice.
#[test]
fn while_sockets_come_and_go() {
    support::test("under load", 120, || {
        let scene = Scene::new("reno");
        let Network { client, server, .. } = &scene.network;
        let receiver = Receiver::start(server, "::").unwrap();
        let steady: BTreeSet<u64> = ss(client).into_keys().collect();
        let mut listings = 0;
        let mut met = BTreeSet::new();
        for _ in 0..support::times(3, 8) {
            let flows = Flows::start(client, &steady_flow(&receiver), 40).unwrap();
            for words in [&[][..], &["--columns", "process"], &["--sort", "rate"]] {
                let found = cookies(&listed(&[words, &["--netns", client.name()]].concat()));
                assert!(found.is_superset(&steady), "connections that stay are missing");
                met.extend(found);
                listings += 1;
            }
            drop(flows);
        }
        assert!(met.len() >= steady.len() + 40, "only {} sockets in {listings} listings", met.len());
        println!("{listings} listings, {} sockets met", met.len());
    });
}

fn steady_flow(receiver: &Receiver) -> ccctl_testbed::Sending {
    steady(receiver, SERVER_V6, "reno")
}
