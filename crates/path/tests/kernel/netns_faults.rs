// SPDX-License-Identifier: GPL-2.0-only
//! Runs on the emulated path that are not to be believed, and runs that were killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{all_packets_are_accounted_for, carry, spec, test, RECEIVER_V4};
use ccctl_path::{Affinity, Fault, Path, PathReport, Waiting};
use ccctl_sim::Limit;
use ccctl_testbed::{Background, Namespace};

fn run(waiting: Waiting, with_hog: bool) -> PathReport {
    let mut spec = spec(20, 20, Limit::Packets(100));
    spec.waiting = waiting;
    let path = Path::start(&spec).unwrap();
    let router = path.endpoints().affinity().router.to_string();
    let mut hog = Command::new("taskset");
    hog.args(["--cpu-list", &router, "nice", "-n", "-20", "sh", "-c", "while :; do :; done"]);
    let _hog = with_hog.then(|| Background::start(&mut hog).unwrap());
    carry(&path, RECEIVER_V4, "cubic", 6_000_000);
    path.stop().unwrap()
}

/// Windows in which packets were taken in late, in percent.
fn late_pct(report: &PathReport) -> u64 {
    let polls = report.router.polls.unwrap();
    polls.late_windows * 100 / polls.windows
}

/// A spinning router has to share its processor half and half, in slices of milliseconds. Meanwhile the path's clock stands still:
/// packets leave as they should by it, and that it stood is a fault as well.
#[test]
fn a_busy_loop_beside_the_router_makes_a_run_invalid() {
    test("a planted fault", 60, || {
        let alone = run(Waiting::Busy, false);
        let beside = run(Waiting::Busy, true);
        println!("alone: {:?}\nbeside: {:?}", alone.faults(), beside.faults());
        assert!(!beside.is_valid());
        let is_late = |late: &str| {
            let is_it = |fault: &Fault| matches!(fault, Fault::Late { what, .. } if *what == late);
            beside.faults().iter().any(is_it)
        };
        for (what, late) in
            [("packets were handed over", false), ("packets were taken in", true), ("echoes came", true)]
        {
            assert_eq!(is_late(what), late, "{what}: {:?}", beside.faults());
        }
        let stands_still = |fault: &Fault| matches!(fault, Fault::ClockPause { .. });
        assert!(beside.faults().iter().any(stands_still), "{:?}", beside.faults());
        let (alone_pct, beside_pct) = (late_pct(&alone), late_pct(&beside));
        assert!(beside_pct > 50 && beside_pct > alone_pct, "late windows: {alone_pct} % alone, {beside_pct} % beside");
        let is_noise =
            |fault: &Fault| matches!(fault, Fault::Late { .. } | Fault::Rate { .. } | Fault::ClockPause { .. });
        assert!(alone.faults().iter().all(is_noise), "{:?}", alone.faults());
        // Late as it is, no packet is missing.
        all_packets_are_accounted_for(&alone);
        all_packets_are_accounted_for(&beside);
    });
}

/// A loop that only shares with it would keep the router for a slice of milliseconds each time, and the path's clock would stand still.
fn go_on_beside_a_busy_loop() {
    let report = run(Waiting::Busy, true);
    let (stood, run) = (report.router.clock_pause, report.router.run);
    assert!(stood * 50 < run, "its clock stood still for {stood:?} of {run:?}"); // one that waits its turn: for 5 %
    assert_eq!(report.router.polls, None, "it spins on the only processor");
    all_packets_are_accounted_for(&report);
}

#[test]
fn a_router_on_the_only_processor_comes_first() {
    if std::env::var(ROLE).is_ok() {
        return go_on_beside_a_busy_loop(); // the test that started this process has the lock
    }
    test("a router on the only processor", 60, || {
        let processor = Affinity::of_this_process().unwrap().router.to_string();
        let mut program = Command::new("taskset");
        program.args(["--cpu-list", &processor]).arg(std::env::current_exe().unwrap());
        program
            .args(["--exact", "netns_faults::a_router_on_the_only_processor_comes_first"])
            .env(ROLE, "one processor");
        let output = program.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    });
}

/// Tells this program that it is started by a test of its own.
const ROLE: &str = "CCCTL_TEST_PATH_ROLE";

fn hold_a_path() {
    let path = Path::start(&spec(10, 10, Limit::Packets(10))).unwrap();
    assert_eq!(Namespace::of_process(std::process::id()).len(), 2);
    if std::env::var(ROLE).is_ok_and(|role| role == "wait") {
        println!("ready");
        std::thread::sleep(Duration::from_secs(60));
    }
    drop(path);
    assert!(Namespace::of_process(std::process::id()).is_empty());
}

#[test]
fn a_path_leaves_nothing_behind() {
    if std::env::var(ROLE).is_ok() {
        hold_a_path(); // the test that started this process has the lock
    } else {
        test("a path by itself", 60, hold_a_path);
    }
}

fn start_holder(role: &str) -> Child {
    let mut holder = Command::new(std::env::current_exe().unwrap());
    holder.args(["--exact", "netns_faults::a_path_leaves_nothing_behind", "--nocapture"]);
    holder.env(ROLE, role).stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    test("a killed run", 60, || {
        let mut killed = start_holder("wait");
        let output = BufReader::new(killed.stdout.take().unwrap());
        assert!(output.lines().any(|line| line.unwrap().contains("ready")));
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(Namespace::of_process(killed.id()).len(), 2, "what is there to be removed");
        let mut next = start_holder("pass");
        assert!(next.wait().unwrap().success());
        assert!(Namespace::of_process(killed.id()).is_empty() && Namespace::of_process(next.id()).is_empty());
    });
}
