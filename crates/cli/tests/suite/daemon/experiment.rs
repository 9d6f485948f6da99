// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiments: a service is switched between two algorithms over an emulated path, through kills of the daemon, and what
//! happens to an experiment whose host is changed under it.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ccctl_inference::schedule::{Arm, Schedule};
use ccctl_path::{Path, PathSpec, Waiting, RECEIVER_V4};
use ccctl_sim::{BitRate, Limit, Loss, Probability};
use ccctl_testbed::{algorithm_of, eventually, run, Cgroup, Namespace};
use serde_json::Value;

use crate::support::daemon::Daemon;
use crate::support::policy::rules;
use crate::support::verified::Verified;
use crate::support::{self, code, is_refusal, refuses, succeeds, Folder, Random, CCCTL};

const A: &str = "kexp_a";
const B: &str = "kexp_b";
const PATIENCE: Duration = Duration::from_secs(20);
const FILE: &str = "[instance.kexp_a]\nalgorithm = \"reno\"\n[instance.kexp_b]\nalgorithm = \"bbr\"\n";
const RECOMPUTE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/recompute.py");

/// Reno gets 1.22 / sqrt(0.01) packets per RTT of 40 ms: 4 Mbit/s. BBR is not stopped by losses that no queue has caused.
fn lossy_path() -> Path {
    let mut spec = PathSpec::new(BitRate::bits_per_s(30_000_000), Duration::from_millis(40), Limit::Packets(120));
    spec.forward.loss = Loss::Bernoulli(Probability::ratio(1, 100));
    spec.waiting = Waiting::Sleep;
    Path::start(&spec).unwrap()
}

