// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks and files below /run: nobody else reads or holds them, nothing waits for ever, and who holds one is told truly.

use crate::support::attacks::{World, CLOSED};
use crate::support::process::Process;
use crate::support::{self, code, is_refusal};
use ccctl_testbed::{eventually, run};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);
/// Another ccctl is waited for so long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Exit code of a lock that was not had.
const LOCKED: i32 = 7;

/// A daemon in this world, once it serves.
#[track_caller]
fn daemon(world: &World, config: &str) -> Process {
    let mut command = world.command(support::CCCTL);
    let daemon = Process::start(command.args(["daemon", "--config", config]).stderr(Stdio::null()));
    let serves = || {
        let test = run(world.command("test").args(["-S", "/run/ccctl/ccctl.sock"]), LIMIT).unwrap();
        test.success().then_some(()).ok_or("it does not serve")
    };
    eventually(LIMIT, serves).unwrap();
    daemon
}

/// Holds a lock until it is dropped. `command` is flock, of whoever is to hold it.
#[track_caller]
fn hold(world: &World, mut command: Command, path: &str) -> Process {
    let holding = Process::start(command.args(["-x", path, "sleep", "300"]));
    let is_held = || {
        let taken = run(world.command("flock").args(["-n", path, "true"]), LIMIT).unwrap();
        (!taken.success()).then_some(()).ok_or("not held yet".to_owned())
    };
    eventually(LIMIT, is_held).unwrap();
    holding
}

/// What a loaded instance, a trace that has lost events, a swap that was killed and a killed daemon leave.
#[test]
fn attack_no_file_can_be_read_or_held_by_others() {
    support::test("modes of files", 120, || {
        let world = World::new("modes", CLOSED);
        // as an earlier ccctl, or a umask, has left them
        world.shell(
            "mkdir -m 0755 /run/ccctl; cd /run/ccctl; umask 0
             for file in lock daemon.lock trace_lost_events; do echo 1 >$file; chmod 0666 $file; done",
        );
        let load = format!("umask 0; exec {} load reno --as attack_a", support::CCCTL);
        world.shell(&load);
        let config = world.folder().file("ccctl.toml", "");
        let daemon = daemon(&world, &config);
        let listens = || {
            let found = run(world.command("test").args(["-S", "/run/ccctl/ccctl.sock"]), LIMIT).unwrap();
            found.success().then_some(()).ok_or("no socket yet".to_owned())
        };
        eventually(LIMIT, listens).unwrap();
        let open = world.shell("find /run/ccctl -type f -perm /0177 ! -name trace_lost_events");
        assert_eq!(open, "", "these are open to others");
        for file in ["lock", "daemon.lock"] {
            assert!(world.attack_fails(&format!("flock -n /run/ccctl/{file} true")), "{file}");
            assert!(world.attack_fails(&format!("cat /run/ccctl/{file}")), "{file}");
        }
        drop(daemon);
        world.succeeds(&["down"]);
        assert_eq!(world.shell("ls -A /run/ccctl 2>/dev/null || true"), "");
    });
}

/// The kernel tests' own lock, which `lab run --backend netns` takes.
#[test]
fn attack_the_lock_of_the_kernel_tests_is_closed() {
    support::test("lock of the tests", 20, || {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata("/run/ccctl-kernel-tests.lock").unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    });
}

/// Files and folders that another user has made, or that are something else.
#[test]
fn attack_files_of_others_are_refused() {
    support::test("files of others", 120, || {
        let world = World::new("others", CLOSED);
        let canary = world.folder().file("canary", "as before");
        for (script, what) in [
            ("mkdir /run/ccctl; chown 65534 /run/ccctl", "belongs to user 65534"),
            ("mkdir -m 0777 /run/ccctl", "may be written by others (mode 0777)"),
            ("mkdir /run/x; ln -s /run/x /run/ccctl", "is a symbolic link"),
            ("touch /run/ccctl", "is not a folder"),
            ("mkdir /run/ccctl; touch /run/ccctl/lock; chown 65534 /run/ccctl/lock", "belongs to user 65534"),
            (&format!("mkdir /run/ccctl; ln -s {canary} /run/ccctl/lock"), "is a symbolic link"),
            ("mkdir /run/ccctl; mkfifo -m 0600 /run/ccctl/lock", "is not a file"),
        ] {
            world.shell(script);
            for words in [&["load", "reno", "--as", "attack_a"][..], &["default", "reno"], &["unload", "attack_a"]] {
                let output = world.ccctl(words);
                is_refusal(&format!("{script}: {words:?}"), &output, code::HOST, &["/run/ccctl", what, "try:"]);
            }
            world.shell("rm -rf /run/ccctl /run/x");
        }
        assert_eq!(std::fs::read_to_string(&canary).unwrap(), "as before");
    });
}

