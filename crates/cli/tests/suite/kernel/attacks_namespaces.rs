// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces that users make for themselves, by the hundred: they break no command, and are left out.

use crate::support;
use crate::support::attacks::{World, CLOSED};
use crate::support::process::Process;
use ccctl_testbed::{eventually, run};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const NAMESPACES: usize = 300;
/// More would be needed to hold all namespaces at once.
const DESCRIPTORS: usize = 256;
/// The search for namespaces gives up after 5 s; the rest is a machine that does other things, too.
const FAST: Duration = Duration::from_secs(15);

/// Network namespaces in a user namespace of their own, made by this command; waits until there are so many.
#[track_caller]
fn make(mut command: Command, count: usize) -> Process {
    let script = format!("for i in $(seq {count}); do unshare --net sleep 200 & done; wait");
    let words = ["--user", "--map-root-user", "sh", "-c", &script];
    let running = Process::start(command.args(words));
    let children = || {
        let path = format!("/proc/{0}/task/{0}/children", running.id());
        let listed = std::fs::read_to_string(path).unwrap_or_default();
        let found: Vec<String> = listed.split_whitespace().map(str::to_owned).collect();
        let own = std::fs::read_link(format!("/proc/{}/ns/net", running.id())).unwrap_or_default();
        let is_apart = |pid: &String| std::fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|link| link != own);
        let apart = found.iter().filter(|pid| is_apart(pid)).count();
        (apart == count).then_some(()).ok_or(format!("{apart} of {count} namespaces"))
    };
    eventually(LIMIT, children).unwrap();
    running
}

/// Each command with fewer descriptors than namespaces.
#[track_caller]
fn succeeds_fast(world: &World, words: &str) -> String {
    let script = format!("ulimit -n {DESCRIPTORS}; exec {} {words}", support::CCCTL);
    let started = Instant::now();
    let output = run(world.command("sh").args(["-c", &script]), LIMIT).unwrap();
    assert!(output.success(), "{words}: {:?}\n{}{}", output.code, output.stdout, output.stderr);
    assert!(started.elapsed() < FAST, "{words} took {:?}", started.elapsed());
    output.stdout
}

#[test]
fn attack_many_namespaces_of_a_user_break_no_command() {
    support::test("namespaces of a user", 180, || {
        let world = World::new("many", CLOSED);
        let _running = make(world.attacker("unshare"), NAMESPACES);
        for words in [
            "load reno --as attack_a --default",
            "list",
            "swap attack_a --with cubic",
            "tune attack_a beta=0.8",
            "migrate --instance attack_a --to cubic",
            "sockets",
            "default reno",
        ] {
            succeeds_fast(&world, words);
        }
        let list: Value = serde_json::from_str(&succeeds_fast(&world, "list --json")).unwrap();
        assert_eq!(list["unreadable"], Value::Array(Vec::new()), "left out, and not as something that failed");
        succeeds_fast(&world, "unload attack_a");
        assert_eq!(world.shell("ls -A /run/ccctl | grep -v '^lock$' || true"), "", "nothing is left unsettled");
    });
}

/// Containers that root starts may have user namespaces. They are looked after as all others.
#[test]
fn namespaces_of_containers_of_root_are_looked_at_and_those_of_users_are_not() {
    support::test("whose namespace", 60, || {
        let world = World::new("whose", CLOSED);
        world.succeeds(&["load", "reno", "--as", "attack_a"]);
        let of_root = make(world.command("unshare"), 1);
        let of_user = make(world.attacker("unshare"), 1);
        let inside = |running: &Process| {
            let path = format!("/proc/{0}/task/{0}/children", running.id());
            std::fs::read_to_string(path).unwrap().trim().to_owned()
        };
        let default = |pid: &str, script: &str| {
            let path = "/proc/sys/net/ipv4/tcp_congestion_control";
            world.shell(&format!("nsenter --net --target {pid} sh -c '{script} {path}'")).trim().to_owned()
        };
        let pids = [inside(&of_root), inside(&of_user)];
        for pid in &pids {
            default(pid, "echo attack_a >");
        }
        let unloaded: Value = serde_json::from_str(&world.succeeds(&["unload", "attack_a", "--json"])).unwrap();
        let restored = unloaded["defaults_restored"].as_array().unwrap();
        assert_eq!(restored.len(), 1, "{unloaded}");
        assert_ne!(default(&pids[0], "cat"), "attack_a", "of a container of root");
        assert_eq!(default(&pids[1], "cat"), "attack_a", "of a user: left alone");
    });
}
