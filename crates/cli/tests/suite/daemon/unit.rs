// SPDX-License-Identifier: MIT OR Apache-2.0
//! The daemon as a service: the privileges of `configs/ccctl.service` are enough and none too many, the service manager
//! is told what it asks for, the log is not flooded, and memory is small.

use crate::support;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ccctl_testbed::{eventually, Cgroup, Network, Output};
use serde_json::Value;
use support::daemon::Daemon;
use support::process::Process;
use support::{claim, Folder, CCCTL};

const UNIT: &str = include_str!("../../../../../configs/ccctl.service");

/// Most that the daemon may keep of its own, kB. Pages of its file come besides, which the kernel can drop: 12 MB of the program
/// that is installed, and 28 MB of one that is not optimized.
const MEMORY_KB: u64 = 10 << 10;

/// A value of the unit.
fn unit(key: &str) -> &'static str {
    let prefix = format!("{key}=");
    UNIT.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap()
}

/// A daemon as the unit starts it, with these capabilities alone.
fn limited(folder: Folder, capabilities: &[&str]) -> Daemon {
    let words: Vec<String> = capabilities.iter().map(|name| format!("+{}", name[4..].to_lowercase())).collect();
    let bounding = format!("-all,{}", words.join(","));
    // the daemon's own file name is an argument of the script, so that what it starts finds the same program
    let script = folder.file(
        "start",
        format!("#!/bin/sh\nexec setpriv --bounding-set={bounding} --inh-caps=-all --no-new-privs {CCCTL} \"$@\"\n"),
    );
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    Daemon::spawned(folder, Path::new(&script), "")
}

/// A process of another user, in a network namespace that only it leads to, which listens with an algorithm.
struct Stranger(Process);

