// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl events`: what changes, whoever changes it, once and in order.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

use ccctl_testbed::{eventually, Cgroup};
use serde_json::Value;

use crate::support::daemon::Daemon;
use crate::support::process::Process;
use crate::support::top::Screen;
use crate::support::{self, claim_rules, code, is_refusal, succeeds, CCCTL};

const PATIENCE: Duration = Duration::from_secs(15);

/// `ccctl events`, and its lines.
struct Followed {
    _process: Process,
    lines: Receiver<String>,
}

impl Followed {
    fn start(daemon: &Daemon, words: &[&str]) -> Self {
        let mut command = Command::new(CCCTL);
        command.args(["events", "--json"]).args(words).env("CCCTL_SOCKET", daemon.socket()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let stdout = BufReader::new(process.0.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let _ = sender.send(line.unwrap()); // the test may be over
            }
        });
        Self { _process: process, lines }
    }

    /// Waits for the next event: kind, name, text.
    #[track_caller]
    fn next(&self) -> (String, String, String) {
        let line = self.lines.recv_timeout(PATIENCE).expect("there is an event");
        let event: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(event["json_version"], 1);
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        (text("kind"), text("name"), text("text"))
    }

    #[track_caller]
    fn expect(&self, kind: &str, name: &str, part: &str) {
        let next = self.next();
        assert!(next.0 == kind && next.1 == name && next.2.contains(part), "{next:?}, not {kind} {name} {part}");
    }
}

#[test]
fn each_change_is_told_once_and_in_order() {
    support::test("events", 120, || {
        let cgroup = Cgroup::new("events").unwrap();
        claim_rules();
        let mut daemon = Daemon::start("events", "[instance.kevent]\nalgorithm = \"cubic\"\n");
        let events = Followed::start(&daemon, &[]);
        events.expect("started", "", "ccctl ");
        events.expect("corrected", "kevent", "at the start: load kevent");

        // through the API, and past it
        daemon.ccctl(&["load", "cubic", "--as", "khand"]);
        events.expect("loaded", "khand", "cubic");
        succeeds(&["tune", "khand", "beta=0.6"]);
        events.expect("tuned", "khand", "beta=0.6 (was 0.7)");
        succeeds(&["swap", "khand", "--with", "scalable"]);
        events.expect("swapped", "khand", "runs scalable");
        succeeds(&["assign", "--cgroup", cgroup.path(), "khand=1,reno=3"]);
        events.expect("assigned", "rule 1", "gets khand=1,reno=3");
        succeeds(&["unassign", "--all"]);
        events.expect("unassigned", "rule 1", "got khand=1,reno=3");
        succeeds(&["unload", "khand"]);
        events.expect("unloaded", "khand", "");

        // what the file has is corrected, after it was told what was wrong
        succeeds(&["tune", "kevent", "beta=0.8"]);
        events.expect("tuned", "kevent", "beta=0.8 (was 0.7)");
        events.expect("corrected", "kevent", "tune kevent: beta = 0.7");
        daemon.reload("x = 1");
        events.expect("failed", "", "was not reloaded");
        daemon.reload("");
        events.expect("reloaded", "", "was read again");
        events.expect("corrected", "kevent", "unload kevent");

        // a daemon that is killed and started again is found again
        daemon.kill();
        daemon.start_again();
        events.expect("started", "", "ccctl ");
        daemon.terminate();
    });
}

#[test]
fn top_shows_events_in_a_pane() {
    support::test("events in top", 60, || {
        let daemon = Daemon::start("toppane", "");
        let variables = format!("LC_ALL=C.UTF-8 CCCTL_SOCKET={}", daemon.socket().display());
        let screen = Screen::open_with(100, 30, &variables, "--every 300ms");
        screen.press(&["e"]);
        screen.wait("the start of the daemon", |text| text.contains("EVENTS") && text.contains("started"));
        daemon.ccctl(&["load", "cubic", "--as", "ktoppane"]);
        screen.wait("what was loaded", |text| text.contains("loaded      ktoppane: runs cubic"));
        daemon.json(&["down", "--json"]);
        screen.wait("the end", |text| text.contains("EVENTS: "));
        screen.press(&["e"]);
        screen.wait("no pane", |text| !text.contains("EVENTS"));
        screen.press(&["q"]);
        assert_eq!(screen.ended(), "0");
    });
}

#[test]
fn the_api_streams_events_and_ends_with_the_daemon() {
    support::test("event stream", 60, || {
        let mut daemon = Daemon::start("stream", "");
        let once = daemon.get("events");
        assert_eq!(once.status, 200);
        let first: Value = serde_json::from_str(once.body.lines().next().unwrap()).unwrap();
        assert_eq!((&first["number"], &first["kind"]), (&1.into(), &"started".into()));
        assert_eq!(daemon.get("events?since=1").body, "");
        assert!(daemon.get("events?since=x").refusal(422).contains("since"));
        assert!(daemon.get("events?sinse=1").refusal(422).contains("sinse"));
        daemon.curl(&["-X", "POST"], "/v1/events").refusal(405);

        let follow = Followed::start(&daemon, &["--last", "0"]);
        let is_there = || (daemon.get("events").status == 200).then_some(()).ok_or("no answer".to_owned());
        eventually(PATIENCE, is_there).unwrap();
        daemon.ccctl(&["load", "reno", "--as", "kstream"]);
        follow.expect("loaded", "kstream", "reno");
        // who follows does not hold up the end
        let started = std::time::Instant::now();
        assert_eq!(daemon.terminate(), Some(0));
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
        succeeds(&["unload", "kstream"]);
        is_refusal("no daemon", &daemon.ccctl(&["events"]), code::REFUSED, &["no daemon runs", "ccctl daemon"]);
    });
}
