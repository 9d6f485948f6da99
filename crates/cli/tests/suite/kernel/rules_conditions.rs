// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that select by what a socket has: its mark, its priority, its RTT. Real connections, whose sockets are asked; which
//! rule is expected is worked out by hand from the documented order.

use crate::support;
use crate::support::policy;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::Duration;

use ccctl_path::{Path, PathSpec, SenderSpec, Waiting, RECEIVER_V4, RECEIVER_V6};
use ccctl_sim::{BitRate, Limit};
use ccctl_testbed::{
    algorithm_of, claim, connect, listen_with_mark, max_pacing_rate_of, notsent_lowat_of, set_mark, set_priority,
    tcp_info, Cgroup, Network, RULES, SERVER_V4, SERVER_V6,
};
use policy::{assign, findings, listen, marked_client, pair, rules, why, Pair};
use serde_json::{json, Value};
use support::{code, json, refuses, succeeds, Folder};

/// Of both namespaces; no rule gives it.
const DEFAULT: &str = "bbr";

const LIMIT: Duration = Duration::from_secs(10);
/// Number of each sender of [`path`].
const NEAR: usize = 0;
const FAR: usize = 1;
/// Between the RTTs of the two.
const LIMIT_US: u32 = 20_000;

fn network() -> Network {
    let network = Network::new().unwrap();
    for end in [&network.client, &network.server] {
        end.set_sysctl("net/ipv4/tcp_congestion_control", DEFAULT).unwrap();
    }
    network
}

fn marked(cgroup: &Cgroup, network: &Network, listener: &TcpListener, address: &str, marks: (u32, u32)) -> Pair {
    let client = marked_client(cgroup, network, listener, address, marks);
    Pair { client, server: listener.accept().unwrap().0 }
}

#[track_caller]
fn verdicts(why: &Value) -> Vec<(u64, String)> {
    let verdict = |rule: &Value| (rule["id"].as_u64().unwrap(), rule["verdict"].as_str().unwrap().to_owned());
    why["considered"].as_array().unwrap().iter().map(verdict).collect()
}

#[test]
fn marks_and_priorities_select_connections_that_are_made() {
    support::test("marks", 120, || {
        let network = network();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, "::");
        let rule = |words: &[&str]| assign(&[&["--cgroup", front.path()], words].concat());
        let whole = rule(&["--mark", "0x10", "reno"]);
        let bits = rule(&["--mark", "0x10/0xf0", "cubic"]);
        let six = rule(&["--priority", "6", "reno"]);
        let both = rule(&["--mark", "16", "--priority", "6", "cubic"]);
        let marks_of_none = [((0, 0), None), ((0x20, 5), None)];
        let selected = [
            ((0x10, 0), Some((whole, "reno"))),
            ((0x1f, 0), Some((bits, "cubic"))),
            ((0, 6), Some((six, "reno"))),
            ((0x20, 6), Some((six, "reno"))),
            ((0x10, 6), Some((both, "cubic"))),
            ((0x1f, 6), Some((bits, "cubic"))), // one condition each: the one that looks at bits of the mark
        ];
        let check = |marks: (u32, u32), expected: Option<(u64, &str)>| {
            for address in [SERVER_V4, SERVER_V6] {
                let connection = marked(&front, &network, &listener, address, marks);
                let told = why(&connection.client);
                let gives = expected.map_or(DEFAULT, |(_, name)| name);
                assert_eq!(connection.algorithms(), [gives, DEFAULT], "{marks:x?} {address}: {told}");
                let met = (told["met"]["rule_id"].as_u64(), told["rule_id"].as_u64());
                let id = expected.map(|(id, _)| id);
                assert_eq!(met, (id, id), "{marks:x?} {address}: {told}");
                let finding = if expected.is_some() { "as_the_rule_says" } else { "no_rule" };
                assert_eq!(told["findings"], json!([finding]), "{marks:x?} {address}");
            }
        };
        for (marks, expected) in marks_of_none.into_iter().chain(selected) {
            check(marks, expected);
        }
        // one without conditions takes what the others leave, and is the last of them
        let rest = rule(&["reno"]);
        for (marks, _) in marks_of_none {
            check(marks, Some((rest, "reno")));
        }
        for (marks, expected) in selected {
            check(marks, expected);
        }
        let told = why(&marked(&front, &network, &listener, SERVER_V4, (0x10, 0)).client);
        let expected = [
            (whole, "won"),
            (bits, "weaker_conditions"),
            (rest, "weaker_conditions"),
            (six, "other_priority"),
            (both, "other_priority"),
        ];
        assert_eq!(verdicts(&told), expected.map(|(id, verdict)| (id, verdict.to_owned())), "{told}");
        drop(listener);
        succeeds(&["unassign", "--all"]);
    });
}

