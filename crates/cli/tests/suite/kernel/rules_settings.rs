// SPDX-License-Identifier: MIT OR Apache-2.0
//! What rules set besides the algorithm. The sockets themselves are asked, and the wire is watched; expected values are those
//! that the rules name, and the kernel's own without rules (`TCP_RTO_MIN`, `TCP_INIT_CWND`, `TCP_DELACK_MIN`).

use crate::support;
use crate::support::policy;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use ccctl_testbed::{
    algorithm_of, claim, connect, connect_again, eventually, ip, max_pacing_rate_of, notsent_lowat_of,
    set_notsent_lowat, tcp_info, Cgroup, Namespace, Network, Offload, Unconnected, CLIENT_V4, RULES, SERVER_V4,
    SERVER_V6,
};
use policy::{assign, findings, listen, pair, rules, why, Pair};
use serde_json::{json, Value};
use support::{code, json, refuses, succeeds, Folder};

const LIMIT: Duration = Duration::from_secs(10);
const NO_LIMIT: u32 = u32::MAX;
const INIT_CWND_PKTS: u32 = 10;
const RTO_MIN_US: u32 = 200_000;
const ALL: [&str; 10] = [
    "--initial-window",
    "20",
    "--min-rto",
    "40ms",
    "--max-pacing-rate",
    "80mbit",
    "--notsent-lowat",
    "64k",
    "--max-delayed-ack",
    "20ms",
];
/// 80 Mbit/s
const CAP_BYTES_PER_S: u32 = 10_000_000;
const LOWAT_BYTES: u32 = 65_536;

/// The rule's path first, so that options may follow.
fn rule<'a>(cgroup: &'a Cgroup, words: &[&'a str]) -> Vec<&'a str> {
    [&["--cgroup", cgroup.path()], words].concat()
}

/// Carries a byte there and one back.
fn exchange(pair: &mut Pair) {
    pair.client.write_all(b"x").unwrap();
    pair.server.read_exact(&mut [0]).unwrap();
    pair.server.write_all(b"y").unwrap();
    pair.client.read_exact(&mut [0]).unwrap();
}

/// So that both ends have measured RTTs often enough to forget that of a handshake on a busy machine.
fn measure(pair: &mut Pair) {
    (0..40).for_each(|_| exchange(pair));
}

/// Does the shortest retransmission timeout come from a rule? RFC 6298 (2.3): the RTT and four times its variance, but Linux puts
/// the shortest in the place of the variance, and 200 ms are its own (`TCP_RTO_MIN`). RTTs here are far shorter.
fn has_min_rto(stream: &TcpStream, min_us: u32) -> bool {
    let rto_us = tcp_info(stream).unwrap().tcpi_rto;
    if min_us < RTO_MIN_US {
        (min_us..RTO_MIN_US).contains(&rto_us)
    } else {
        rto_us >= min_us
    }
}

fn settings_of(stream: &TcpStream) -> (u32, u32) {
    (max_pacing_rate_of(stream).unwrap(), notsent_lowat_of(stream).unwrap())
}

/// One setting of `ccctl why`.
#[track_caller]
fn met<'a>(why: &'a Value, setting: &str) -> &'a Value {
    let all = why["met"]["met_settings"].as_array().unwrap();
    all.iter().find(|met| met["setting"] == setting).unwrap_or_else(|| panic!("no {setting} in {why}"))
}