impl Stranger {
    fn start(algorithm: &str) -> Self {
        const LISTEN: &str = "use Socket; $| = 1;
            my $listener; socket($listener, PF_INET, SOCK_STREAM, 0) && bind($listener, sockaddr_in(0, INADDR_LOOPBACK))
                && setsockopt($listener, 6, 13, $ARGV[0]) && listen($listener, 1) or die $!;
            print 'ready'; sleep 60";
        let mut command = Command::new("unshare");
        command.args(["--net", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command.args(["perl", "-e", LISTEN, algorithm]).stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut ready = [0; 5];
        std::io::Read::read_exact(process.0.stdout.as_mut().unwrap(), &mut ready).unwrap();
        Stranger(process)
    }
}

/// Everything that needs privileges, through the daemon; gives what does not work.
fn what_fails(daemon: &Daemon) -> Vec<String> {
    let mut failed = Vec::new();
    let mut expect = |what: &str, output: &Output, holds: &dyn Fn(&Value) -> bool| {
        let answer = serde_json::from_str(&output.stdout).unwrap_or_default();
        if !output.success() || !holds(&answer) {
            failed.push(format!("{what} ({})", output.stderr.lines().next().unwrap_or("too little found")));
        }
    };
    let object = daemon.folder.file("mine.o", ccctl_catalog::algorithm("scalable").unwrap().object());
    expect("check", &daemon.ccctl(&["check", &object, "--json"]), &|answer| answer["accepted"] == true);
    let loaded = daemon.ccctl(&["load", "reno", "--as", "unone", "--json"]);
    expect("load", &loaded, &|answer| answer["changed"] == true);
    if !loaded.success() {
        return failed;
    }
    expect("load highspeed", &daemon.ccctl(&["load", "highspeed", "--as", "untwo", "--json"]), &|_| true);
    let tuned = daemon.ccctl(&["tune", "untwo", "table=even2006", "--json"]);
    expect("tune", &tuned, &|answer| answer["changed"] == true);
    expect("swap", &daemon.ccctl(&["swap", "unone", "--with", "scalable", "--json"]), &|_| true);
    expect("show", &daemon.ccctl(&["show", "unone", "--json"]), &|answer| answer["algorithm"] == "scalable");
    {
        let stranger = Stranger::start("unone");
        let pid = stranger.0.id().to_string();
        let listed = daemon.ccctl(&["list", "--json"]);
        expect("count sockets of other users", &listed, &|answer| answer["instances"][0]["socket_count"] == 1);
        let migrated = daemon.ccctl(&["migrate", "--instance", "unone", "--to", "untwo", "--json"]);
        expect("migrate sockets of other users", &migrated, &|answer| answer["moved"] == 1);
        expect("why", &daemon.ccctl(&["why", "--pid", &pid, "--json"]), &|_| true);
    }
    let network = Network::new().unwrap();
    let mut default = Command::new(CCCTL);
    default.args(["default", "unone", "--json"]).env("CCCTL_SOCKET", daemon.socket());
    let default = network.client.run(&mut default, Duration::from_secs(20)).unwrap();
    expect("default of another namespace", &default, &|answer| answer["congestion_control"] == "unone");
    let cgroup = Cgroup::new("unit").unwrap();
    let assigned = daemon.ccctl(&["assign", "--cgroup", cgroup.path(), "unone", "--existing", "--json"]);
    expect("assign", &assigned, &|answer| answer["changed"] == true);
    expect("rules", &daemon.ccctl(&["rules", "--json"]), &|answer| !answer["rules"][0].is_null());
    let unassigned = daemon.ccctl(&["unassign", "--cgroup", cgroup.path(), "--json"]);
    expect("unassign", &unassigned, &|_| true);
    expect("unload", &daemon.ccctl(&["unload", "unone", "untwo", "--json"]), &|_| true);
    failed
}

#[test]
fn the_units_capabilities_are_enough_and_each_is_needed() {
    support::test("capabilities", 240, || {
        let all: Vec<&str> = unit("CapabilityBoundingSet").split(' ').collect();
        let mut daemon = limited(Folder::new("capabilities"), &all);
        assert_eq!(what_fails(&daemon), [""; 0], "{}", daemon.log());
        daemon.terminate();
        drop(daemon);
        for without in &all {
            let rest: Vec<&str> = all.iter().copied().filter(|name| name != without).collect();
            let mut daemon = limited(Folder::new("capabilities"), &rest);
            let failed = what_fails(&daemon);
            println!("without {without}: {failed:#?}");
            daemon.terminate();
            assert!(!failed.is_empty(), "{without} is not needed");
            for words in [&["unassign", "--all"][..], &["unload", "unone", "--force"], &["unload", "untwo", "--force"]]
            {
                support::ccctl(words); // what is there
            }
        }
    });
}

/// Datagrams that the daemon sends to the service manager, for so long.
fn told(socket: &UnixDatagram, time: Duration) -> String {
    let (started, mut all) = (Instant::now(), String::new());
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut buffer = [0; 4096];
    while started.elapsed() < time {
        if let Ok(count) = socket.recv(&mut buffer) {
            // the journal's protocol puts lengths, in binary, before values
            let text = String::from_utf8_lossy(&buffer[..count]);
            all.extend(text.chars().filter(|letter| !letter.is_control() || *letter == '\n'));
            all.push('\n');
        }
    }
    all
}

#[test]
fn the_service_manager_is_told() {
    support::test("notify", 120, || {
        let folder = Folder::new("notify");
        let manager = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        let path = folder.path().join("notify").to_str().unwrap().to_owned();
        claim("unotify");
        let file = folder.path().join("ccctl.toml");
        let config = format!(
            "[instance.unotify]\nalgorithm = \"reno\"\n[api]\nsocket = \"{}/socket\"\n",
            folder.path().display()
        );
        std::fs::write(&file, &config).unwrap();
        let environment = [("NOTIFY_SOCKET", path.as_str()), ("WATCHDOG_USEC", "1500000")];
        let mut daemon = support::daemon::spawn(&folder, Path::new(CCCTL), &environment);
        let at_start = told(&manager, Duration::from_secs(3));
        assert!(at_start.contains("READY=1") && at_start.contains("STATUS=1 instances, 0 problems"), "{at_start}");
        assert!(at_start.matches("WATCHDOG=1").count() >= 3, "every 0.5 s: {at_start}");
        let signal = |name: &str| Command::new("kill").args(["-s", name, &daemon.id().to_string()]).status().unwrap();
        signal("HUP");
        let at_reload = told(&manager, Duration::from_secs(1));
        let reloading = at_reload.find("RELOADING=1").expect("it is told");
        assert!(at_reload[reloading..].contains("MONOTONIC_USEC=") && at_reload[reloading..].contains("READY=1"));
        // the pings are those of the loop: while it waits for another ccctl there are none
        let lock = nix_lock("/run/ccctl/lock");
        kernel_drift();
        told(&manager, Duration::from_secs(3));
        let held = told(&manager, Duration::from_secs(2));
        assert_eq!(held.matches("WATCHDOG=1").count(), 0, "{held}");
        drop(lock);
        assert!(told(&manager, Duration::from_secs(2)).contains("WATCHDOG=1"));
        signal("TERM");
        assert!(told(&manager, Duration::from_secs(1)).contains("STOPPING=1"));
        assert!(daemon.wait().unwrap().success());
        support::succeeds(&["unload", "unotify"]);
    });
}

/// Holds a lock as another ccctl would.
fn nix_lock(path: &str) -> nix::fcntl::Flock<std::fs::File> {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockExclusive).map_err(|(_, errno)| errno).unwrap()
}

/// Something to put right, made without the lock.
fn kernel_drift() {
    std::fs::remove_file("/sys/fs/bpf/ccctl/instances/unotify").unwrap();
}

#[test]
fn the_journal_gets_levels_and_no_flood() {
    const JOURNAL: &str = "/run/systemd/journal/socket";
    support::test("journal", 120, || {
        assert!(!Path::new(JOURNAL).exists(), "the test plays the journal, and there is one");
        std::fs::create_dir_all(Path::new(JOURNAL).parent().unwrap()).unwrap();
        let (journal, played) = (UnixDatagram::bind(JOURNAL).unwrap(), Removed(JOURNAL));
        let folder = Folder::new("journal");
        let config = format!("[api]\nsocket = \"{}/socket\"\n", folder.path().display());
        folder.file("ccctl.toml", &config);
        folder.file("log", "");
        let log = std::fs::metadata(folder.path().join("log")).unwrap();
        let stream = format!("{}:{}", log.dev(), log.ino());
        let mut daemon = Process(support::daemon::spawn(&folder, Path::new(CCCTL), &[("JOURNAL_STREAM", &stream)]));
        let started = told(&journal, Duration::from_secs(2));
        assert!(started.contains("PRIORITY\n5"), "{started}");
        assert!(
            started.contains(concat!("ccctl ", env!("CARGO_PKG_VERSION"), " serves"))
                && started.contains("SYSLOG_IDENTIFIER\nccctl"),
            "{started}"
        );
        std::fs::write(folder.path().join("ccctl.toml"), "x").unwrap();
        for count in 1..=20 {
            Command::new("kill").args(["-s", "HUP", &daemon.0.id().to_string()]).status().unwrap();
            let tried =
                || (reloads(&folder) >= count).then_some(()).ok_or(format!("no file is read for SIGHUP {count}"));
            eventually(Duration::from_secs(10), tried).unwrap();
        }
        let errors = told(&journal, Duration::from_secs(1));
        assert_eq!(errors.matches("PRIORITY\n3").count(), 1, "the same again is counted, not written: {errors}");
        daemon.0.kill().unwrap();
        drop(played);
    });
}

/// How often a daemon has read its file again, or refused it.
fn reloads(folder: &Folder) -> u64 {
    let mut status = Command::new(CCCTL);
    status.args(["status", "--json"]).env("CCCTL_SOCKET", folder.path().join("socket"));
    let answer: Value = serde_json::from_slice(&status.output().unwrap().stdout).unwrap();
    answer["daemon"]["reloads"].as_u64().unwrap()
}

/// A file that does not outlive its test.
struct Removed(&'static str);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0); // it may be gone
    }
}

#[test]
fn memory_is_small_with_ten_instances() {
    support::test("memory", 120, || {
        let algorithms = support::catalogue();
        let instance = |number: usize| {
            format!("[instance.umem{number}]\nalgorithm = \"{}\"\n", algorithms[number % algorithms.len()])
        };
        let config: String = (0..10).map(instance).collect();
        let daemon = Daemon::start("memory", &config);
        assert_eq!(support::names().len(), 10);
        let resident = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let at_start = resident();
        for number in 0..30 {
            let name = format!("umem{}", number % 10);
            assert!(daemon.ccctl(&["swap", &name]).success());
            daemon.get("list").ok();
            daemon.get("sockets").ok();
        }
        let settled = eventually(Duration::from_secs(10), || match resident() {
            kb if kb < MEMORY_KB => Ok(()),
            kb => Err(format!("{kb} kB")),
        });
        println!("of its own: {at_start} kB after the start, {} kB after 90 requests", resident());
        assert!(at_start < MEMORY_KB, "{at_start} kB");
        settled.unwrap();
        daemon.json(&["down", "--json"]);
    });
}