/// A port or a cgroup whose conditions a socket does not meet leaves it to the rules that are wider.
#[test]
fn what_conditions_leave_out_is_looked_up_further_out() {
    support::test("conditions and wider rules", 60, || {
        let network = network();
        let outer = Cgroup::new("outer").unwrap();
        let (inner, back) = (outer.child("inner").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, "::");
        let port = listener.local_addr().unwrap().port().to_string();
        let of_inner = |words: &[&str]| assign(&[&["--cgroup", inner.path(), "--dst", "10.77.0.2/32"], words].concat());
        let at_port = of_inner(&["--port", &port, "--mark", "1", "reno"]);
        let any_port = of_inner(&["--mark", "2", "reno"]);
        let wide = assign(&["--cgroup", inner.path(), "--mark", "3", "reno"]);
        let outside = assign(&["--cgroup", outer.path(), "--priority", "2", "reno"]);
        for (marks, address, expected) in [
            ((1, 0), SERVER_V4, Some(at_port)),
            ((2, 0), SERVER_V4, Some(any_port)),
            ((3, 0), SERVER_V4, Some(wide)),
            ((3, 0), SERVER_V6, Some(wide)),
            ((1, 2), SERVER_V6, Some(outside)),
            ((4, 2), SERVER_V4, Some(outside)),
            ((4, 0), SERVER_V4, None),
            ((1, 0), SERVER_V6, None),
        ] {
            let told = why(&marked(&inner, &network, &listener, address, marks).client);
            assert_eq!(told["met"]["rule_id"].as_u64(), expected, "{marks:?} {address}: {told}");
        }
        drop(listener);
        succeeds(&["unassign", "--all"]);
    });
}