#[test]
fn both_ends_are_given_all_settings_and_the_algorithm_is_left_alone() {
    support::test("settings", 60, || {
        let network = Network::new().unwrap();
        let (front, back, other) =
            (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap(), Cgroup::new("other").unwrap());
        for cgroup in [&front, &back] {
            assign(&rule(cgroup, &ALL));
        }
        let listener = listen(&back, &network.server, "::");
        for address in [SERVER_V4, SERVER_V6] {
            let mut both = pair(&front, &network, &listener, address);
            for end in [&both.client, &both.server] {
                assert_eq!(tcp_info(end).unwrap().tcpi_snd_cwnd, 20, "{address}");
                assert_eq!(settings_of(end), (CAP_BYTES_PER_S, LOWAT_BYTES), "{address}");
            }
            measure(&mut both);
            for end in [&both.client, &both.server] {
                assert!(has_min_rto(end, 40_000), "{}", tcp_info(end).unwrap().tcpi_rto);
                assert_eq!(findings(end), ["as_the_rule_says"]);
            }
        }
        // who is in no rule has what the kernel gives; the accepted end is set all the same
        let mut one = pair(&other, &network, &listener, SERVER_V4);
        measure(&mut one);
        assert!(has_min_rto(&one.client, RTO_MIN_US) && has_min_rto(&one.server, 40_000));
        assert_eq!((settings_of(&one.client), settings_of(&one.server).0), ((NO_LIMIT, 0), CAP_BYTES_PER_S));
        // the listener keeps what it has: its application may set it
        let default = algorithm_of(&one.client).unwrap();
        assert_eq!(one.algorithms(), [default.clone(), default.clone()]);
        let told = why(&one.server);
        assert_eq!((&told["met"]["wanted"], &told["met"]["given"]), (&json!(""), &Value::Null), "{told}");
        assert_eq!(told["now"]["congestion_control"], *default);
        let window = met(&told, "initial_window");
        assert_eq!(
            (&window["before_value"], &window["given_value"], &window["now_value"]),
            (&json!(INIT_CWND_PKTS), &json!(20), &Value::Null)
        );
        let rto = met(&told, "min_rto");
        assert_eq!(
            (&rto["before_value"], &rto["before_text"], &rto["unit"]),
            (&json!(RTO_MIN_US), &json!("200ms"), &json!("us"))
        );
        assert_eq!(met(&told, "max_pacing_rate")["before_text"], "no limit");
        drop(listener);
        succeeds(&["unassign", "--all"]);
    });
}

/// The sender's window is what it sends before the first ACK: the receiver's answers find no way back.
#[test]
fn the_wire_shows_the_initial_window() {
    support::test("initial window on the wire", 60, || {
        for (accepted, words, expected) in [
            (false, &["--initial-window", "20"][..], 20),
            (true, &["--initial-window", "20"], 20),
            (false, &["--initial-window", "4", "cubic"], 4),
            (true, &["--initial-window", "4", "cubic"], 4),
            (false, &["reno"], u64::from(INIT_CWND_PKTS)),
        ] {
            let network = network_without_offloads();
            let front = Cgroup::new("front").unwrap();
            assign(&rule(&front, words));
            let other = Cgroup::new("other").unwrap();
            let (making, taking) = if accepted { (&other, &front) } else { (&front, &other) };
            let listener = listen(taking, &network.server, SERVER_V4);
            let Pair { client, server } = pair(making, &network, &listener, SERVER_V4);
            let (mut sender, receiving, back) =
                if accepted { (server, &network.client, SERVER_V4) } else { (client, &network.server, CLIENT_V4) };
            ip(&["-n", receiving.name(), "route", "add", "blackhole", &format!("{back}/32")]).unwrap();
            let before = segments_received(receiving);
            sender.set_nonblocking(true).unwrap();
            let written: usize = std::iter::from_fn(|| sender.write(&[7; 10_000]).ok()).sum();
            assert!(written as u64 > expected * 1500, "{written} bytes");
            let arrived = || match segments_received(receiving) - before {
                found if found >= expected => Ok(found),
                found => Err(format!("{found} segments")),
            };
            assert_eq!(eventually(LIMIT, arrived), Ok(expected), "{words:?}, accepted: {accepted}");
            assert_eq!(u64::from(tcp_info(&sender).unwrap().tcpi_unacked), expected);
            drop((sender, listener));
            succeeds(&["unassign", "--all"]);
        }
    });
}

/// Segments are as long as on a wire, and none is sent to probe for the loss of the last one.
fn network_without_offloads() -> Network {
    let network = Network::new().unwrap();
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
        network.set_offload(offload, false).unwrap();
    }
    for end in [&network.client, &network.server] {
        end.set_sysctl("net/ipv4/tcp_early_retrans", "0").unwrap();
        end.set_sysctl("net/ipv4/tcp_congestion_control", "reno").unwrap(); // which does not pace
    }
    network
}

