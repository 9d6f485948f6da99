// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host is as the file has it, and stays so.

use crate::support;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{eventually, run, HostState};
use serde_json::Value;
use support::daemon::Daemon;
use support::{
    claim, code, is_refusal, json, json_with_code, listed, names, parameter, refuses, succeeds, Folder, CCCTL,
};

const PATIENCE: Duration = Duration::from_secs(15);

const TWO: &str = "\
[instance.kweb]
algorithm = \"cubic\"
set = { beta = 0.8 }
[instance.kbackup]
algorithm = \"reno\"
";

/// Waits until this holds.
#[track_caller]
fn soon(what: &str, daemon: &Daemon, holds: impl Fn() -> bool) {
    let waited = eventually(PATIENCE, || if holds() { Ok(()) } else { Err(format!("not so: {what}")) });
    waited.unwrap_or_else(|error| panic!("{error}\n{}", daemon.log()));
}

fn default() -> String {
    json(&["default", "--json"])["congestion_control"].as_str().unwrap().to_owned()
}

#[test]
fn the_host_follows_the_file() {
    support::test("follow", 120, || {
        let before = default();
        let mut daemon = Daemon::start("follow", &format!("default = \"kweb\"\n{TWO}"));
        assert_eq!(names(), ["kbackup", "kweb"]);
        assert_eq!((parameter("kweb", "beta"), default()), (0.8.into(), "kweb".into()));
        let map_id = listed("kweb").unwrap()["map_id"].clone();

        // another parameter: the same program; another algorithm: another program under the same link
        let link = support::show("kbackup")["link_id"].clone();
        daemon.reload(&TWO.replace("0.8", "0.9").replace("reno", "scalable"));
        assert_eq!((parameter("kweb", "beta"), &listed("kweb").unwrap()["map_id"]), (0.9.into(), &map_id));
        assert_eq!(listed("kbackup").unwrap()["algorithm"], "scalable");
        assert_eq!(support::show("kbackup")["link_id"], link);
        assert_eq!(default(), before, "the file names none any more");

        // what a file asked for goes with its name; what was loaded by hand stays
        succeeds(&["load", "htcp", "--as", "khand"]);
        let status = daemon.reload("[instance.kbackup]\nalgorithm = \"scalable\"\n");
        assert_eq!(names(), ["kbackup", "khand"], "{status}");
        // a file that names it makes it its own
        daemon.reload("[instance.khand]\nalgorithm = \"htcp\"\n");
        assert_eq!(names(), ["khand"]);
        daemon.kill();
        daemon.configure("");
        daemon.start_again();
        assert_eq!(names(), [""; 0], "the next daemon knows what an earlier file has asked for");
    });
}

#[test]
fn a_bad_file_changes_nothing_and_says_so() {
    support::test("bad file", 120, || {
        let mut daemon = Daemon::start("bad", TWO);
        let before = HostState::read().unwrap();
        for (wrong, line, hint) in [
            ("algorithm = \"cubic\"", "algorithm = \"cubci\"", "did you mean cubic"),
            ("beta = 0.8", "betta = 0.8", "did you mean beta?"),
            ("beta = 0.8", "beta_q10 = 819", "beta=0.8"),
            ("beta = 0.8", "beta = 8", "0.5 to 0.977"),
            ("[instance.kbackup]", "[instanec.kbackup]", "did you mean instance"),
        ] {
            let status = daemon.reload(&TWO.replace(wrong, line));
            let error = &status["error"];
            let cause = error["cause"].as_str().unwrap();
            let says_hint =
                cause.contains(hint) || error["remedy"].as_str().is_some_and(|remedy| remedy.contains(hint));
            assert!(cause.contains("ccctl.toml:") && says_hint, "{error}");
            assert!(daemon.log().contains(cause) && daemon.log().contains(hint), "{}", daemon.log());
            let file = daemon.config().to_str().unwrap().to_owned();
            is_refusal("apply", &daemon.ccctl(&["apply", &file]), code::USAGE, &["ccctl.toml:", hint]);
            refuses(&["apply", "--dry-run", &file], code::USAGE, &["ccctl.toml:", hint]);
            ccctl_testbed::assert_same(&before);
        }
        assert!(daemon.reload(TWO)["error"].is_null(), "a good file again");
        // at the start there is nothing to keep
        daemon.terminate();
        daemon.configure("x = 1");
        let start = |file: &Path| run(Command::new(CCCTL).arg("daemon").arg("--config").arg(file), PATIENCE).unwrap();
        is_refusal("start", &start(&daemon.config()), code::USAGE, &["ccctl.toml:1", "unknown field `x`"]);
        is_refusal("start", &start(Path::new("/none.toml")), code::USAGE, &["/none.toml"]);
        ccctl_testbed::assert_same(&before);
        succeeds(&["down"]);
    });
}