/// An accepted socket has the mark of its listener; the kernel sets its priority to 0 (`sk_clone()`).
#[test]
fn accepted_connections_have_the_mark_of_their_listener() {
    support::test("marks of listeners", 60, || {
        let network = network();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let marked_rule = assign(&["--cgroup", back.path(), "--mark", "0x10", "reno"]);
        let six = assign(&["--cgroup", back.path(), "--priority", "6", "cubic"]);
        let bind = || listen_with_mark(SERVER_V4, 0x10).unwrap();
        let listener = back.enter(|| network.server.enter(bind).unwrap()).unwrap();
        let told = why(&listener);
        let met = (told["met"]["rule_id"].as_u64(), &told["met"]["event"], &told["now"]["congestion_control"]);
        assert_eq!(met, (Some(marked_rule), &json!("listen"), &json!("reno")), "{told}");
        // the mark of the other end counts for the other end
        let connection = marked(&front, &network, &listener, SERVER_V4, (0x20, 6));
        assert_eq!(connection.algorithms(), [DEFAULT, "reno"]);
        assert_eq!(why(&connection.server)["met"]["rule_id"].as_u64(), Some(marked_rule));

        set_priority(&listener, 6).unwrap();
        set_mark(&listener, 0).unwrap();
        let connection = pair(&front, &network, &listener, SERVER_V4);
        let told = why(&connection.server);
        assert_eq!(told["rule_id"], Value::Null, "{told}");
        // the listener follows what it has now when rules change, and what it accepts does not inherit that
        succeeds(&["assign", "--cgroup", back.path(), "--priority", "6", "cubic", "--existing"]);
        assert_eq!(why(&listener)["met"]["rule_id"].as_u64(), Some(six));
        let connection = pair(&front, &network, &listener, SERVER_V4);
        assert_eq!(connection.algorithms(), [DEFAULT, DEFAULT]);
        drop((connection, listener));
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn live_connections_are_moved_by_the_marks_that_they_have_then() {
    support::test("marks of live connections", 60, || {
        let network = network();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, SERVER_V4);
        let one = pair(&front, &network, &listener, SERVER_V4);
        let other = pair(&front, &network, &listener, SERVER_V4);
        set_mark(&one.client, 7).unwrap();
        let words = ["assign", "--cgroup", front.path(), "--mark", "7", "reno", "--existing", "--json"];
        let answer = json(&words);
        assert_eq!((&answer["existing"]["found"], &answer["existing"]["moved"]), (&json!(1), &json!(1)), "{answer}");
        assert_eq!([algorithm_of(&one.client).unwrap(), algorithm_of(&other.client).unwrap()], ["reno", DEFAULT]);
        assert_eq!(findings(&one.client), ["as_the_rule_says"]);
        set_mark(&one.client, 8).unwrap();
        assert_eq!(findings(&one.client), ["other_rule_now"]);
        let answer = json(&["unassign", "--cgroup", front.path(), "--mark", "0x7", "--existing", "--json"]);
        assert_eq!(answer["existing"]["moved"], 1, "{answer}");
        assert_eq!(algorithm_of(&one.client).unwrap(), DEFAULT);
        drop((one, other, listener));
    });
}

#[test]
fn conditions_make_another_rule_and_are_listed() {
    support::test("conditions listed", 60, || {
        claim(RULES);
        let front = Cgroup::new("front").unwrap();
        let rule = |words: &[&str]| assign(&[&["--cgroup", front.path()], words].concat());
        let ids = [
            rule(&["reno"]),
            rule(&["--mark", "0x10", "reno"]),
            rule(&["--mark", "0x10/0xf0", "--port", "443", "cubic"]),
            rule(&["--mark", "16", "--priority", "0", "cubic"]),
        ];
        assert_eq!(rule(&["--mark", "16", "cubic"]), ids[1], "the same mark is the same rule");
        let listed = rules();
        let keys = |rule: &Value| (rule["mark"].clone(), rule["priority"].clone());
        assert_eq!(
            listed.iter().map(keys).collect::<Vec<_>>(),
            [
                (Value::Null, Value::Null),
                (json!("0x10"), Value::Null),
                (json!("0x10/0xf0"), Value::Null),
                (json!("0x10"), json!(0))
            ]
        );
        let text = succeeds(&["rules"]);
        assert!(text.contains("CONDITIONS") && text.contains("mark 0x10 priority 0"), "{text}");
        let text = succeeds(&["unassign", "--cgroup", front.path(), "--port", "443", "--mark", "0x10/0xf0"]);
        assert!(text.contains(" port 443 mark 0x10/0xf0 got cubic"), "{text}");
        refuses(&["unassign", "--cgroup", front.path(), "--mark", "1"], code::USAGE, &["mark 0x1", "there is rule"]);
        refuses(&["unassign", "--id", "1", "--mark", "1"], code::USAGE, &["--mark"]);
        let before = rules();
        for (words, parts) in [
            (&["--mark", "red"][..], &["mark=red", "VALUE/MASK"][..]),
            (&["--mark", ""], &["mark=", "VALUE/MASK"]),
            (&["--mark=-1"], &["mark=-1", "VALUE/MASK"]),
            (&["--mark", "0x100000000"], &["mark=0x100000000", "32 bits"]),
            (&["--mark", "0x10/0"], &["mark=0x10/0", "every mark"]),
            (&["--mark", "0x11/0xf0"], &["mark=0x11/0xf0", "mark=0x10/0xf0"]),
            (&["--priority=-1"], &["-1"]),
            (&["--priority", "4294967296"], &["4294967296"]),
            (&["--priority", "high"], &["high"]),
            (&["--rtt", "100ms"], &["rtt=100ms", "expected > or <", "rtt='>100ms'"]),
            (&["--rtt", ">"], &["rtt=>", "a time"]),
            (&["--rtt", ">100"], &["rtt=>100", "its unit", "rtt=>100us or rtt=>100ms"]),
            (&["--rtt", "<0ms"], &["rtt=<0ms", "1us to 60s"]),
            (&["--rtt", ">1h"], &["rtt=>1h", "1us to 60s"]),
            (&["--rtt", ">=5ms"], &["rtt=>=5ms", "a time"]),
            (&["--rtt", ">5ms", "--ecn", "on"], &["cannot ask for ECN", "leave out ecn"]),
        ] {
            refuses(&[&["assign", "--cgroup", front.path()], words, &["reno"]].concat(), code::USAGE, parts);
        }
        assert_eq!(rules(), before);
        succeeds(&["unassign", "--all"]);
    });
}

/// A receiver 2 ms from one sender and 40 ms from the other.
fn path() -> Path {
    let [near, far] = [2, 40].map(Duration::from_millis);
    let mut spec = PathSpec::new(BitRate::mbit_per_s(100), near, Limit::Packets(200));
    spec.senders = [near, far].map(SenderSpec::with_rtt).to_vec();
    spec.waiting = Waiting::Sleep;
    let path = Path::start(&spec).unwrap();
    for end in path.endpoints().all() {
        end.set_sysctl("net/ipv4/tcp_congestion_control", DEFAULT).unwrap();
    }
    path
}

/// A connection from a sender, over which nothing was sent: what its ends have measured is the handshake.
fn open(path: &Path, cgroup: &Cgroup, sender: usize, listener: &TcpListener, address: IpAddr) -> Pair {
    let to = (address, listener.local_addr().unwrap().port());
    let to = std::net::SocketAddr::from(to).to_string();
    let open = || path.endpoints().sender(sender).enter(|| connect(&to, None, LIMIT).unwrap()).unwrap();
    let client = cgroup.enter(open).unwrap();
    Pair { client, server: listener.accept().unwrap().0 }
}

/// Has it measured more than the limit? A machine under load may make the near path a far one.
fn is_far(stream: &TcpStream) -> bool {
    tcp_info(stream).unwrap().tcpi_rtt > LIMIT_US
}

/// Which rule it met, and when; None: no rule.
fn met(stream: &TcpStream) -> Option<(u64, String)> {
    let told = why(stream);
    let met = Some(&told["met"]).filter(|met| !met.is_null())?;
    Some((met["rule_id"].as_u64().unwrap(), met["event"].as_str().unwrap().to_owned()))
}

#[test]
fn rtts_select_connections_when_their_handshake_is_done() {
    support::test("RTTs", 120, || {
        let path = path();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let bind = || TcpListener::bind(("::", 0)).unwrap();
        let listener = back.enter(|| path.endpoints().receiver().enter(bind).unwrap()).unwrap();
        let all = assign(&["--cgroup", front.path(), "cubic"]);
        let far = assign(&["--cgroup", front.path(), "--rtt", ">20ms", "reno"]);
        let near = assign(&["--cgroup", back.path(), "--rtt", "<20ms", "reno", "--existing"]);
        assert_eq!(findings(&listener), ["no_rule"], "a listener has no RTT");
        let mut near_ones = 0;
        for (sender, address) in [
            (NEAR, RECEIVER_V4.into()),
            (FAR, RECEIVER_V4.into()),
            (NEAR, RECEIVER_V6.into()),
            (FAR, RECEIVER_V6.into()),
            (NEAR, RECEIVER_V4.into()),
        ] {
            let connection = open(&path, &front, sender, &listener, address);
            let made_far = is_far(&connection.client);
            let accepted_far = is_far(&connection.server);
            assert!(sender == NEAR || (made_far && accepted_far), "an RTT cannot be less than the path's");
            near_ones += u32::from(!made_far && !accepted_far);
            let expected = if made_far { (far, "establish".to_owned()) } else { (all, "connect".to_owned()) };
            assert_eq!(met(&connection.client), Some(expected), "{address}: {}", why(&connection.client));
            let expected = (!accepted_far).then(|| (near, "accept".to_owned()));
            assert_eq!(met(&connection.server), expected, "{address}: {}", why(&connection.server));
            let made = if made_far { "reno" } else { "cubic" };
            let accepted = if accepted_far { DEFAULT } else { "reno" };
            assert_eq!(connection.algorithms(), [made, accepted], "{address}");
            let told = why(&connection.client);
            assert_eq!(told["findings"], json!(["as_the_rule_says"]), "{told}");
            assert_eq!(told["met"]["congestion_control_before"], DEFAULT, "not what the first rule gave: {told}");
            let other = if made_far { (all, "weaker_conditions") } else { (far, "other_rtt") };
            assert!(verdicts(&told).contains(&(other.0, other.1.to_owned())), "{told}");
        }
        assert!(near_ones > 0, "no RTT of the near sender was below 20 ms");
        drop(listener);
        succeeds(&["unassign", "--all"]);
    });
}

/// The rule that is for the RTT takes the place of the one before it as a whole.
#[test]
fn a_rule_for_an_rtt_takes_back_what_the_one_before_it_set() {
    support::test("settings by RTT", 60, || {
        let path = path();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let bind = || TcpListener::bind((RECEIVER_V4, 0)).unwrap();
        let listener = back.enter(|| path.endpoints().receiver().enter(bind).unwrap()).unwrap();
        assign(&["--cgroup", front.path(), "--notsent-lowat", "64k", "--initial-window", "20", "reno"]);
        let far_words = ["--rtt", ">20ms", "--max-pacing-rate", "80mbit", "--initial-window", "30"];
        let far = assign(&[&["--cgroup", front.path()], &far_words[..]].concat());
        let connection = open(&path, &front, FAR, &listener, RECEIVER_V4.into());
        let client = &connection.client;
        assert_eq!(met(client), Some((far, "establish".to_owned())));
        let given = (notsent_lowat_of(client).unwrap(), max_pacing_rate_of(client).unwrap());
        assert_eq!(given, (0, 10_000_000), "80 Mbit/s");
        assert_eq!(tcp_info(client).unwrap().tcpi_snd_cwnd, 30);
        assert_eq!(connection.algorithms()[0], DEFAULT, "it leaves the algorithm alone");
        assert_eq!(findings(client), ["as_the_rule_says"]);
        let near = open(&path, &front, NEAR, &listener, RECEIVER_V4.into());
        if !is_far(&near.client) {
            let lowat = notsent_lowat_of(&near.client).unwrap();
            let window = tcp_info(&near.client).unwrap().tcpi_snd_cwnd;
            assert_eq!((lowat, window, algorithm_of(&near.client).unwrap().as_str()), (65_536, 20, "reno"));
        }
        succeeds(&["unassign", "--all", "--existing"]);
        assert_eq!(max_pacing_rate_of(client).unwrap(), u32::MAX, "no limit");
        drop((connection, near, listener));
    });
}

#[test]
fn live_connections_are_moved_by_the_rtt_that_they_have_then() {
    support::test("RTTs of live connections", 60, || {
        let path = path();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let bind = || TcpListener::bind((RECEIVER_V4, 0)).unwrap();
        let listener = back.enter(|| path.endpoints().receiver().enter(bind).unwrap()).unwrap();
        let open = |sender| open(&path, &front, sender, &listener, RECEIVER_V4.into());
        let ends = [open(NEAR), open(FAR)];
        let far = [is_far(&ends[0].client), is_far(&ends[1].client)];
        let words = ["assign", "--cgroup", front.path(), "--rtt", ">20ms", "reno", "--existing", "--json"];
        let answer = json(&words);
        assert_eq!(answer["existing"]["moved"], far.iter().filter(|far| **far).count(), "{answer}");
        assert_eq!(answer["rule"]["rtt"], ">20ms");
        let expected = far.map(|far| if far { "reno" } else { DEFAULT });
        assert_eq!([0, 1].map(|end| ends[end].algorithms()[0].clone()), expected);
        assert_eq!(met(&ends[1].client).map(|(_, event)| event).as_deref(), Some("existing"));
        succeeds(&["unassign", "--cgroup", front.path(), "--rtt", "> 0.02s", "--existing"]);
        assert_eq!([0, 1].map(|end| ends[end].algorithms()[0].clone()), [DEFAULT; 2]);
        drop((ends, listener));
    });
}

#[test]
fn a_file_keeps_rules_apart_by_their_conditions() {
    support::test("conditions of a file", 60, || {
        claim(RULES);
        let folder = Folder::new("conditions");
        let front = Cgroup::new("front").unwrap();
        let rule = |rest: &str| format!("[[rule]]\ncgroup = \"{}\"\n{rest}\n", front.path());
        let file = |rules: &[&str]| folder.file("ccctl.toml", rules.iter().map(|rest| rule(rest)).collect::<String>());
        let steps = |file: &str| -> Vec<String> {
            let text = |step: &Value| ["do", "name", "detail"].map(|key| step[key].as_str().unwrap()).join(" ");
            json(&["apply", file, "--json"])["steps"].as_array().unwrap().iter().map(text).collect()
        };
        let by_hand = assign(&["--cgroup", front.path(), "--mark", "9", "cubic"]);
        let two = file(&["use = \"reno\"", "use = \"cubic\"\nmark = 0x10\npriority = 6\nrtt = \"< 0.1s\""]);
        let place = format!("cgroup {}", front.path());
        let with = format!("{place} mark 0x10 priority 6 rtt <100ms");
        assert_eq!(steps(&two), [format!("assign {place} reno"), format!("assign {with} cubic")]);
        assert_eq!(steps(&two), [""; 0]);
        let other = file(&["use = \"reno\"", "use = \"cubic\"\nmark = \"0x10/0xf0\"\npriority = 6"]);
        let masked = format!("{place} mark 0x10/0xf0 priority 6");
        assert_eq!(
            steps(&other),
            [format!("assign {masked} cubic"), format!("unassign {with} no longer in the configuration")]
        );
        assert!(rules().iter().any(|rule| rule["id"] == by_hand), "it is nobody's but the hand's");
        succeeds(&["unassign", "--all"]);
    });
}