/// What holds a lock is asked of the kernel: not read from the file, where a process may have written that has long ended.
#[test]
fn attack_the_holder_of_a_lock_is_named_truly() {
    support::test("holder of the lock", 120, || {
        let world = World::new("holder", CLOSED);
        world.shell("mkdir -m 0755 /run/ccctl; echo -n 1 >/run/ccctl/lock; echo -n 1 >/run/ccctl/daemon.lock");
        let config = world.folder().file("ccctl.toml", "");

        let holding = hold(&world, world.command("flock"), "/run/ccctl/daemon.lock");
        for words in [&["daemon", "--config", &config][..], &["apply", &config], &["down"]] {
            let output = world.ccctl(words);
            let named = format!("flock (pid {})", holding.id());
            is_refusal(&format!("{words:?}"), &output, code::REFUSED, &[&named, "daemon.lock", "try: ps -f -p "]);
            assert!(!output.stderr.contains("kill"), "{}", output.stderr);
        }
        drop(holding);

        let holding = hold(&world, world.command("flock"), "/run/ccctl/lock");
        let started = Instant::now();
        let output = world.ccctl(&["load", "reno", "--as", "attack_a"]);
        let named = format!("flock (pid {})", holding.id());
        is_refusal("load", &output, LOCKED, &[&named, "/run/ccctl/lock", "try: wait for it"]);
        assert!((PATIENCE..PATIENCE * 2).contains(&started.elapsed()), "{:?}", started.elapsed());
    });
}

/// A real daemon is named as one, and may be killed.
#[test]
fn a_daemon_that_runs_is_named() {
    support::test("a daemon is named", 60, || {
        let world = World::new("named", CLOSED);
        let config = world.folder().file("ccctl.toml", "");
        let daemon = daemon(&world, &config);
        let named = format!("a ccctl daemon is already running (pid {})", daemon.id());
        let remedy = format!("try: kill {}", daemon.id());
        let refuses = || {
            let output =
                run(world.command("timeout").args(["5", support::CCCTL, "daemon", "--config", &config]), LIMIT);
            let output = output.unwrap();
            let is_named = output.stderr.contains(&named) && output.stderr.contains(&remedy);
            is_named.then_some(()).ok_or(output.stderr)
        };
        eventually(LIMIT, refuses).unwrap();
    });
}

/// Scrapes read the number of lost events; whoever holds a lock on its file keeps none of them waiting.
#[test]
fn attack_a_held_lock_stops_no_scrape() {
    support::test("scrapes", 60, || {
        let world = World::new("scrapes", CLOSED);
        let port = 20_000 + u16::try_from(world.pid() % 20_000).unwrap();
        let config = format!("[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n");
        let config = world.folder().file("ccctl.toml", config);
        // as an earlier ccctl has left it
        world.shell("mkdir -m 0755 /run/ccctl; echo -n 00000000000000000007 >/run/ccctl/trace_lost_events");
        let holding = hold(&world, world.attacker("flock"), "/run/ccctl/trace_lost_events");
        let _daemon = daemon(&world, &config);
        let address = format!("http://127.0.0.1:{port}/metrics");
        let answers = || {
            let output = run(world.command("curl").args(["--silent", "--max-time", "5", &address]), LIMIT).unwrap();
            output.stdout.contains("ccctl_trace_lost_events_total 7").then_some(()).ok_or(output.stdout)
        };
        eventually(LIMIT, answers).unwrap();
        drop(holding);
    });
}