#[test]
fn what_is_changed_behind_its_back_is_put_right() {
    support::test("drift", 120, || {
        let daemon = Daemon::start("drift", &format!("default = \"kweb\"\n{TWO}"));
        succeeds(&["tune", "kweb", "beta=0.75"]);
        soon("beta is 0.8", &daemon, || parameter("kweb", "beta") == 0.8);
        succeeds(&["swap", "kbackup", "--with", "htcp"]);
        soon("kbackup is reno", &daemon, || listed("kbackup").is_some_and(|entry| entry["algorithm"] == "reno"));
        succeeds(&["unload", "kbackup"]);
        soon("kbackup is there", &daemon, || listed("kbackup").is_some());
        std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno").unwrap();
        soon("kweb is the default", &daemon, || default() == "kweb");
        std::fs::remove_file("/sys/fs/bpf/ccctl/instances/kbackup").unwrap();
        soon("kbackup is pinned", &daemon, || names() == ["kbackup", "kweb"]);
        // through the API it is put right at once
        daemon.json(&["tune", "kweb", "beta=0.75", "--json"]);
        soon("beta is 0.8", &daemon, || parameter("kweb", "beta") == 0.8);
        let log = daemon.log();
        assert!(log.contains("corrected: tune kweb: beta = 0.8 (is 0.75)"), "{log}");
        assert!(log.contains("corrected: load kbackup: reno"), "{log}");
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn a_step_that_fails_does_not_stop_the_others_and_is_tried_again() {
    support::test("failing step", 120, || {
        // the name of a built-in algorithm cannot be taken, and kzzz comes after it
        let config = format!("{TWO}[instance.reno]\nalgorithm = \"cubic\"\n[instance.kzzz]\nalgorithm = \"htcp\"\n");
        let daemon = Daemon::start("failing", &config);
        assert_eq!(names(), ["kbackup", "kweb", "kzzz"]);
        let status = daemon.status();
        let problem = &status["problems"][0];
        assert_eq!(
            (&problem["do"], &problem["name"], &problem["error"]["exit"]),
            (&"load".into(), &"reno".into(), &3.into())
        );
        daemon.compares_twice();
        let told = daemon.log().matches("step failed: load reno").count();
        assert_eq!(told, 1, "said once, tried often:\n{}", daemon.log());
        let file = daemon.config().to_str().unwrap().to_owned();
        let applied = daemon.ccctl(&["apply", &file, "--json"]);
        assert_eq!(applied.code, Some(6), "{}", applied.stdout);
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn apply_shows_and_does_the_difference_with_and_without_a_daemon() {
    support::test("apply", 120, || {
        let folder = Folder::new("apply");
        let file = folder.file("one.toml", TWO);
        claim("kweb");
        claim("kbackup");
        let before = HostState::read().unwrap();
        let dry = json_with_code(&["apply", &file, "--dry-run", "--json"], code::PARTLY);
        let done = |answer: &Value| -> Vec<String> {
            let steps = answer["steps"].as_array().unwrap();
            steps.iter().map(|step| format!("{} {}", step["do"], step["name"]).replace('"', "")).collect()
        };
        assert_eq!(done(&dry), ["load kbackup", "load kweb"]);
        ccctl_testbed::assert_same(&before);
        assert_eq!(done(&json(&["apply", &file, "--json"])), done(&dry));
        assert_eq!(done(&json(&["apply", &file, "--json"])), [""; 0]);
        assert_eq!(done(&json(&["apply", &file, "--dry-run", "--json"])), [""; 0], "code 0: nothing would change");
        assert!(succeeds(&["apply", &file]).contains("the host matches the file"));

        // a daemon with another file adopts it, and keeps what it is given until it reads its own file again
        let mut daemon = Daemon::start("apply-daemon", TWO);
        let other = folder.file("two.toml", "[instance.kweb]\nalgorithm = \"cubic\"\n");
        let output = daemon.ccctl(&["apply", &other, "--dry-run", "--json"]);
        assert_eq!(output.code, Some(code::PARTLY), "{}", output.stdout);
        let dry: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(done(&dry), ["tune kweb", "unload kbackup"]);
        assert_eq!(daemon.status()["in_force"], daemon.status()["file"]);
        let applied = daemon.json(&["apply", &other, "--json"]);
        assert_eq!((done(&applied), &applied["kept_by"]), (done(&dry), &daemon.pid().into()));
        assert_eq!(daemon.status()["in_force"], other.as_str());
        succeeds(&["tune", "kweb", "beta=0.75"]);
        soon("beta is 0.7", &daemon, || parameter("kweb", "beta") == 0.7);
        daemon.reload(TWO);
        assert_eq!(names(), ["kbackup", "kweb"]);
        // what the daemon would undo is refused where it cannot be asked
        refuses(&["apply", &other], code::REFUSED, &[&daemon.pid().to_string(), "kill"]);
        refuses(&["down"], code::REFUSED, &[&daemon.pid().to_string(), "kill"]);
        assert_eq!(daemon.terminate(), Some(0));
        assert_eq!(names(), ["kbackup", "kweb"], "SIGTERM leaves everything running");
        succeeds(&["down"]);
    });
}

#[test]
fn a_socket_is_made_only_where_nobody_else_can_exchange_it() {
    support::test("socket folder", 60, || {
        let folder = Folder::new("open");
        let below = folder.path().join("below");
        for (mode, place) in [(0o777, folder.path()), (0o1777, folder.path()), (0o777, below.as_path())] {
            std::fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            let file = folder.file("ccctl.toml", format!("[api]\nsocket = \"{}/socket\"\n", place.display()));
            let words = ["daemon", "--trust-writable", "--config", &file];
            let output = run(Command::new(CCCTL).args(words), PATIENCE).unwrap();
            let shown =
                format!("other users than root can write {} (owner 0, mode {mode:04o})", folder.path().display());
            is_refusal("open folder", &output, code::REFUSED, &[&shown, "ccctl does not create a socket there"]);
            assert!(!place.join("socket").exists());
        }
    });
}

#[test]
fn there_is_one_daemon() {
    support::test("one daemon", 60, || {
        let mut daemon = Daemon::start("one", "");
        let other = Folder::new("other");
        let file = other.file("ccctl.toml", format!("[api]\nsocket = \"{}/socket\"\n", other.path().display()));
        let output = run(Command::new(CCCTL).args(["daemon", "--config", &file]), PATIENCE).unwrap();
        is_refusal("second", &output, code::REFUSED, &[&format!("pid {}", daemon.pid())]);
        daemon.get("list").ok();
        // one that is killed leaves a socket, which the next replaces
        daemon.kill();
        assert!(daemon.socket().exists());
        daemon.start_again();
        daemon.get("list").ok();
        assert_eq!(daemon.terminate(), Some(0));
        assert!(!daemon.socket().exists());
        // but never a file of somebody else's
        let file = other.file("ccctl.toml", format!("[api]\nsocket = \"{}/ccctl.toml\"\n", other.path().display()));
        let output = run(Command::new(CCCTL).args(["daemon", "--config", &file]), PATIENCE).unwrap();
        is_refusal("no socket", &output, code::REFUSED, &["is not a socket"]);
        assert!(Path::new(&file).exists());
    });
}
