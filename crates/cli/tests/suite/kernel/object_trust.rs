// SPDX-License-Identifier: MIT OR Apache-2.0
//! Object and configuration files that others than root have written or can write, and the process that looks at object files.

use crate::support;
use std::os::unix::fs::{chown, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ccctl_testbed::{eventually, run};
use support::compile::compile;
use support::daemon::Daemon;
use support::{ccctl, code, is_refusal, refuses, succeeds, Folder, CCCTL};

const NOBODY: u32 = 65534;
const LIMIT: Duration = Duration::from_secs(20);
/// Of the process that looks, in seconds: the first signal says why.
const CPU_LIMIT: &str = "10 11";

fn mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn object(folder: &Folder) -> String {
    folder.file("mine.o", ccctl_catalog::algorithm("scalable").unwrap().object())
}

#[test]
fn attack_object_files_that_others_can_write_are_refused() {
    support::test("attack: objects", 120, || {
        let folder = Folder::new("attack-objects");
        mode(folder.path(), 0o755);
        let file = object(&folder);
        let load = ["load", &file, "--as", "trusted"];
        for (what, owner, wanted) in [("mode 0666", 0, 0o666), ("mode 0664", 0, 0o664), ("owner 65534", NOBODY, 0o644)]
        {
            chown(&file, Some(owner), None).unwrap();
            mode(&file, wanted);
            refuses(&load, code::REFUSED, &[&file, what, "--trust-writable"]);
            refuses(&["check", &file], code::REFUSED, &[&file, what]);
        }
        chown(&file, Some(0), None).unwrap();
        mode(folder.path(), 0o777);
        refuses(&load, code::REFUSED, &[folder.path().to_str().unwrap(), "mode 0777", "above", &file]);
        succeeds(&["load", &file, "--as", "trusted", "--trust-writable"]);
        refuses(&["swap", "trusted", "--with", &file], code::REFUSED, &["mode 0777"]);
        succeeds(&["swap", "trusted", "--with", &file, "--trust-writable"]);
        succeeds(&["unload", "trusted"]);
        mode(folder.path(), 0o1777);
        succeeds(&load);
        succeeds(&["unload", "trusted"]);
    });
}

#[test]
fn attack_configuration_files_that_others_can_write_are_refused() {
    support::test("attack: files", 120, || {
        let mut daemon = Daemon::start("attack-files", "");
        let folder = daemon.folder.path().to_owned();
        let own = object(&daemon.folder);
        let config = format!("[instance.trusted]\nalgorithm = \"{own}\"\n");
        mode(&own, 0o666);
        let status = daemon.reload(&config);
        assert!(
            status["error"]["cause"].as_str().unwrap_or_default().contains("mine.o (owner 0, mode 0666)"),
            "{status}"
        );
        mode(&own, 0o644);
        mode(daemon.config(), 0o666);
        let before = daemon.status()["reloads"].clone();
        daemon.signal("HUP");
        let is_read = || (daemon.status()["reloads"] != before).then_some(()).ok_or("not read".to_owned());
        eventually(LIMIT, is_read).unwrap();
        let error = daemon.status()["error"].clone();
        assert!(error["cause"].as_str().unwrap_or_default().contains("ccctl.toml (owner 0, mode 0666)"), "{error}");
        let file = daemon.config();
        let apply = daemon.ccctl(&["apply", file.to_str().unwrap()]);
        is_refusal("apply", &apply, code::REFUSED, &["ccctl.toml (owner 0, mode 0666)"]);
        daemon.json(&["apply", file.to_str().unwrap(), "--trust-writable", "--json"]);
        assert_eq!(support::names(), ["trusted"]);
        daemon.json(&["down", "--json"]);
        assert_eq!(daemon.ended(), Some(0));

        let start = |words: &[&str]| {
            let mut command = Command::new("timeout");
            command.args(["3", CCCTL, "daemon", "--config"]).arg(folder.join("ccctl.toml")).args(words);
            run(&mut command, LIMIT).unwrap()
        };
        is_refusal("daemon", &start(&[]), code::REFUSED, &["mode 0666"]);
        let trusting = start(&["--trust-writable"]);
        assert!(trusting.stderr.contains("serves"), "{}", trusting.stderr);
        ccctl(&["unload", "trusted"]);
    });
}

/// What was there before to tell the looking process apart has no meaning any more: the daemon is asked all the same.
#[test]
fn attack_the_environment_does_not_switch_the_look_off() {
    support::test("attack: look", 60, || {
        let daemon = Daemon::start("attack-look", "");
        let mut command = Command::new(CCCTL);
        command.args(["apply", daemon.config().to_str().unwrap(), "--json"]);
        let output = run(command.env("CCCTL_SOCKET", daemon.socket()).env("CCCTL_LOOKING", "1"), LIMIT).unwrap();
        assert!(output.success() && output.stdout.contains(&daemon.pid().to_string()), "{}", output.stderr);
    });
}

/// Limits of a process, as `/proc` has them: the soft one, the hard one.
fn limit(pid: u32, name: &str) -> String {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
    line[name.len()..].split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

#[test]
fn attack_the_process_that_looks_is_limited_and_ends_with_its_parent() {
    let looking = || {
        let mut command = Command::new(CCCTL);
        command.args(["look-at-object", &std::process::id().to_string()]).stdin(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut child = looking();
    let pid = child.id();
    let is_limited = || match limit(pid, "Max cpu time") {
        limit if limit == CPU_LIMIT => Ok(()),
        limit => Err(limit),
    };
    eventually(LIMIT, is_limited).unwrap();
    assert_eq!(limit(pid, "Max address space"), "1073741824 1073741824");
    assert_eq!(std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap().trim(), "1000");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(code::USAGE), "no bytes are no object");

    // the kernel ends it when the thread ends that has started it
    let mut child = std::thread::spawn(move || {
        let child = looking();
        eventually(LIMIT, || {
            (limit(child.id(), "Max cpu time") == CPU_LIMIT).then_some(()).ok_or("not yet".to_owned())
        })
        .unwrap();
        child
    })
    .join()
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "killed");
    let mut orphan = Command::new(CCCTL);
    let output = run(orphan.args(["look-at-object", "1"]), LIMIT).unwrap();
    assert_eq!(output.code, Some(70), "the parent is another one: it has ended");
}

#[test]
fn one_log_is_left_of_a_load_that_the_verifier_refuses() {
    support::test("verifier logs", 120, || {
        let folder = Folder::new("verifier-logs");
        let logs = || {
            let entries = std::fs::read_dir("/run/ccctl").into_iter().flatten().flatten();
            let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("verifier-scalable-"));
            logs.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        for log in logs() {
            std::fs::remove_file(log).unwrap();
        }
        let source = crate::kernel::object::scalable_with("u32 divisor = *(volatile u32 *)0;\n");
        let object = compile(&folder, &source, "null");
        for count in 1..=10 {
            let output = ccctl(&["load", &object, "--as", "wrong"]);
            is_refusal("null", &output, code::PROGRAM, &["verifier-scalable"]);
            assert_eq!(logs().len(), count.min(8), "one for each, and at most 8");
        }
        for log in logs() {
            assert_eq!(std::fs::metadata(log).unwrap().permissions().mode() & 0o777, 0o600);
        }
    });
}
