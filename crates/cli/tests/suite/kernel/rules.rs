// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules on new connections: connect and accept, both protocols, precedence, fallback, and how a cgroup is named. Every
//! socket is asked itself.

use crate::support;
use crate::support::policy;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{sockets, Background, Cgroup, Network, CLIENT_V4, CLIENT_V6, SERVER_V4, SERVER_V6};
use policy::{assign, findings, listen, pair, rules, why};
use support::process::Process;
use support::{code, json, refuses, succeeds, Folder};

const MAPPED_V4: &str = "::ffff:10.77.0.2";
const DEFAULT: &str = "bbr";

/// A network in which both ends default to something that no rule here gives.
fn network() -> Network {
    let network = Network::new().unwrap();
    for end in [&network.client, &network.server] {
        end.set_sysctl("net/ipv4/tcp_congestion_control", DEFAULT).unwrap();
    }
    network
}

#[test]
fn connect_and_accept_over_both_protocols() {
    support::test("connect and accept", 60, || {
        let network = network();
        let (front, back, other) =
            (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap(), Cgroup::new("other").unwrap());
        assign(&["--cgroup", front.path(), "reno"]);
        assign(&["--cgroup", back.path(), "cubic"]);
        let listener = listen(&back, &network.server, "::");
        let listening = sockets(&network.server, "listening").unwrap();
        assert_eq!(listening[0].algorithm.as_deref(), Some("cubic"), "the SYN-ACK is the listener's: {listening:?}");
        for address in [SERVER_V4, SERVER_V6, MAPPED_V4] {
            assert_eq!(pair(&front, &network, &listener, address).algorithms(), ["reno", "cubic"], "{address}");
            assert_eq!(pair(&other, &network, &listener, address).algorithms(), [DEFAULT, "cubic"], "{address}");
        }
        let plain = listen(&other, &network.server, "0.0.0.0");
        assert_eq!(pair(&front, &network, &plain, SERVER_V4).algorithms(), ["reno", DEFAULT]);
        drop((listener, plain));
        succeeds(&["unassign", "--all"]);
    });
}

