// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing that happens to the daemon is felt by traffic: kill, restart, another build, the end.

use crate::support;
use crate::support::policy;
use std::path::Path;
use std::time::Duration;

use ccctl_testbed::{
    eventually, sockets, Amount, Cgroup, Flows, HostState, Network, Receiver, Sending, SERVER_V4, SERVER_V6,
};
use policy::{listen, pair, rules};
use support::daemon::Daemon;
use support::{listed, names, show, succeeds, Folder, CCCTL};

/// Connections of each of the two services.
const PARALLEL: usize = 8;

/// The rules: cgroup, port, what connections get.
fn rules_of() -> Vec<String> {
    let words = |rule: &serde_json::Value| format!("{} {} {}", rule["cgroup"], rule["port"], rule["targets"]);
    rules().iter().map(|rule| words(rule).replace('"', "")).collect()
}

/// The file of docs/guide/two-services.md, for these two cgroups.
fn two_services(web: &Cgroup, backup: &Cgroup) -> String {
    format!(
        "[instance.sweb]\nalgorithm = \"cubic\"\n[instance.sbackup]\nalgorithm = \"reno\"\n\
         [[rule]]\ncgroup = \"{}\"\nuse = \"sweb\"\n[[rule]]\ncgroup = \"{}\"\nuse = \"sbackup\"\n",
        web.path(),
        backup.path()
    )
}

/// Senders in a cgroup, whose algorithm is left to the rules.
fn flows(cgroup: &Cgroup, network: &Network, receiver: &Receiver, address: &str) -> Flows {
    let sending = Sending {
        to: receiver.at(address),
        algorithm: None,
        amount: Amount::UntilStopped,
        pause: Duration::from_millis(8),
    };
    let flows = cgroup.enter(|| {
        let flows = Flows::start(&network.client, &sending, PARALLEL).unwrap();
        established(network, PARALLEL); // all have been made in the cgroup
        flows
    });
    flows.unwrap()
}

/// Waits for so many connections that have sent something.
#[track_caller]
fn established(network: &Network, least: usize) {
    let waited = eventually(Duration::from_secs(10), || match sockets(&network.client, "established").unwrap().len() {
        count if count >= least => Ok(()),
        count => Err(format!("{count} connections")),
    });
    waited.unwrap();
}

/// Algorithm of a connection that a process of the cgroup makes now.
fn new_connection(cgroup: &Cgroup, network: &Network, outside: &Cgroup) -> String {
    let listener = listen(outside, &network.server, "::");
    let [client, _] = pair(cgroup, network, &listener, SERVER_V6).algorithms();
    client
}

/// Every flow has delivered what it sent, and used this algorithm at its end.
#[track_caller]
fn delivered(flows: Flows, algorithm: &str, receiver: &Receiver) -> u64 {
    let delivered = flows.stop().unwrap();
    assert!(delivered.iter().all(|flow| flow.algorithm == algorithm), "{delivered:?}");
    assert!(receiver.failures().is_empty(), "{:?}", receiver.failures());
    delivered.iter().map(|flow| flow.bytes).sum()
}

#[test]
fn kill_9_and_restart_under_traffic_change_nothing() {
    support::test("kill -9", 120, || {
        let (web, backup, other) =
            (Cgroup::new("web").unwrap(), Cgroup::new("backup").unwrap(), Cgroup::new("other").unwrap());
        let config = two_services(&web, &backup);
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let mut daemon = Daemon::start("kill", &config);
        let web_flows = flows(&web, &network, &receiver, SERVER_V4);
        let backup_flows = flows(&backup, &network, &receiver, SERVER_V6);
        let ids = (show("sweb")["link_id"].clone(), show("sweb")["map_id"].clone(), rules_of());

        for _ in 0..5 {
            daemon.kill();
            assert_eq!(new_connection(&web, &network, &other), "sweb", "rules hold without a daemon");
            assert_eq!(new_connection(&backup, &network, &other), "sbackup");
            daemon.start_again();
            assert_eq!((show("sweb")["link_id"].clone(), show("sweb")["map_id"].clone(), rules_of()), ids);
            assert_eq!(daemon.status()["changes"], serde_json::json!([]), "there is nothing to do: it adopts");
        }
        // killed while it carries out a change: the next one finishes it
        for round in 0..10 {
            daemon.configure(&config.replace("\"cubic\"", if round % 2 == 0 { "\"htcp\"" } else { "\"cubic\"" }));
            daemon.signal("HUP");
            std::thread::sleep(Duration::from_millis(round * 3));
            daemon.kill();
            daemon.start_again();
            let algorithm = listed("sweb").unwrap()["algorithm"].clone();
            assert_eq!(algorithm, if round % 2 == 0 { "htcp" } else { "cubic" }, "{}", daemon.log());
            assert_eq!(new_connection(&web, &network, &other), "sweb");
        }
        let bytes = delivered(web_flows, "sweb", &receiver) + delivered(backup_flows, "sbackup", &receiver);
        println!("{bytes} bytes in {} connections, each checksummed, across 15 kills", 2 * PARALLEL);
        assert!(bytes > 1_000_000, "{bytes} bytes");
        drop(receiver);
        drop(network);
        daemon.json(&["down", "--json"]);
    });
}

