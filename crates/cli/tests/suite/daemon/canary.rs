// SPDX-License-Identifier: MIT OR Apache-2.0
//! Canaries: a share of the new connections, watched, and taken back in any case.

use std::process::{Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{eventually, Cgroup, Network};
use serde_json::Value;

use super::guard::{cut_from, Traffic, COUNT};
use crate::support::daemon::Daemon;
use crate::support::policy::{assign, rules};
use crate::support::process::Process;
use crate::support::{
    self, available, claim, claim_rules, code, established, is_refusal, json, listed, parsed, refuses, succeeds,
    Random, CCCTL,
};

const PATIENCE: Duration = Duration::from_secs(30);
const NAME: &str = "kcan";
const CANDIDATE: &str = "kcan_cy";
const CLIENT: &str = "10.77.0.1";

fn start(words: &[&str]) -> Process {
    claim(CANDIDATE);
    let mut command = Command::new(CCCTL);
    command.args(["canary", NAME, "--with", "scalable", "--share", "50%", "--every", "1s", "--json"]).args(words);
    Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// Waits for its end: the exit code, and what it says.
fn end(mut canary: Process) -> (i32, Value) {
    let mut text = String::new();
    std::io::Read::read_to_string(canary.0.stdout.as_mut().unwrap(), &mut text).unwrap();
    let code = canary.0.wait().unwrap().code().unwrap();
    (code, parsed(&["canary"], &text))
}

fn targets() -> Vec<String> {
    rules().iter().map(|rule| rule["targets"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn soon(what: &str, holds: impl Fn() -> bool) {
    let waited =
        eventually(PATIENCE, || holds().then_some(()).ok_or_else(|| format!("not so: {what}; {:?}", targets())));
    waited.unwrap();
}

fn is_split() -> bool {
    targets() == ["kcan=50,kcan_cy|kcan=50"]
}

fn is_back() -> bool {
    targets() == [NAME] && !available(CANDIDATE)
}

fn instance_with_rule(cgroup: &Cgroup) {
    succeeds(&["load", "cubic", "--as", NAME]);
    assign(&["--cgroup", cgroup.path(), NAME]);
}

#[test]
fn a_canary_carries_its_share_passes_and_goes() {
    support::test("canary", 120, || {
        let (network, cgroup) = (Network::new().unwrap(), Cgroup::new("canary").unwrap());
        instance_with_rule(&cgroup);
        let canary = start(&["--for", "15s"]);
        soon("the rule is split", is_split);
        let second = support::ccctl(&["canary", NAME, "--with", "reno"]);
        is_refusal("a second canary", &second, code::REFUSED, &["has a canary already"]);
        let _traffic = Traffic::start(&cgroup, &network);
        let shares = [NAME, CANDIDATE].map(|name| established(&network.client, name));
        // drawn 25 times with 1/2: fewer than 3 or more than 22 come once in 50,000 times
        assert!(shares.iter().sum::<usize>() == COUNT && shares.iter().all(|share| *share >= 3), "{shares:?}");

        let (exit, answer) = end(canary);
        assert_eq!((exit, &answer["outcome"], &answer["is_promoted"]), (0, &"passed".into(), &false.into()));
        assert!(answer["intervals"].as_array().unwrap().iter().any(|one| one["is_judged"] == true), "{answer}");
        assert!(is_back(), "{:?}", targets());
        assert_eq!(established(&network.client, NAME), COUNT, "all connections go on");
        assert_eq!(listed(NAME).unwrap()["algorithm"], "cubic");
        succeeds(&["down"]);
    });
}

#[test]
fn a_canary_that_passes_is_promoted_where_that_is_asked_for() {
    support::test("promoted", 120, || {
        let (network, cgroup) = (Network::new().unwrap(), Cgroup::new("promoted").unwrap());
        instance_with_rule(&cgroup);
        let canary = start(&["--for", "10s", "--promote", "--set", "decrease_shift=4"]);
        soon("the rule is split", is_split);
        let _traffic = Traffic::start(&cgroup, &network);
        let (exit, answer) = end(canary);
        assert_eq!((exit, &answer["is_promoted"]), (0, &true.into()), "{answer}");
        assert!(is_back(), "{:?}", targets());
        assert_eq!(listed(NAME).unwrap()["algorithm"], "scalable");
        assert_eq!(support::parameter(NAME, "decrease_shift"), 4);
        assert_eq!(established(&network.client, NAME), COUNT);
        succeeds(&["down"]);
    });
}

#[test]
fn a_canary_whose_connections_stall_is_taken_back() {
    // an impossible window, as a kernel that leaves hooks out makes it, is judged before stalls are
    support::exact("aborted", 120, || {
        let (network, cgroup) = (Network::new().unwrap(), Cgroup::new("aborted").unwrap());
        instance_with_rule(&cgroup);
        let canary = start(&["--for", "60s", "--abort-if", "stalled_pct>50"]);
        soon("the rule is split", is_split);
        let _traffic = Traffic::start(&cgroup, &network);
        cut_from(&network.server, CLIENT, "add");
        let (exit, answer) = end(canary);
        assert_eq!((exit, &answer["outcome"]), (code::REFUSED, &"aborted".into()), "{answer}");
        assert!(answer["why"].as_str().unwrap().starts_with("stalled_pct>50: "), "{answer}");
        assert!(is_back(), "{:?}", targets());
        cut_from(&network.server, CLIENT, "del");
        succeeds(&["down"]);
    });
}

#[test]
fn without_traffic_a_canary_is_undecided_and_an_interrupted_one_is_taken_back() {
    support::test("undecided", 60, || {
        let cgroup = Cgroup::new("undecided").unwrap();
        instance_with_rule(&cgroup);
        let (exit, answer) = end(start(&["--for", "2s", "--promote"]));
        assert_eq!((exit, &answer["outcome"]), (code::REFUSED, &"undecided".into()), "{answer}");
        assert!(is_back() && listed(NAME).unwrap()["algorithm"] == "cubic");
        for signal in ["INT", "TERM", "HUP"] {
            let canary = start(&["--for", "1h"]);
            soon("the rule is split", is_split);
            Command::new("kill").args(["-s", signal, &canary.id().to_string()]).status().unwrap();
            let (exit, answer) = end(canary);
            assert_eq!((exit, &answer["outcome"]), (code::REFUSED, &"stopped".into()), "{signal}: {answer}");
            assert!(is_back(), "{signal}: {:?}", targets());
        }
        succeeds(&["down"]);
    });
}

/// Killed at any moment: the next command that changes something takes all of it back.
#[test]
fn kills_of_a_canary_leave_nothing_half_done() {
    support::test("killed canaries", 180, || {
        let cgroup = Cgroup::new("killed").unwrap();
        instance_with_rule(&cgroup);
        let mut random = Random(0xca_4a41);
        for round in 0..support::times(15, 60) {
            let milliseconds = random.below(400);
            let mut canary = start(&["--for", "1h"]);
            std::thread::sleep(Duration::from_millis(milliseconds));
            canary.0.kill().unwrap();
            canary.0.wait().unwrap();
            let between = targets();
            succeeds(&["tune", NAME, if round % 2 == 0 { "beta=0.75" } else { "beta=0.8" }]);
            assert!(is_back(), "after {milliseconds} ms, {between:?}: {:?}", targets());
            assert_eq!(json(&["list", "--json"])["instances"].as_array().unwrap().len(), 1);
        }
        let canary = start(&["--for", "1h"]);
        soon("the rule is split", is_split);
        succeeds(&["down"]);
        let (exit, answer) = end(canary);
        assert_eq!((exit, &answer["why"]), (code::REFUSED, &"something else took it back".into()), "{answer}");
    });
}

#[test]
fn the_daemon_keeps_a_canary_and_takes_an_abandoned_one_back() {
    support::test("canary and daemon", 120, || {
        let cgroup = Cgroup::new("kept").unwrap();
        claim_rules();
        let rule = format!("[[rule]]\ncgroup = \"{}\"\nuse = \"{NAME}\"\n", cgroup.path());
        let daemon = Daemon::start("canary", &format!("[instance.{NAME}]\nalgorithm = \"cubic\"\n{rule}"));
        let words = ["canary", NAME, "--with", "reno", "--promote"];
        refuses(&words, code::REFUSED, &["manages kcan", "leave out --promote"]);
        let mut canary = start(&["--for", "1h"]);
        soon("the rule is split", is_split);
        daemon.compares_twice();
        assert!(is_split(), "the split is no drift: {:?}\n{}", targets(), daemon.log());
        canary.0.kill().unwrap();
        canary.0.wait().unwrap();
        soon("the daemon has taken it back", is_back);
        daemon.compares_twice();
        assert!(daemon.status()["problems"].as_array().unwrap().is_empty(), "{}", daemon.log());
        let down = daemon.ccctl(&["down"]);
        assert_eq!(down.code, Some(0), "{}", down.stderr);
    });
}

#[test]
fn a_canary_that_makes_no_sense_is_refused_and_changes_nothing() {
    support::test("refused canaries", 60, || {
        succeeds(&["load", "cubic", "--as", NAME]);
        let none = |more: &[&str], code: i32, parts: &[&str]| {
            refuses(&[&["canary", NAME, "--with", "reno"], more].concat(), code, parts);
        };
        none(&[], code::USAGE, &["no rule gives kcan first", "ccctl assign"]);
        let cgroup = Cgroup::new("refused").unwrap();
        assign(&["--cgroup", cgroup.path(), NAME]);
        none(&["--share", "0%"], code::USAGE, &["1% to 50%"]);
        none(&["--abort-if", "retransmits_pct>2"], code::USAGE, &["did you mean retransmit_pct?"]);
        none(&["--every", "1h", "--for", "1s"], code::USAGE, &["does not fit"]);
        none(&["--set", "betta=1"], code::USAGE, &["betta"]);
        refuses(&["canary", NAME, "--with", "rneo"], code::USAGE, &["did you mean reno?"]);
        refuses(&["canary", "knone", "--with", "reno"], code::USAGE, &["knone"]);
        refuses(&["canary", "../knone", "--with", "reno"], code::USAGE, &["cannot be a kernel name"]);
        let files = std::fs::read_dir("/run/ccctl").unwrap().flatten();
        let locks = files.filter(|file| file.file_name().to_string_lossy().starts_with("canary-"));
        assert_eq!(locks.count(), 0, "a refused canary leaves no lock");
        let answer = json(&["canary", NAME, "--with", "reno", "--dry-run", "--json"]);
        assert_eq!((&answer["outcome"], &answer["rule_count"]), (&"preview".into(), &1.into()));
        assert!(is_back());
        succeeds(&["down"]);
    });
}