/// `InSegs` of a namespace.
fn segments_received(namespace: &Namespace) -> u64 {
    counter(namespace, "snmp", "Tcp:", "InSegs")
}

fn counter(namespace: &Namespace, file: &str, group: &str, name: &str) -> u64 {
    let path = format!("/proc/thread-self/net/{file}");
    let text = namespace.enter(|| std::fs::read_to_string(path).unwrap()).unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with(group)).map(|line| line.split(' '));
    let (mut names, values) = (lines.next().unwrap(), lines.next().unwrap().collect::<Vec<_>>());
    values[names.position(|known| known == name).unwrap()].parse().unwrap()
}

/// RFC 3168: the SYN asks (section 6.1.1), and is not marked itself: Linux grants nothing to one that is. Data are marked if both
/// sides agreed, and only then (section 6.1.2). `tcp_ecn` is 2 by default: Linux grants ECN, and does not ask.
#[test]
fn ecn_is_asked_for_as_rfc_3168_wants_it() {
    support::test("ECN by rules", 60, || {
        let network = Network::new().unwrap();
        let (front, other) = (Cgroup::new("front").unwrap(), Cgroup::new("other").unwrap());
        let listener = listen(&other, &network.server, "::");
        for words in [&["--ecn", "on"][..], &["--ecn", "on", "cubic"], &["--ecn", "on", "reno"]] {
            assign(&rule(&front, words));
            for address in [SERVER_V4, SERVER_V6] {
                let mut asking = pair(&front, &network, &listener, address);
                let algorithm = words.get(2).map_or(algorithm_of(&asking.server).unwrap(), |name| (*name).to_owned());
                assert_eq!(asking.algorithms()[0], algorithm, "{words:?}");
                let (told, both) = (why(&asking.client), [has_ecn(&asking.client), has_ecn(&asking.server)]);
                assert_eq!((both, &told["ecn_mode"]), ([true; 2], &json!("rfc3168")), "{words:?} {address}: {told}");
                assert_eq!(
                    (&met(&told, "ecn")["given_value"], &told["findings"][0]),
                    (&json!(1), &json!("as_the_rule_says"))
                );
                let marked = marked_packets(&network.server);
                exchange(&mut asking);
                assert_eq!(marked_packets(&network.server) - marked, u64::from(address == SERVER_V4));
            }
        }
        let plain = pair(&other, &network, &listener, SERVER_V4);
        assert_eq!([has_ecn(&plain.client), has_ecn(&plain.server)], [false; 2]);

        // a peer that does not agree: nothing is marked
        network.server.set_sysctl("net/ipv4/tcp_ecn", "0").unwrap();
        let mut refused = pair(&front, &network, &listener, SERVER_V4);
        let marked = marked_packets(&network.server);
        exchange(&mut refused);
        assert_eq!((marked_packets(&network.server) - marked, has_ecn(&refused.client)), (0, false));
        assert_eq!(findings(&refused.client), ["as_the_rule_says", "ecn_not_agreed"]);
        assert!(succeeds(&["why", "--cookie", &policy::cookie(&refused.client)]).contains("the peer did not agree"));
        drop((refused, plain, listener));
        succeeds(&["unassign", "--all"]);
    });
}

/// `TCPI_OPT_ECN`
fn has_ecn(stream: &TcpStream) -> bool {
    tcp_info(stream).unwrap().tcpi_options & 8 != 0
}

/// `InECT0Pkts` of IPv4: packets that arrived with the mark.
fn marked_packets(namespace: &Namespace) -> u64 {
    counter(namespace, "netstat", "IpExt:", "InECT0Pkts")
}