/// The words of a plan; `length` is that of blocks, and of their burn-in.
fn plan<'a>(
    daemon: &Daemon,
    name: &'a str,
    cgroup: &'a Cgroup,
    [a, b]: [&'a str; 2],
    length: [&'a str; 2],
    words: &[&'a str],
) -> Value {
    let scope = ["experiment", "plan", name, "--cgroup", cgroup.path(), "--json"];
    let how = ["--a", a, "--b", b, "--block", length[0], "--burn-in", length[1]];
    daemon.json(&[&scope[..], &how, words].concat())
}

/// A while later: who asks without a pause keeps a processor busy.
fn info_soon(daemon: &Daemon, name: &str) -> Value {
    std::thread::sleep(Duration::from_millis(250));
    info(daemon, name)
}

fn info(daemon: &Daemon, name: &str) -> Value {
    daemon.json(&["experiment", "status", name, "--blocks", "--json"])["experiments"][0].clone()
}

#[track_caller]
fn wait_for(daemon: &Daemon, name: &str, phase: &str, patience: u64) -> Value {
    let ended = || {
        let info = info_soon(daemon, name);
        if info["phase"] == phase {
            Ok(())
        } else {
            Err(format!("{}: {}", info["phase"], info["summary"]))
        }
    };
    eventually(Duration::from_secs(patience), ended)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", info(daemon, name)["blocks"], daemon.log()));
    info(daemon, name)
}

fn recompute(daemon: &Daemon, name: &str) {
    let report = daemon.json(&["experiment", "report", name, "--json"]);
    let mut python =
        Command::new("python3").arg(RECOMPUTE).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(report.to_string().as_bytes()).unwrap();
    assert!(python.wait().unwrap().success());
}

fn coins(info: &Value) -> Vec<(u64, bool)> {
    let blocks = info["blocks"].as_array().unwrap();
    blocks.iter().map(|block| (block["block"].as_u64().unwrap(), block["is_treated"].as_bool().unwrap())).collect()
}

#[test]
fn a_service_is_switched_through_kills_and_the_better_arm_is_found() {
    support::test("experiment", 100, || {
        let (path, cgroup) = (lossy_path(), Cgroup::new("experiment").unwrap());
        let mut daemon = Daemon::start("experiment", FILE);
        support::claim_rules();
        let words = ["--pairs", "6", "--spread", "50%", "--seed", "7"];
        let planned = plan(&daemon, "web", &cgroup, [A, B], ["2500ms", "800ms"], &words);
        assert_eq!(planned["plan"]["wanted_pairs"], 6, "{planned}");
        let ends = path.endpoints();
        let to = RECEIVER_V4.to_string();
        let traffic = Verified::start(&cgroup, ends.sender(0), (ends.receiver(), &to), 2);
        daemon.json(&["experiment", "start", "web", "--json"]);

        // at a moment of a block that the test does not choose
        let mut random = Random(u64::from(std::process::id()) | 1);
        std::thread::sleep(Duration::from_millis(9000 + random.below(5000)));
        daemon.kill();
        daemon.start_again();
        let mut arms = std::collections::BTreeSet::new();
        let begun = Instant::now();
        while info(&daemon, "web")["phase"] == "running" && begun.elapsed() < Duration::from_secs(90) {
            arms.insert(algorithm_of(&traffic.senders[0]).unwrap());
            std::thread::sleep(Duration::from_millis(300));
        }
        assert_eq!(arms.into_iter().collect::<Vec<_>>(), [A, B], "live connections are switched");
        let web = wait_for(&daemon, "web", "complete", 10);
        let analysis = &web["analysis"];
        assert_eq!(analysis["pairs"].as_array().map(Vec::len), Some(6), "{analysis}");
        assert!(!analysis["dropped_pairs"].as_array().unwrap().is_empty(), "the kill costs its pair: {analysis}");
        assert!(analysis["estimate_pct"].as_f64().unwrap() > 50.0, "{}", web["summary"]);
        assert!(analysis["final_interval"]["lower_pct"].as_f64().unwrap() > 0.0, "{}", web["summary"]);
        assert!(analysis["gates"].as_array().unwrap().iter().all(|gate| gate["is_void"] == false), "{analysis}");
        let coins = coins(&web);
        let of = |block: u64| coins.iter().find(|(number, _)| *number == block).map(|(_, is_treated)| *is_treated);
        assert!(coins.iter().all(|(block, is_treated)| of(block ^ 1) != Some(*is_treated)), "{coins:?}");
        recompute(&daemon, "web");

        eventually(PATIENCE, || rules().is_empty().then_some(()).ok_or("the rule stays")).unwrap();
        assert_eq!(algorithm_of(&traffic.senders[0]).unwrap(), A, "arm A is in force after the end");
        assert!(traffic.bytes() > 1_000_000);
        traffic.end();
        drop(daemon);
        succeeds(&["down"]);
    });
}

/// Some threads, each with one connection after the other.
const REQUESTS: &str = "
import socket, sys, threading
def run():
    while True:
        with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
            connection.sendall(bytes(int(sys.argv[4])))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
for _ in range(int(sys.argv[3])):
    threading.Thread(target=run, daemon=True).start()
threading.Event().wait()
";

/// A process in a cgroup that opens connections and sends so many bytes in each.
struct Requests {
    process: Child,
    port: u16,
}

impl Requests {
    fn start(cgroup: &Cgroup, from: &Namespace, (to, address): (&Namespace, &str), count: usize, bytes: usize) -> Self {
        let listener = to.enter(|| TcpListener::bind((address, 0)).unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            while let Ok((mut accepted, _)) = listener.accept() {
                std::thread::spawn(move || std::io::copy(&mut accepted, &mut std::io::sink()));
            }
        });
        let words = [address.to_owned(), port.to_string(), count.to_string(), bytes.to_string()];
        let start =
            || Command::new("python3").args(["-c", REQUESTS]).args(&words).stderr(Stdio::null()).spawn().unwrap();
        let process = cgroup.enter(|| from.enter(start).unwrap()).unwrap();
        Self { process, port }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn sum(block: &Value, key: &str) -> u64 {
    block["clusters"].as_array().unwrap().iter().map(|cluster| cluster[key]["acked_bytes"].as_u64().unwrap()).sum()
}

#[test]
fn a_part_of_a_cgroup_is_split_and_counted_apart() {
    support::test("split", 100, || {
        let (path, cgroup) = (lossy_path(), Cgroup::new("split").unwrap());
        let daemon = Daemon::start("split", FILE);
        support::claim_rules();
        let ends = path.endpoints();
        let to = RECEIVER_V4.to_string();
        let requests = Requests::start(&cgroup, ends.sender(0), (ends.receiver(), &to), 12, 100_000);
        let others = Verified::start(&cgroup, ends.sender(0), (ends.receiver(), &to), 1);
        let before = algorithm_of(&others.senders[0]).unwrap();
        let port = requests.port.to_string();
        let words = ["--pairs", "6", "--spread", "50%", "--hold-out", "25%", "--port", &port, "--dst", &to];
        let guard = ["--guard-rail", "timeouts=10000%"];
        let planned = plan(&daemon, "split", &cgroup, [A, B], ["2500ms", "800ms"], &[&words[..], &guard].concat());
        assert_eq!(planned["plan"]["hold_out_pct"], 25.0, "{planned}");
        daemon.json(&["experiment", "start", "split", "--json"]);
        let again = ["experiment", "plan", "again", "--b", B, "--a", A, "--cgroup", cgroup.path(), "--dry-run"];
        let short = ["--block", "5s", "--spread", "50%", "--pairs", "6"];
        let with = |port: &str| daemon.ccctl(&[&again[..], &short, &["--port", port]].concat());
        is_refusal("the same port", &with(&port), code::USAGE, &["experiment split has connections of"]);
        assert!(with("1").success(), "another port is another scope");
        let all = daemon.ccctl(&[&again[..], &short].concat());
        is_refusal("all ports", &all, code::USAGE, &["experiment split has connections of"]);

        let split = wait_for(&daemon, "split", "complete", 80);
        assert_eq!(algorithm_of(&others.senders[0]).unwrap(), before, "another port is not of the scope");
        let analysis = &split["analysis"];
        assert!(analysis["gates"].as_array().unwrap().iter().all(|gate| gate["is_void"] == false), "{analysis}");
        assert!(analysis["gates"].to_string().contains("connections opened in the arms"), "{analysis}");
        let split_info = &analysis["hold_out_info"];
        assert!(split_info["splits"][0]["refusal"].as_str().unwrap().contains("at least 30"), "one peer: {split_info}");
        assert!(!split_info["spill_over"].is_null() && !split_info["interference"].is_null(), "{split_info}");
        let counting = split["blocks"].as_array().unwrap().iter().filter(|block| block["problem"].is_null());
        let (mut of_all, mut of_held_out, mut of_host) = (0, 0, 0);
        for block in counting {
            let acked = |sums: &Value| sums["acked_bytes"].as_u64().unwrap();
            let (all, held_out) = (acked(&block["sums"]), acked(&block["held_out"]));
            // the counters go on between the scan, which clusters are as of, and their reading
            let is_near = |clusters: u64, sums: u64| clusters.abs_diff(sums) < all / 20;
            assert!(
                is_near(sum(block, "arm_flows") + sum(block, "held_out_flows"), all),
                "clusters have what all have: {block}"
            );
            assert!(is_near(sum(block, "held_out_flows"), held_out), "{block}");
            of_all += all;
            of_held_out += held_out;
            of_host += block["host_acked_bytes"].as_u64().unwrap();
        }
        assert!(of_held_out > 0 && of_held_out < of_all, "both arms send: {of_held_out} of {of_all} bytes");
        assert!(
            of_host > of_all + 1_000_000,
            "the other connection's bytes are not of the scope: {of_host} and {of_all}"
        );
        let times = analysis["completion_times"].as_array().unwrap();
        let completed = |size: &Value| size["with_a"]["completed"].as_u64().unwrap();
        assert!(completed(&times[1]) > 20 && completed(&times[2]) == 0, "all have 100 kB: {times:?}");
        let median_ms = times[1]["with_a"]["median_ms"].as_f64().unwrap();
        assert!((80.0..5000.0).contains(&median_ms), "100 kB take several round trips of 40 ms: {times:?}");
        recompute(&daemon, "split");
        drop(requests);
        others.end();
        drop(daemon);
        succeeds(&["down"]);
    });
}

#[test]
fn a_guard_rail_ends_a_harmful_experiment_and_holds_arm_a_until_it_is_stopped() {
    support::test("harm", 150, || {
        let (path, cgroup) = (lossy_path(), Cgroup::new("harm").unwrap());
        let daemon = Daemon::start("harm", FILE);
        support::claim_rules();
        let ends = path.endpoints();
        let to = RECEIVER_V4.to_string();
        let traffic = Verified::start(&cgroup, ends.sender(0), (ends.receiver(), &to), 2);
        let words = ["--metric", "retransmits", "--guard-rail", "goodput=5%", "--spread", "5%", "--pairs", "20"];
        plan(&daemon, "harm", &cgroup, [B, A], ["2500ms", "800ms"], &words);
        daemon.json(&["experiment", "start", "harm", "--json"]);
        let harm = wait_for(&daemon, "harm", "harmful", 150);
        assert!(harm["summary"].to_string().contains("Ended by a guard-rail: goodput"), "{}", harm["summary"]);
        let held = || algorithm_of(&traffic.senders[0]).is_ok_and(|name| name == B) && rules().len() == 1;
        eventually(PATIENCE, || held().then_some(()).ok_or("arm A is not held")).unwrap();
        let metrics = daemon.curl(&[], "/metrics").body;
        assert!(metrics.contains("ccctl_experiment_harmful{experiment=\"harm\"} 1\n"), "{metrics}");
        let of_harm = |name: &str| metrics.contains(&format!("ccctl_experiment_{name}{{experiment=\"harm\""));
        assert!(["pairs", "dropped_pairs", "change", "void"].into_iter().all(of_harm), "{metrics}");
        daemon.json(&["experiment", "stop", "harm", "--json"]);
        eventually(PATIENCE, || rules().is_empty().then_some(()).ok_or("the rule stays")).unwrap();
        traffic.end();
        drop(daemon);
        succeeds(&["down"]);
    });
}

#[test]
fn what_is_changed_under_an_experiment_costs_a_pair_or_voids_it_with_the_reason() {
    support::test("void", 120, || {
        let [first, second, third] = ["void", "gone", "later"].map(|label| Cgroup::new(label).unwrap());
        let daemon = Daemon::start("void", FILE);
        support::claim_rules();
        succeeds(&["load", "htcp", "--as", "kexp_c"]);
        let words = ["--pairs", "6", "--spread", "50%"];
        plan(&daemon, "hand", &first, [A, "kexp_c"], ["5s", "2s"], &words);
        plan(&daemon, "gone", &second, [A, B], ["5s", "2s"], &words);
        for name in ["hand", "gone"] {
            daemon.json(&["experiment", "start", name, "--json"]);
        }
        let plan = ["experiment", "plan", "third", "--b", B, "--cgroup", first.path()];
        is_refusal("a scope twice", &daemon.ccctl(&plan), code::USAGE, &["experiment hand has connections of"]);

        let runs = || info(&daemon, "hand")["current_block"]["counts"] == true;
        eventually(PATIENCE, || runs().then_some(()).ok_or("no block")).unwrap();
        daemon.ccctl(&["assign", "--cgroup", first.path(), "reno"]);
        let dropped = || {
            let dropped = info(&daemon, "hand")["analysis"]["dropped_pairs"].to_string();
            if dropped.contains("its rule was changed by something else") {
                Ok(())
            } else {
                Err(dropped)
            }
        };
        eventually(PATIENCE, dropped).unwrap_or_else(|error| panic!("{error}\n{}", daemon.log()));

        let later = ["experiment", "plan", "later", "--b", "kexp_c", "--a", A, "--cgroup", third.path(), "--json"];
        daemon.json(&[&later[..], &["--block", "5s", "--spread", "50%", "--pairs", "6"]].concat());
        drop(second);
        succeeds(&["unload", "kexp_c", "--force"]);
        let start = daemon.ccctl(&["experiment", "start", "later"]);
        let what = ["experiment later cannot start: kexp_c is not loaded", "ccctl load ALGORITHM --as kexp_c"];
        is_refusal("an arm that is gone", &start, code::REFUSED, &what);
        for (name, why) in [("gone", "there is no cgroup"), ("hand", "kexp_c is not loaded")] {
            let void = wait_for(&daemon, name, "void", 40);
            assert!(void["summary"].to_string().contains(why), "{}", void["summary"]);
        }
        eventually(PATIENCE, || rules().is_empty().then_some(()).ok_or("the rules stay")).unwrap();
        drop(daemon);
        succeeds(&["down"]);
    });
}

/// A clock of the daemon's own, which can be set: that of the host stays as it is.
struct Clock(std::path::PathBuf);

impl Clock {
    /// A daemon that has it. The library stands between it and the C library; the monotonic clock is the host's.
    fn of_daemon(label: &str) -> (Self, Daemon) {
        let folder = Folder::new(label);
        let clock = Self(folder.path().join("clock"));
        clock.set_ahead_s(0);
        let library = format!("/usr/lib/{}-linux-gnu/faketime/libfaketimeMT.so.1", std::env::consts::ARCH);
        assert!(std::path::Path::new(&library).exists(), "{library} is missing: scripts/setup installs it");
        let file = clock.0.display();
        let environment = format!("LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE={file} FAKETIME_NO_CACHE=1");
        let script = format!("#!/bin/sh\nexec env {environment} FAKETIME_DONT_FAKE_MONOTONIC=1 {CCCTL} \"$@\"\n");
        let program = folder.file("clocked", &script);
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        (clock, Daemon::start_with(folder, std::path::Path::new(&program), FILE))
    }

    /// So far from the host's clock.
    fn set_ahead_s(&self, seconds: i64) {
        let next = self.0.with_extension("next");
        std::fs::write(&next, format!("{seconds:+}\n")).unwrap();
        std::fs::rename(next, &self.0).unwrap();
    }
}

#[test]
fn a_clock_that_is_set_costs_its_pairs_and_not_the_coins() {
    support::test("clock", 120, || {
        let (path, cgroup) = (lossy_path(), Cgroup::new("clock").unwrap());
        let (clock, daemon) = Clock::of_daemon("clock");
        support::claim_rules();
        let (ends, to) = (path.endpoints(), RECEIVER_V4.to_string());
        let traffic = Verified::start(&cgroup, ends.sender(0), (ends.receiver(), &to), 2);
        let words = ["--pairs", "6", "--spread", "50%", "--seed", "7"];
        plan(&daemon, "stepped", &cgroup, [A, B], ["2500ms", "800ms"], &words);
        daemon.json(&["experiment", "start", "stepped", "--json"]);
        let until = |what: &str, holds: &dyn Fn(&Value) -> bool| {
            let seen = || Some(info_soon(&daemon, "stepped")).filter(holds).ok_or(what);
            eventually(Duration::from_secs(90), seen)
                .unwrap_or_else(|error| panic!("{error}\n{}\n{}", info(&daemon, "stepped"), daemon.log()))
        };
        let pairs = |info: &Value| info["analysis"]["pairs"].as_array().map_or(0, Vec::len);
        let is_dropped = |info: &Value, why| info["analysis"]["dropped_pairs"].to_string().contains(why);
        until("a pair", &|info| pairs(info) >= 1);
        clock.set_ahead_s(37);
        until("a step", &|info| is_dropped(info, "the clock was set ahead by 37s") && pairs(info) >= 2);
        clock.set_ahead_s(31);
        until("a step back", &|info| is_dropped(info, "the clock was set back by 6s"));
        let stepped = until("its end", &|info| info["phase"] != "running");
        assert_eq!(stepped["phase"], "complete", "{}", stepped["summary"]);
        let schedule =
            Schedule::new(b"7", "stepped", "", Duration::from_millis(2500), Duration::from_millis(800)).unwrap();
        for (block, is_treated) in coins(&stepped) {
            assert_eq!(schedule.arm(block) == Arm::Treated, is_treated, "the coin of block {block}");
        }
        traffic.end();
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn an_experiment_needs_a_daemon_and_what_it_names() {
    support::test("refused", 60, || {
        let cgroup = Cgroup::new("refused").unwrap();
        let plan = ["experiment", "plan", "web", "--cgroup", cgroup.path(), "--b"];
        refuses(&[&plan[..], &["rneo"]].concat(), code::USAGE, &["the kernel has no \"rneo\"", "did you mean reno?"]);
        refuses(&["experiment", "start", "none"], code::REFUSED, &["no daemon runs"]);
        let script = format!("umount /sys/fs/bpf && exec {CCCTL} experiment start none");
        let without = run(Command::new("unshare").args(["--mount", "sh", "-c", &script]), PATIENCE).unwrap();
        let what = ["no BPF file system is mounted at /sys/fs/bpf", "mount -t bpf"];
        is_refusal("no BPF file system", &without, code::HOST, &what);
        refuses(&["experiment", "stop", "none"], code::USAGE, &["there is no experiment \"none\""]);
    });
}
