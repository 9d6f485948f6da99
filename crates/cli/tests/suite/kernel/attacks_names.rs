// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names that unprivileged users choose must not reach root's terminal as they are.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{eventually, Namespace};

use crate::support;
use support::listing::listed;
use support::{ccctl, json, succeeds};

const PATIENCE: Duration = Duration::from_secs(30);
/// Sets the title of a terminal and turns its text red; at most 15 bytes are a process's name.
const PROCESS: &str = "\u{1b}]0;P\u{7}\u{1b}[31mX";
/// Red, C1's erase and the right-to-left override. The kernel refuses only line ends in names of cgroups.
const CGROUP: &str = "sec\tx\u{1b}[31m\u{9b}2J\u{202e}";

/// A cgroup of this name, removed with it.
struct Cgroup {
    folder: PathBuf,
    path: String,
}

impl Cgroup {
    fn new(name: &str) -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let root = fields.find(|fields| fields[2] == "cgroup2").expect("cgroup v2 is mounted")[1].to_owned();
        let name = format!("ccctl-test-{}-{name}", std::process::id());
        let folder = Path::new(&root).join(&name);
        fs::create_dir(&folder).unwrap();
        Self { folder, path: format!("/{name}") }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let removed = eventually(PATIENCE, || match fs::remove_dir(&self.folder) {
            Ok(()) => Ok(()),
            Err(error) => Err(error.to_string()),
        });
        assert!(removed.is_ok() || std::thread::panicking(), "{removed:?}");
    }
}

/// Nothing that a terminal acts on, and the name with its control characters as numbers.
#[track_caller]
fn is_harmless(words: &[&str], parts: &[&str]) {
    let output = ccctl(words);
    let text = format!("{}{}", output.stdout, output.stderr);
    let wild = text.chars().find(|letter| (letter.is_control() && *letter != '\n') || *letter == '\u{202e}');
    assert_eq!(wild, None, "ccctl {}: {text:?}", words.join(" "));
    for part in parts {
        assert!(text.contains(part), "ccctl {}: no {part} in {text:?}", words.join(" "));
    }
}

#[test]
fn attack_names_of_processes_and_cgroups_reach_no_terminal_as_they_are() {
    support::test("wild names of others", 120, || {
        let namespace = Namespace::new("names").unwrap();
        let cgroup = Cgroup::new(CGROUP);
        let listener = namespace.enter(|| TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = "echo $$ >\"$FOLDER/cgroup.procs\"; printf %s \"$NAME\" >/proc/$$/comm; \
                      exec 3<>/dev/tcp/127.0.0.1/$PORT; while :; do read -t 100 -u 3; done";
        let mut bash = Command::new("bash");
        bash.args(["-c", script]).env("FOLDER", &cgroup.folder).env("NAME", PROCESS).env("PORT", port.to_string());
        let _process = namespace.start(&mut bash).unwrap();
        let (_peer, _) = listener.accept().unwrap();
        let there = format!("127.0.0.1:{port}");
        let by_peer = ["--dst", there.as_str()];
        let socket = listed(&by_peer).into_iter().next().expect("bash's connection");
        assert_eq!(socket["owners"][0]["command"], PROCESS, "JSON has the very name");
        assert_eq!(socket["cgroup"], cgroup.path, "and the very path");
        let shown_path = "\\x09x\\x1b[31m\\x9b2J\\u{202e}";
        is_harmless(&["sockets", "--wide", "--dst", &there], &["\\x1b]0;P\\x07\\x1b[31mX", shown_path]);
        is_harmless(&["sockets", "--json", "--dst", &there], &["\\u001b]0;P\\u0007\\u001b[31mX", "\\u009b2J\\u202e"]);
        let pid = fs::read_to_string(cgroup.folder.join("cgroup.procs")).unwrap().trim().to_owned();
        is_harmless(&["why", "--pid", &pid], &[shown_path]);
        succeeds(&["assign", "--cgroup", &cgroup.path, "reno"]);
        is_harmless(&["rules"], &[shown_path]);
        let table = ccctl(&["rules"]).stdout;
        assert_eq!(table.lines().count(), 2, "a header and one rule: {table:?}");
        succeeds(&["assign", "--cgroup", "/line\nend", "--absent-ok", "reno"]);
        is_harmless(&["rules"], &["/line\\x0aend"]);
        assert_eq!(ccctl(&["rules"]).stdout.lines().count(), 3, "a header and two rules");
        assert_eq!(json(&["rules", "--json"])["rules"][0]["cgroup"], cgroup.path);
        is_harmless(&["rules", "--json"], &["\\u009b2J"]);
        succeeds(&["unassign", "--all"]);
        is_harmless(&["load", &format!("./{CGROUP}.o")], &["\\x1b[31m\\x9b2J\\u{202e}"]);
        is_harmless(&["load", CGROUP], &["try: "]);
    });
}