/// A receiver that has no data of its own delays the ACK of a single segment by 40 ms (`TCP_DELACK_MIN`) or less.
#[test]
fn acks_are_delayed_no_longer_than_the_rule_says() {
    support::test("delayed ACKs", 60, || {
        let network = Network::new().unwrap();
        let back = Cgroup::new("back").unwrap();
        let front = Cgroup::new("front").unwrap();
        let listener = listen(&back, &network.server, SERVER_V4);
        let without = delayed_ms(pair(&front, &network, &listener, SERVER_V4));
        assign(&rule(&back, &["--max-delayed-ack", "20ms"]));
        let with = delayed_ms(pair(&front, &network, &listener, SERVER_V4));
        println!("delayed by {without} ms without the rule, {with} ms with it");
        assert!(without >= 36.0, "{without} ms without a rule");
        assert!((10.0..=32.0).contains(&with), "{with} ms with 20 ms");
        drop(listener);
        succeeds(&["unassign", "--all"]);
    });
}

/// The median of single segments, each sent when the one before was acknowledged.
fn delayed_ms(mut pair: Pair) -> f64 {
    pair.client.set_nodelay(true).unwrap();
    measure(&mut pair); // out of the beginning, in which each segment is acknowledged at once
    let mut seen: Vec<f64> = (0..9).map(|_| delay_of_one_ms(&mut pair)).collect();
    seen.sort_by(f64::total_cmp);
    seen[seen.len() / 2]
}

fn delay_of_one_ms(pair: &mut Pair) -> f64 {
    let start = Instant::now();
    pair.client.write_all(b"x").unwrap();
    while tcp_info(&pair.client).unwrap().tcpi_unacked > 0 {
        assert!(start.elapsed() < LIMIT, "no ACK");
        std::thread::sleep(Duration::from_micros(200));
    }
    let delayed = start.elapsed();
    pair.server.read_exact(&mut [0]).unwrap();
    delayed.as_secs_f64() * 1e3
}

#[test]
fn live_connections_are_given_and_lose_what_can_be_set_live() {
    support::test("settings of live connections", 60, || {
        let network = Network::new().unwrap();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, "::");
        let mut live = pair(&front, &network, &listener, SERVER_V6);
        set_notsent_lowat(&live.client, 4096).unwrap();
        let words = [&["assign", "cubic", "--existing"], &rule(&front, &ALL)[..]].concat();
        let text = succeeds(&words);
        assert!(text.contains("live: 1 socket") && text.contains("settings of 1 changed"), "{text}");
        assert!(text.contains("initial_window: only for new connections"), "{text}");
        assert_eq!(
            (settings_of(&live.client), live.algorithms()[0].as_str()),
            ((CAP_BYTES_PER_S, LOWAT_BYTES), "cubic")
        );
        measure(&mut live);
        assert!(has_min_rto(&live.client, 40_000) && has_min_rto(&live.server, RTO_MIN_US));
        assert_eq!(findings(&live.client), ["as_the_rule_says"]);
        let told = why(&live.client);
        assert_eq!(met(&told, "notsent_lowat")["before_value"], 4096);
        assert!(told["met"]["met_settings"].as_array().unwrap().iter().all(|met| met["setting"] != "initial_window"));

        // another rule in its place: what it does not set goes back, and what it sets is remembered from before the first
        let words = rule(&front, &["--notsent-lowat", "16k"]);
        let answer = json(&[&["assign", "--existing", "--json"], &words[..]].concat());
        assert_eq!((&answer["targets_before"], &answer["changed"]), (&json!("cubic"), &json!(true)), "{answer}");
        assert_eq!(
            (&answer["existing"]["settings_changed"], answer["settings_before"].as_array().unwrap().len()),
            (&json!(1), 5)
        );
        assert_eq!(settings_of(&live.client), (NO_LIMIT, 16_384));
        assert_ne!(live.algorithms()[0], "cubic", "the rule leaves the algorithm alone");
        assert_eq!(met(&why(&live.client), "notsent_lowat")["before_value"], 4096);
        // the kernel has its own shortest timeout again: that is what the next rule finds
        assign(&rule(&front, &["--notsent-lowat", "16k", "--min-rto", "60ms", "--existing"]));
        assert_eq!(met(&why(&live.client), "min_rto")["before_value"], RTO_MIN_US);

        let answer = json(&["unassign", "--cgroup", front.path(), "--existing", "--json"]);
        assert_eq!(
            (&answer["existing"]["settings_changed"], &answer["existing"]["failed"]),
            (&json!(1), &json!([])),
            "{answer}"
        );
        assert_eq!(settings_of(&live.client), (NO_LIMIT, 4096));
        assert_eq!(findings(&live.client), ["no_rule"]);
        drop((live, listener));
    });
}