/// The rule is in force before the connections that it is for are moved. A daemon that is killed in between has left that to
/// the next one.
#[test]
fn a_kill_between_a_rule_and_its_live_connections_is_made_good() {
    support::test("kill between", 120, || {
        let (web, network) = (Cgroup::new("between").unwrap(), Network::new().unwrap());
        let file = |name: &str| {
            let rule = format!("[[rule]]\ncgroup = \"{}\"\nuse = \"{name}\"\nexisting = true\n", web.path());
            format!("[instance.sone]\nalgorithm = \"cubic\"\n[instance.stwo]\nalgorithm = \"reno\"\n{rule}")
        };
        let mut daemon = Daemon::start("between", &file("sone"));
        let outside = Cgroup::new("outside").unwrap();
        let listener = listen(&outside, &network.server, "::");
        let live: Vec<_> = (0..50).map(|_| pair(&web, &network, &listener, SERVER_V6)).collect();
        let of = |name: &str| live.iter().filter(|pair| pair.algorithms()[0] == name).count();
        let is_for = |name: &str| {
            let table = ccctl_loader::read_rules().unwrap();
            table.rules().iter().any(|rule| rule.content.choices.iter().any(|choice| choice.names == [name]))
        };
        let mut before = 0;
        for round in 0..6 {
            let name = if round % 2 == 0 { "stwo" } else { "sone" };
            daemon.configure(&file(name));
            daemon.signal("HUP");
            eventually(Duration::from_secs(10), || is_for(name).then_some(()).ok_or("no rule")).unwrap();
            std::thread::sleep(Duration::from_millis(round));
            daemon.kill();
            let is_before = of(name) < live.len();
            before += usize::from(is_before);
            daemon.start_again();
            assert_eq!(of(name), live.len(), "round {round}: {}", daemon.log());
            let told = daemon.log().matches("finished what a killed ccctl had begun").count();
            assert!(!is_before || told >= before, "round {round}: {}", daemon.log());
        }
        println!("{before} of 6 kills came before the last connection was moved");
        assert!(before > 0, "no kill came before the last connection was moved");
        daemon.compares_twice();
        assert_eq!(daemon.status()["problems"], serde_json::json!([]));
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn a_new_build_takes_over_from_the_old_one_under_traffic() {
    support::test("upgrade", 120, || {
        let (web, backup, other) =
            (Cgroup::new("web").unwrap(), Cgroup::new("backup").unwrap(), Cgroup::new("other").unwrap());
        let config = two_services(&web, &backup);
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let folder = Folder::new("upgrade");
        // "another build" of what the file names: the same law in an object file with another hash
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        std::fs::copy(CCCTL, &old).unwrap();
        std::fs::copy(CCCTL, &new).unwrap();
        let mut daemon = Daemon::start_with(folder, &old, &config);
        let web_flows = flows(&web, &network, &receiver, SERVER_V4);
        let backup_flows = flows(&backup, &network, &receiver, SERVER_V6);
        let map_id = show("sweb")["map_id"].clone();
        for round in 0..4 {
            // the package manager replaces the file of the running daemon
            let (running, next) = if round % 2 == 0 { (&old, &new) } else { (&new, &old) };
            std::fs::remove_file(running).unwrap();
            assert_eq!(daemon.json(&["check", "reno", "--json"])["accepted"], true);
            if round < 2 {
                assert_eq!(daemon.terminate(), Some(0));
            } else {
                daemon.kill();
            }
            assert_eq!(new_connection(&web, &network, &other), "sweb");
            daemon.start_another(next);
            assert_eq!(show("sweb")["map_id"], map_id, "the same program: it stays");
            std::fs::copy(CCCTL, running).unwrap();
        }
        // a build whose cubic is another program: new connections get it, live ones lose nothing
        let object = daemon.folder.file("cubic.o", other_build());
        daemon.reload(&config.replace("\"cubic\"", &format!("{object:?}")));
        assert_ne!(show("sweb")["map_id"], map_id);
        assert_eq!(new_connection(&web, &network, &other), "sweb");
        let bytes = delivered(web_flows, "sweb", &receiver) + delivered(backup_flows, "sbackup", &receiver);
        println!("{bytes} bytes in {} connections, each checksummed, across 4 changes of the binary", 2 * PARALLEL);
        drop(receiver);
        drop(network);
        daemon.json(&["down", "--json"]);
    });
}

/// Cubic's object with one more byte behind its end: the same program, but not the same file.
fn other_build() -> Vec<u8> {
    let mut object = ccctl_catalog::algorithm("cubic").unwrap().object().to_vec();
    object.push(0);
    object
}

#[test]
fn down_leaves_no_trace() {
    support::test("down", 120, || {
        let before = HostState::read().unwrap();
        let network = Network::new().unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let with_daemon = |stop: &dyn Fn(&mut Daemon)| {
            let (web, backup, other) =
                (Cgroup::new("web").unwrap(), Cgroup::new("backup").unwrap(), Cgroup::new("other").unwrap());
            let before = new_connection(&other, &network, &other);
            let config = format!("default = \"sbackup\"\n{}", two_services(&web, &backup));
            let mut daemon = Daemon::start("down", &config);
            // by hand, besides the file's: an instance, a default elsewhere, a rule
            succeeds(&["load", "htcp", "--as", "shand", "--set", "delta_b=20%"]);
            assert!(support::ccctl_in(&network.client, &["default", "shand"]).success());
            succeeds(&["assign", "--cgroup", other.path(), "--port", "99", "shand"]);
            let flows = [flows(&web, &network, &receiver, SERVER_V4), flows(&other, &network, &receiver, SERVER_V4)];
            assert_eq!(support::established(&network.client, "sweb"), PARALLEL);
            assert_eq!(support::established(&network.client, "shand"), PARALLEL);
            stop(&mut daemon);
            assert_eq!(support::established(&network.client, &before), 2 * PARALLEL, "sockets have what they had");
            assert_eq!(new_connection(&web, &network, &other), before);
            for flows in flows {
                delivered(flows, &before, &receiver);
            }
            assert_eq!(names(), [""; 0]);
            assert!(!Path::new("/sys/fs/bpf/ccctl").exists());
            assert!(!Path::new("/run/ccctl").exists(), "{:?}", folder("/run/ccctl"));
        };
        with_daemon(&|daemon| {
            let down = daemon.json(&["down", "--json"]);
            assert_eq!((&down["rules_removed"], &down["ended"]), (&3.into(), &daemon.pid().into()), "{down}");
            assert_eq!(daemon.ended(), Some(0));
        });
        with_daemon(&|daemon| {
            daemon.kill();
            let down = support::json(&["down", "--json"]);
            assert_eq!((&down["rules_removed"], &down["ended"]), (&3.into(), &serde_json::Value::Null), "{down}");
        });
        with_daemon(&|daemon| {
            assert_eq!(daemon.terminate(), Some(0));
            // killed at any point, and run again
            for delay_ms in [5, 10, 20, 40, 80, 160] {
                let mut down = std::process::Command::new(CCCTL).arg("down").spawn().unwrap();
                std::thread::sleep(Duration::from_millis(delay_ms));
                let _ = down.kill(); // it may have ended
                let _ = down.wait();
            }
            succeeds(&["down"]);
        });
        assert!(succeeds(&["down"]).contains("nothing of ccctl is left"), "nothing to do is no failure");
        drop(receiver);
        drop(network);
        ccctl_testbed::assert_same(&before);
    });
}

fn folder(path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn an_operators_rules_and_instances_are_left_alone() {
    support::test("left alone", 60, || {
        let (web, backup) = (Cgroup::new("web").unwrap(), Cgroup::new("backup").unwrap());
        succeeds(&["load", "htcp", "--as", "shand"]);
        succeeds(&["assign", "--cgroup", web.path(), "--port", "99", "shand"]);
        let mut daemon = Daemon::start("alone", &two_services(&web, &backup));
        assert_eq!(rules_of().len(), 3);
        // drift of a rule is put right, too
        succeeds(&["assign", "--cgroup", web.path(), "reno"]);
        let expected = |cgroup: &Cgroup, targets: &str| {
            let rule = format!("{} null {targets}", cgroup.path());
            let is_there = || rules_of().contains(&rule).then_some(()).ok_or_else(|| format!("{:?}", rules_of()));
            eventually(Duration::from_secs(10), is_there).unwrap();
        };
        expected(&web, "sweb");
        succeeds(&["unassign", "--cgroup", backup.path()]);
        expected(&backup, "sbackup");
        daemon.reload("");
        assert_eq!((names(), rules_of().len()), (vec!["shand".to_owned()], 1), "{:?}", rules_of());
        daemon.terminate();
        succeeds(&["down"]);
    });
}