/// The peer's address in all cases; the port of the service, which the client has as the peer's and the server as its own.
#[test]
fn peers_and_ports_mean_the_same_at_both_ends() {
    support::test("peers and ports", 60, || {
        let network = network();
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let listener = listen(&back, &network.server, "::");
        let other = listen(&back, &network.server, "::");
        let port = listener.local_addr().unwrap().port().to_string();
        for end in [&front, &back] {
            assign(&["--cgroup", end.path(), "--port", &port, "reno"]);
        }
        for address in [SERVER_V4, SERVER_V6, MAPPED_V4] {
            assert_eq!(pair(&front, &network, &listener, address).algorithms(), ["reno", "reno"], "{address}");
            assert_eq!(pair(&front, &network, &other, address).algorithms(), [DEFAULT, DEFAULT], "{address}");
        }
        assign(&["--cgroup", front.path(), "--dst", "10.77.0.0/24", "cubic"]);
        assign(&["--cgroup", back.path(), "--dst", &format!("{CLIENT_V6}/128"), "cubic"]);
        // a longer prefix outranks a port
        assert_eq!(pair(&front, &network, &listener, SERVER_V4).algorithms(), ["cubic", "reno"]);
        assert_eq!(pair(&front, &network, &listener, MAPPED_V4).algorithms(), ["cubic", "reno"]);
        assert_eq!(pair(&front, &network, &listener, SERVER_V6).algorithms(), ["reno", "cubic"]);
        assign(&["--cgroup", back.path(), "--dst", CLIENT_V4, "cubic"]);
        // the server's socket is one of IPv6 and its peer's address a mapped one
        assert_eq!(pair(&front, &network, &listener, SERVER_V4).algorithms(), ["cubic", "cubic"]);
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn the_nearest_cgroup_wins_and_matches_fall_outward() {
    support::test("precedence", 60, || {
        let network = network();
        let outer = Cgroup::new("outer").unwrap();
        let middle = outer.child("middle").unwrap();
        let inner = middle.child("inner").unwrap();
        let listener = listen(&Cgroup::new("back").unwrap(), &network.server, "::");
        let port = listener.local_addr().unwrap().port().to_string();
        let client = |cgroup: &Cgroup| pair(cgroup, &network, &listener, SERVER_V4).algorithms()[0].clone();

        assign(&["--cgroup", outer.path(), "reno"]);
        assert_eq!([&outer, &middle, &inner].map(client), ["reno", "reno", "reno"]);
        assign(&["--cgroup", inner.path(), "--dst", "10.0.0.0/8", "--port", &port, "cubic"]);
        assert_eq!([&outer, &middle, &inner].map(client), ["reno", "reno", "cubic"]);
        // what does not match in the nearest cgroup is looked up in the next
        assign(&["--cgroup", inner.path(), "--dst", "10.0.0.0/8", "--port", "1", "bbr"]);
        json(&["unassign", "--cgroup", inner.path(), "--dst", "10.0.0.0/8", "--port", &port, "--json"]);
        assert_eq!([&outer, &middle, &inner].map(client), ["reno", "reno", "reno"]);
        assign(&["--cgroup", middle.path(), "--dst", "0.0.0.0/0", "cubic"]);
        assert_eq!([&outer, &middle, &inner].map(client), ["reno", "cubic", "cubic"]);
        // the whole host is the last resort
        let elsewhere = Cgroup::new("elsewhere").unwrap();
        assign(&["--cgroup", "/", "--dst", SERVER_V4, "--port", &port, "cubic"]);
        assert_eq!([&outer, &elsewhere].map(client), ["reno", "cubic"]);
        drop(inner);
        succeeds(&["unassign", "--all"]);
        assert_eq!([&outer, &middle, &elsewhere].map(client), [DEFAULT; 3]);
    });
}

#[test]
fn a_cgroup_made_again_still_matches() {
    support::test("cgroup made again", 60, || {
        let network = network();
        let slice = Cgroup::new("slice").unwrap();
        let listener = listen(&slice, &network.server, "::");
        let first = slice.child("web.service").unwrap();
        assign(&["--cgroup", first.path(), "reno"]);
        let old = pair(&first, &network, &listener, SERVER_V6);
        assert_eq!(old.algorithms(), ["reno", DEFAULT]);
        drop(first);
        assert_eq!(rules()[0]["cgroup_exists"], false);
        let again = slice.child("web.service").unwrap();
        assert_eq!(rules()[0]["cgroup_exists"], true);
        for _ in 0..3 {
            assert_eq!(pair(&again, &network, &listener, SERVER_V4).algorithms(), ["reno", DEFAULT]);
        }
        // a socket outlives its cgroup, and is still told of
        assert_eq!(
            (findings(&old.client), why(&old.client)["cgroup"].as_str()),
            (vec!["as_the_rule_says".to_owned()], Some(again.path()))
        );
        drop(again);
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn fallback_lists_and_names() {
    support::test("fallback", 60, || {
        let network = network();
        let front = Cgroup::new("front").unwrap();
        let listener = listen(&Cgroup::new("back").unwrap(), &network.server, "::");
        let client = || pair(&front, &network, &listener, SERVER_V4);
        let answer = json(&["assign", "--cgroup", front.path(), "cubic|yeah|reno", "--json"]);
        assert_eq!(answer["rule"]["targets"], "cubic|bpf_yeah|reno");
        assert_eq!(answer["absent"], serde_json::json!(["bpf_yeah"]));
        assert_eq!(client().algorithms()[0], "cubic");
        let answer = json(&["assign", "--cgroup", front.path(), "yeah|reno", "--json"]);
        assert_eq!((&answer["targets_before"], &answer["changed"]), (&"cubic|bpf_yeah|reno".into(), &true.into()));
        let without = client();
        assert_eq!(without.algorithms()[0], "reno");
        assert_eq!(findings(&without.client), ["fell_back"]);
        // which of them the kernel has is looked at when a connection begins, not when the rule is set
        succeeds(&["load", "yeah"]);
        assert_eq!(client().algorithms()[0], "bpf_yeah");
        json(&["assign", "--cgroup", front.path(), "yeah", "--json"]);
        succeeds(&["unload", "bpf_yeah", "--force"]);
        let nothing = client();
        assert_eq!(nothing.algorithms()[0], DEFAULT);
        assert_eq!(findings(&nothing.client), ["refused"]);
        let met = why(&nothing.client)["met"].clone();
        assert_eq!((&met["given"], &met["wanted"]), (&serde_json::Value::Null, &"bpf_yeah".into()), "{met}");
        assert!(met["cause"].as_str().unwrap().contains("no algorithm"), "{met}");
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn units_and_processes_name_cgroups() {
    support::test("units and processes", 60, || {
        let slice = Cgroup::new("slice").unwrap();
        let unit = slice.child("ccctl-test-web.service").unwrap();
        for words in
            [["--cgroup", "ccctl-test-web.service"], ["--unit", "ccctl-test-web.service"], ["--unit", "ccctl-test-web"]]
        {
            let answer = json(&[&["assign", "--json"], &words[..], &["reno"]].concat());
            assert_eq!((&answer["rule"]["cgroup"], &answer["rule"]["id"]), (&unit.path().into(), &1.into()));
        }
        let mut sleeping = Command::new("sleep");
        let process = unit.enter(|| Process::start(sleeping.arg("60"))).unwrap();
        let pid = process.id().to_string();
        let answer = json(&["assign", "--pid", &pid, "cubic", "--json"]);
        assert_eq!((&answer["rule"]["cgroup"], &answer["rule"]["id"]), (&unit.path().into(), &1.into()));
        let with_mount = unit.folder().to_str().unwrap().to_owned() + "//";
        let answer = json(&["assign", "--cgroup", &with_mount, "reno", "--json"]);
        assert_eq!(answer["rule"]["id"], 1);

        let twin = Cgroup::new("slice").unwrap();
        let _other = twin.child("ccctl-test-web.service").unwrap();
        refuses(&["assign", "--unit", "ccctl-test-web", "reno"], code::USAGE, &["single", twin.path(), slice.path()]);
        refuses(&["assign", "--unit", "ccctl-test-wbe", "reno"], code::USAGE, &["did you mean ccctl-test-web.service"]);
        refuses(&["assign", "--pid", "4194305", "reno"], code::USAGE, &["4194305", "process"]);
        drop(process);
        refuses(&["assign", "--pid", &pid, "reno"], code::USAGE, &[&pid, "process"]);
        succeeds(&["unassign", "--all"]);
    });
}

/// Where systemd runs it is asked, here in the form of a script, in a mount namespace of its own.
#[test]
fn systemd_tells_the_cgroup_of_a_unit() {
    support::test("systemctl", 60, || {
        let folder = Folder::new("systemctl");
        let path = folder.file(
            "systemctl",
            "#!/bin/sh\n[ \"$*\" = 'show --property=LoadState,ControlGroup,Slice -- web.service' ] || exit 4\n\
             echo Slice=web.slice\necho ControlGroup=\necho LoadState=loaded\n",
        );
        let script = format!(
            "chmod +x {path} && mount -t tmpfs none /run/systemd && mkdir /run/systemd/system && \
             PATH={}:$PATH exec {} assign --unit web reno --json",
            folder.path().display(),
            support::CCCTL
        );
        support::prepare(&["assign"]);
        let mut command = Command::new("unshare");
        let output = ccctl_testbed::run_ok(
            command.args(["--mount", "--propagation", "private", "sh", "-c", &script]),
            Duration::from_secs(20),
        );
        let answer = support::parsed(&["assign"], &output.unwrap());
        assert_eq!(answer["rule"]["cgroup"], "/web.slice/web.service");
        assert_eq!(answer["cgroup_exists"], false, "a stopped unit gets its cgroup when it starts");
        succeeds(&["unassign", "--all"]);
    });
}

/// ECN is agreed upon in SYN and SYN-ACK: the rule must have been there by then.
#[test]
fn an_algorithm_that_needs_ecn_gets_it_at_both_ends() {
    support::test("ECN", 60, || {
        succeeds(&["load", "dctcp"]);
        let network = network();
        for end in [&network.client, &network.server] {
            end.set_sysctl("net/ipv4/tcp_ecn", "0").unwrap();
        }
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let ecn = |cgroup: &Cgroup| {
            let listener = listen(&back, &network.server, "::");
            let mut pair = pair(cgroup, &network, &listener, SERVER_V4);
            pair.client.write_all(&[0; 3000]).unwrap();
            pair.server.read_exact(&mut [0; 3000]).unwrap();
            let mut ss = Command::new("ss");
            let ss = ss.args(["-H", "-O", "-tein", "state", "established"]);
            let shown = network.client.run(ss, Duration::from_secs(10)).unwrap().stdout;
            let has_ecn = shown.split_whitespace().any(|word| word == "ecn");
            let expected = if has_ecn { "rfc3168" } else { "disabled" };
            let sockets = json(&["sockets", "--netns", network.client.name(), "--json"]);
            let modes: Vec<_> =
                sockets["sockets"].as_array().unwrap().iter().map(|it| &it["transport"]["ecn_mode"]).collect();
            assert_eq!(modes, [expected], "{shown}");
            assert_eq!(why(&pair.client)["ecn_mode"], expected, "{shown}");
            (has_ecn, pair.algorithms())
        };
        assert!(!ecn(&front).0, "nobody has asked for it yet");
        assign(&["--cgroup", front.path(), "dctcp"]);
        let without = ecn(&front);
        assert_eq!((without.0, without.1[0].as_str()), (false, "reno"), "one end asked for it");
        assign(&["--cgroup", back.path(), "dctcp"]);
        assert_eq!(ecn(&front), (true, ["bpf_dctcp"; 2].map(str::to_owned)), "both ends asked for it");
        succeeds(&["unassign", "--all"]);
        drop(network);
        succeeds(&["unload", "bpf_dctcp"]);
    });
}

/// One socket can carry several connections, one after the other; each meets the rules of its time.
#[test]
fn foreign_clients_get_what_their_cgroup_gets() {
    support::test("curl and iperf3", 60, || {
        let network = network();
        let (web, backup) = (Cgroup::new("web").unwrap(), Cgroup::new("backup").unwrap());
        assign(&["--cgroup", web.path(), "cubic"]);
        assign(&["--cgroup", backup.path(), "reno"]);
        let folder = Folder::new("curl");
        folder.file("file", vec![7; 20_000_000]);
        let (limit, mut server) = (Duration::from_secs(20), Command::new("python3"));
        let server = server.args(["-m", "http.server", "8080", "--bind", "::", "--directory"]).arg(folder.path());
        let _server = web.enter(|| network.server.start(server).unwrap()).unwrap();
        let mut iperf = Command::new("iperf3");
        let _iperf = network.server.start(iperf.args(["--server", "--port", "5201"])).unwrap();
        wait_for_listeners(&network, 2);

        let mut curl = Command::new("curl");
        let curl = curl.args(["--silent", "--limit-rate", "8M", "--output", "/dev/null", "http://10.77.0.2:8080/file"]);
        let mut getting = backup.enter(|| network.client.start(curl).unwrap()).unwrap();
        wait_for(&network, "reno", "cubic");
        assert_eq!(getting.wait(limit).unwrap(), Some(0));

        let mut client = Command::new("iperf3");
        let client = client.args(["--client", SERVER_V6, "--port", "5201", "--time", "3", "--bitrate", "50M"]);
        let mut sending: Background = web.enter(|| network.client.start(client).unwrap()).unwrap();
        wait_for(&network, "cubic", DEFAULT);
        assert_eq!(sending.wait(limit).unwrap(), Some(0));
        succeeds(&["unassign", "--all"]);
    });
}

fn wait_for_listeners(network: &Network, count: usize) {
    ccctl_testbed::eventually(Duration::from_secs(10), || match sockets(&network.server, "listening").unwrap().len() {
        found if found >= count => Ok(()),
        found => Err(format!("{found} listen")),
    })
    .unwrap();
}

/// Waits until there are connections, and these are the algorithms of all at each end.
fn wait_for(network: &Network, client: &str, server: &str) {
    ccctl_testbed::eventually(Duration::from_secs(5), || {
        let ends = [(&network.client, client), (&network.server, server)];
        let used = ends.map(|(end, _)| sockets(end, "established").unwrap());
        let as_wanted = |(socks, (_, wanted)): (&Vec<ccctl_testbed::Socket>, &(_, &str))| {
            !socks.is_empty() && socks.iter().all(|socket| socket.algorithm.as_deref() == Some(*wanted))
        };
        if used.iter().zip(&ends).all(as_wanted) {
            Ok(())
        } else {
            Err(format!("{used:?}"))
        }
    })
    .unwrap();
}

#[test]
fn no_rule_leaves_nothing_behind() {
    support::test("no trace", 60, || {
        let network = network();
        let front = Cgroup::new("front").unwrap();
        let listener = listen(&front, &network.server, "::");
        let before = ccctl_testbed::HostState::read().unwrap();
        for _ in 0..3 {
            let first = assign(&["--cgroup", front.path(), "reno"]);
            assign(&["--cgroup", front.path(), "--port", "80", "reno=1,cubic=1"]);
            let live = pair(&front, &network, &listener, SERVER_V4);
            assert_eq!(live.algorithms(), ["reno", "reno"]);
            succeeds(&["unassign", "--id", &first.to_string()]);
            succeeds(&["unassign", "--cgroup", front.path(), "--port", "80"]);
            // `settled` waits for what the kernel frees later
            ccctl_testbed::settled(&before).unwrap();
            assert!(!std::path::Path::new(ccctl_testbed::RULES_PIN).exists());
            assert_eq!(live.algorithms(), ["reno", "reno"], "live connections keep what they have");
            live.client.shutdown(Shutdown::Both).unwrap();
        }
    });
}