#[test]
fn what_was_changed_since_is_told_and_stays() {
    support::test("settings changed since", 60, || {
        let network = Network::new().unwrap();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, "::");
        assign(&rule(&front, &["--notsent-lowat", "64k", "--max-pacing-rate", "80mbit"]));
        let live = pair(&front, &network, &listener, SERVER_V4);
        set_notsent_lowat(&live.client, 8192).unwrap();
        assert_eq!(findings(&live.client), ["setting_changed_since"]);
        let told = why(&live.client);
        let lowat = met(&told, "notsent_lowat");
        assert_eq!(
            (&lowat["given_value"], &lowat["now_value"], &lowat["is_changed_since"]),
            (&json!(65_536), &json!(8192), &json!(true))
        );
        let text = succeeds(&["why", "--cookie", &policy::cookie(&live.client)]);
        assert!(text.contains("notsent_lowat 8k, changed since (given 64k, before that of net.ipv4"), "{text}");
        assert!(text.contains("max_pacing_rate 80mbit (before no limit)"), "{text}");
        // the rule changes, and the connection has what it was given
        assign(&rule(&front, &["--notsent-lowat", "64k", "--max-pacing-rate", "40mbit"]));
        assert_eq!(findings(&live.client), ["settings_gone", "setting_changed_since"]);
        succeeds(&["unassign", "--all", "--existing"]);
        assert_eq!(settings_of(&live.client), (NO_LIMIT, 8192), "the application's own choice stays");
        drop((live, listener));
    });
}

/// A socket that connects again after its rule has gone.
#[test]
fn a_socket_that_is_used_again_has_what_rules_say_now() {
    support::test("settings of a socket used again", 60, || {
        let network = Network::new().unwrap();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, SERVER_V4);
        assign(&["--cgroup", back.path(), "--port", "1", "reno"]); // for others, so that the program stays
        assign(&rule(&front, &["--max-pacing-rate", "80mbit", "reno"]));
        let to = format!("{SERVER_V4}:{}", listener.local_addr().unwrap().port());
        let open = || network.client.enter(|| Unconnected::new(&to, None).unwrap().connect(LIMIT).unwrap()).unwrap();
        let socket = front.enter(open).unwrap();
        assert_eq!(max_pacing_rate_of(&socket).unwrap(), CAP_BYTES_PER_S);
        succeeds(&["unassign", "--cgroup", front.path()]);
        connect_again(&socket, &to, LIMIT).unwrap();
        assert_eq!((max_pacing_rate_of(&socket).unwrap(), algorithm_of(&socket).unwrap() == "reno"), (NO_LIMIT, false));
        drop((socket, listener));
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn bad_settings_change_nothing_and_say_what_would_do() {
    support::test("bad settings", 60, || {
        let front = Cgroup::new("front").unwrap();
        assign(&rule(&front, &["reno", "--min-rto", "60ms"]));
        let before = rules();
        for (words, parts) in [
            (&[][..], &["the rule would set nothing", "--min-rto 50ms"][..]),
            (&["--initial-window", "0"], &["initial_window=0", "1 to 1000"]),
            (&["--initial-window", "ten", "reno"], &["initial_window=ten", "a whole number"]),
            (&["--min-rto", "50"], &["min_rto=50", "its unit", "50ms"]),
            (&["--min-rto", "1s"], &["min_rto=1s", "to 200ms"]),
            (&["--max-delayed-ack", "1us"], &["max_delayed_ack=1us", "to 200ms"]),
            (&["--max-pacing-rate", "1000"], &["max_pacing_rate=1000", "1000mbit"]),
            (&["--max-pacing-rate", "1tbit"], &["max_pacing_rate=1tbit", "8kbit to 34gbit"]),
            (&["--notsent-lowat=-1k"], &["notsent_lowat=-1k", "a size"]),
            (&["--notsent-lowat", "128kbit"], &["notsent_lowat=128kbit", "a size"]),
            (&["--ecn", "off"], &["ecn=off", "cannot forbid", "net.ipv4.tcp_ecn"]),
            (&["--min-rto"], &["--min-rto"]),
        ] {
            refuses(&[&["assign"], &rule(&front, words)[..]].concat(), code::USAGE, parts);
        }
        assert_eq!(rules(), before);
        let listed = &before[0]["settings"];
        assert_eq!(
            *listed,
            json!([{ "setting": "min_rto", "setting_value": 60_000, "unit": "us", "value_text": "60ms" }])
        );
        assert!(succeeds(&["rules"]).contains("reno, min_rto=60ms"));
        let dry = succeeds(&[&["assign", "--dry-run"], &rule(&front, &["--initial-window", "30"])[..]].concat());
        assert!(dry.contains("would get initial_window=30 (was reno, min_rto=60ms)"), "{dry}");
        assert_eq!(rules(), before);
        succeeds(&["unassign", "--all"]);
    });
}

/// Nobody but the kernel can fill what remembers settings: the option memory of a socket plays no part.
#[test]
fn connections_beyond_the_first_are_remembered_each_by_itself() {
    const CONNECTIONS: usize = 100; // a listener's queue holds 128
    support::test("settings of many", 120, || {
        let network = Network::new().unwrap();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, SERVER_V4);
        let to = format!("{SERVER_V4}:{}", listener.local_addr().unwrap().port());
        assign(&rule(&front, &["--notsent-lowat", "64k"]));
        for _ in 0..3 {
            let open = || connect(&to, None, LIMIT).unwrap();
            let open = || network.client.enter(|| (0..CONNECTIONS).map(|_| open()).collect::<Vec<_>>()).unwrap();
            let sockets: Vec<TcpStream> = front.enter(open).unwrap();
            let accepted: Vec<TcpStream> = (0..CONNECTIONS).map(|_| listener.accept().unwrap().0).collect();
            assert!(sockets.iter().all(|socket| notsent_lowat_of(socket).unwrap() == LOWAT_BYTES));
            assert!(accepted.iter().all(|socket| notsent_lowat_of(socket).unwrap() == 0));
            let words = rule(&front, &["--min-rto", "60ms"]);
            let answer = json(&[&["assign", "--existing", "--json"], &words[..]].concat());
            assert_eq!(answer["existing"]["settings_changed"], CONNECTIONS, "{answer}");
            assert!(sockets.iter().all(|socket| notsent_lowat_of(socket).unwrap() == 0));
            assign(&rule(&front, &["--notsent-lowat", "64k"]));
        }
        drop(listener);
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn a_file_sets_them_and_only_differences_are_steps() {
    support::test("settings of a file", 60, || {
        claim(RULES);
        let folder = Folder::new("settings");
        let front = Cgroup::new("front").unwrap();
        let file = |rest: &str| folder.file("ccctl.toml", format!("[[rule]]\ncgroup = \"{}\"\n{rest}", front.path()));
        let steps = |file: &str| -> Vec<String> {
            let text = |step: &Value| format!("{} {}", step["do"].as_str().unwrap(), step["detail"].as_str().unwrap());
            json(&["apply", file, "--json"])["steps"].as_array().unwrap().iter().map(text).collect()
        };
        let first = file("min_rto = \"50ms\"\nmax_pacing_rate = \"1gbit\"\n");
        assert_eq!(steps(&first), ["assign min_rto=50ms max_pacing_rate=1gbit"]);
        assert_eq!(steps(&first), [""; 0]);
        let second = file("use = \"reno\"\nmin_rto = \"60ms\"\n");
        let detail = "assign reno, min_rto=60ms instead of min_rto=50ms max_pacing_rate=1gbit";
        assert_eq!(steps(&second), [detail]);
        assert_eq!(rules()[0]["settings"][0]["value_text"], "60ms");
        // by hand: the file's rule is put back
        assign(&rule(&front, &["reno", "--min-rto", "80ms"]));
        assert_eq!(steps(&second), ["assign reno, min_rto=60ms instead of reno, min_rto=80ms"]);
        assert_eq!(steps(&folder.file("ccctl.toml", "")), ["unassign no longer in the configuration"]);
    });
}
