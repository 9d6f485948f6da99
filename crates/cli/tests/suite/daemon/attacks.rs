// SPDX-License-Identifier: MIT OR Apache-2.0
//! What users may not do to the daemon who may not change anything, or may not ask at all.

use crate::daemon::access::as_user;
use crate::support;
use crate::support::metrics::{fetch_port, free_port, LIMIT};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use ccctl_testbed::{eventually, run, Background, Network};
use support::daemon::{Answer, Daemon};
use support::{code, is_refusal, Folder, CCCTL};

/// Somebody who is in no group of the daemon's.
const STRANGER: &str = "1234";
/// A member of `nogroup`, which the daemon's file names here.
const READER: &str = "65534";

/// A daemon that everybody can reach, and that nobody's group may read.
fn daemon(label: &str, config: &str) -> Daemon {
    let folder = Folder::new(label);
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let api = format!("[api]\nsocket = \"{}/socket\"\nread_group = \"nogroup\"\n", folder.path().display());
    Daemon::start_with(folder, std::path::Path::new(CCCTL), &format!("{config}{api}"))
}

fn as_reader(daemon: &Daemon, path: &str) -> Answer {
    daemon.curl_as(as_user(READER, READER, "", "curl"), &[], path)
}

/// Runs a Perl program as a stranger until it is dropped.
fn stranger(program: &str, words: &[&str]) -> Background {
    let mut command = as_user(STRANGER, STRANGER, "", "perl");
    Background::start(command.args(["-e", program]).args(words)).unwrap()
}

#[test]
fn attack_readers_give_names_and_processes_and_never_paths() {
    support::test("attack: paths", 120, || {
        let daemon = daemon("attack-paths", "");
        let fifo = daemon.folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
        let fifo = fifo.to_str().unwrap();
        let paths = [fifo, "/etc/shadow", "/etc/shadowx", "/proc/1/ns/net", "../../etc/shadow", "/"];
        let answers = paths.map(|path| as_reader(&daemon, &format!("/v1/sockets?filter[netns]={path}")));
        for answer in &answers {
            assert!(answer.refusal(403).contains("only root may use"), "{}", answer.body);
            assert_eq!(answer.body, answers[0].body, "one and the same answer");
        }
        for path in ["/../../../etc", "/../../../nosuch"] {
            let answer = as_reader(&daemon, &format!("/v1/sockets?filter[cgroup]={path}"));
            assert!(answer.refusal(422).contains("without .."), "{}", answer.body);
        }

        let network = Network::new().unwrap();
        let name = network.client.name();
        as_reader(&daemon, &format!("/v1/sockets?filter[netns]={name}")).ok();
        as_reader(&daemon, &format!("/v1/sockets?filter[netns_pid]={}", daemon.pid())).ok();
        let twice = as_reader(&daemon, &format!("/v1/sockets?filter[netns_pid]=1&filter[netns]={name}"));
        assert!(twice.refusal(422).contains("given twice"));

        // root may give a path, and a FIFO is not waited for: neither in the daemon nor in a command
        let started = Instant::now();
        for _ in 0..12 {
            daemon.get(&format!("sockets?filter[netns]={fifo}")).refusal(404);
        }
        for words in [&["sockets", "--netns", fifo][..], &["acks", "--netns", fifo]] {
            let mut command = Command::new(CCCTL);
            let output = run(command.args(words).env("CCCTL_SOCKET", ""), Duration::from_secs(20)).unwrap();
            is_refusal("a FIFO", &output, code::USAGE, &[fifo]);
        }
        assert!(started.elapsed() < LIMIT);
        let own = ["sockets", "--json", "--netns", &format!("/proc/{}/ns/net", daemon.pid())];
        daemon.json(&own);
    });
}

#[test]
fn attack_refusals_do_not_push_the_daemons_own_messages_out_of_the_log() {
    support::test("attack: log", 120, || {
        let daemon = daemon("attack-log", "");
        let mut curl = as_user(STRANGER, STRANGER, "", "curl");
        curl.args(["--silent", "--output", "/dev/null", "--unix-socket"]).arg(daemon.socket());
        assert!(run(curl.arg("http://localhost/v1/x[1-400]"), LIMIT).unwrap().success());
        let refused = daemon.log().matches("refused: GET /v1/x").count();
        assert!((1..50).contains(&refused), "{refused} refusals are in the log");

        daemon.post("load", &serde_json::json!({"algorithm": "reno", "name": "attlog"})).ok();
        daemon.post("unload", &serde_json::json!({"names": ["attlog"]})).ok();
        daemon.reload("x");
        let log = daemon.log();
        for expected in ["load for user 0", "unload for user 0", "was not reloaded"] {
            assert!(log.contains(expected), "{expected:?} is not in the log:\n{log}");
        }
        let reader = daemon.curl_as(as_user(READER, READER, "", "curl"), &["--data", "{}"], "/v1/down");
        reader.refusal(403);
        assert!(daemon.log().contains("refused: POST /v1/down of user 65534"), "another user has another budget");
    });
}

/// Connects and hangs up.
const FLOOD: &str = "use Socket; my $to = sockaddr_un($ARGV[0]); while (1) {
    my $one; socket($one, PF_UNIX, SOCK_STREAM, 0) && connect($one, $to); close $one }";

#[test]
fn attack_a_flood_of_connections_does_not_hide_the_daemon_from_commands() {
    support::test("attack: flood", 240, || {
        let daemon = daemon("attack-flood", "");
        let socket = daemon.socket();
        let _floods: Vec<Background> = (0..3).map(|_| stranger(FLOOD, &[socket.to_str().unwrap()])).collect();
        std::thread::sleep(Duration::from_secs(1));
        for round in 0..25 {
            let output = daemon.ccctl(&["apply", daemon.config().to_str().unwrap(), "--json"]);
            assert!(output.success(), "round {round}: {}", output.stderr);
            assert!(output.stdout.contains(&format!("\"kept_by\": {}", daemon.pid())), "{}", output.stdout);
        }
    });
}

/// Opens 16 connections, and a new one in the place of each that is closed.
const OCCUPY: &str = "use Socket; use IO::Select; my $to = sockaddr_in($ARGV[0], INADDR_LOOPBACK); my $held = IO::Select->new;
    while (1) {
        while ($held->count < 16) { my $one; socket($one, PF_INET, SOCK_STREAM, 0) && connect($one, $to) && $held->add($one) }
        for my $one ($held->can_read(0.05)) { $held->remove($one); close $one }
    }";

#[test]
fn attack_idle_connections_do_not_keep_prometheus_from_the_port() {
    support::test("attack: port", 240, || {
        let port = free_port();
        let _daemon = daemon("attack-port", &format!("[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n"));
        let answers = || (fetch_port(port, &[]).0 == 200).then_some(()).ok_or("not yet".to_owned());
        eventually(LIMIT, answers).unwrap();
        let _occupied = stranger(OCCUPY, &[&port.to_string()]);
        std::thread::sleep(Duration::from_secs(1));
        let scrapes: Vec<u16> = (0..20).map(|_| fetch_port(port, &[]).0).collect();
        assert_eq!(scrapes, [200; 20], "each scrape comes through");
    });
}

/// Asks for the metrics and hangs up, 3000 times.
const SCRAPE: &str = "use Socket; my $to = sockaddr_in($ARGV[0], INADDR_LOOPBACK);
    for (1 .. 3000) {
        my $one; socket($one, PF_INET, SOCK_STREAM, 0) && connect($one, $to) or die $!;
        syswrite $one, qq(GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n);
        close $one;
    }
    $| = 1; print 'done'; sleep 60";

/// While what scrapes read is held, so that none ends, the daemon's own loop goes on.
#[test]
fn attack_scrapes_that_do_not_end_do_not_stop_the_keeper() {
    const LOST_EVENTS: &str = "/run/ccctl/trace_lost_events";
    support::test("attack: scrapes", 240, || {
        let port = free_port();
        let metrics = format!("[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n");
        let mut daemon = daemon("attack-scrapes", &metrics);
        let answers = || (fetch_port(port, &[]).0 == 200).then_some(()).ok_or("not yet".to_owned());
        eventually(LIMIT, answers).unwrap();
        std::fs::write(LOST_EVENTS, "00000000000000000000").unwrap();
        let file = std::fs::File::options().write(true).open(LOST_EVENTS).unwrap();
        let held = nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockExclusive).map_err(|(_, errno)| errno);
        let held = held.unwrap();
        let mut command = as_user(STRANGER, STRANGER, "", "perl");
        let flood = run(command.args(["-e", &SCRAPE.replace("sleep 60", ""), &port.to_string()]), LIMIT * 2).unwrap();
        assert!(flood.stdout.contains("done"), "{}", flood.stderr);
        let threads = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap().count();
        assert!(threads < 50, "{threads} threads");
        daemon.reload(&format!("{metrics}[log]\nlevel = \"debug\"\n"));
        drop(held);
        daemon.json(&["down", "--json"]);
        assert_eq!(daemon.ended(), Some(0));
    });
}

/// Makes 2000 connections in this network namespace, and keeps them.
const CONNECTIONS: &str = "use Socket; my (@held, $listener);
    socket($listener, PF_INET, SOCK_STREAM, 0) && bind($listener, sockaddr_in(0, INADDR_LOOPBACK)) && listen($listener, 4096) or die $!;
    for (1 .. 2000) {
        my ($one, $other); socket($one, PF_INET, SOCK_STREAM, 0) && connect($one, getsockname $listener) or die $!;
        accept($other, $listener) or die $!; push @held, $one, $other;
    }
    $| = 1; print 'ready'; sleep 600";
/// Asks 8 times for all sockets, and reads nothing.
const ASK: &str = "use Socket; my @held; for (1 .. 8) {
        my $one; socket($one, PF_UNIX, SOCK_STREAM, 0) && connect($one, sockaddr_un($ARGV[0])) or die $!;
        syswrite $one, qq(GET /v1/sockets HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n); push @held, $one;
    }
    sleep 600";

/// The list of 4000 sockets has over 1 MB: two of a reader are kept, and further ones are refused.
#[test]
fn attack_answers_that_are_not_read_do_not_fill_the_memory() {
    support::test("attack: answers", 240, || {
        let daemon = daemon("attack-answers", "");
        let mut lo = Command::new("unshare");
        lo.args(["--net", "sh", "-c", "ip link set lo up && exec perl -e \"$0\"", CONNECTIONS]);
        let _connections = Background::start(&mut lo).unwrap();
        let all = || match daemon.get("sockets?without_owners=true").body.len() {
            bytes if bytes > 1 << 20 => Ok(()),
            bytes => Err(format!("{bytes} bytes")),
        };
        eventually(LIMIT, all).unwrap();
        let mut asks = as_user(READER, "65534", "", "perl");
        let asking = Background::start(asks.args(["-e", ASK, daemon.socket().to_str().unwrap()])).unwrap();
        let refused = || match daemon.curl_as(as_user("1235", "65534", "", "curl"), &[], "/v1/list").status {
            200 => match all_sockets(&daemon) {
                503 => Ok(()),
                status => Err(format!("status {status}")),
            },
            status => Err(format!("list: {status}")),
        };
        eventually(LIMIT, refused).unwrap();
        daemon.get("sockets").ok();
        drop(asking);
        let free = || match all_sockets(&daemon) {
            200 => Ok(()),
            status => Err(format!("status {status}")),
        };
        eventually(LIMIT * 2, free).unwrap();
    });
}

/// Status of a further request of the reader's for all sockets.
fn all_sockets(daemon: &Daemon) -> u16 {
    as_reader(daemon, "/v1/sockets").status
}

/// A reader has 12 connections at most, however long each of them follows; others and root have theirs.
#[test]
fn attack_followers_of_events_hold_up_nobody() {
    support::test("attack: followers", 120, || {
        let mut daemon = daemon("attack-followers", "");
        assert_eq!(daemon.curl_as(as_user(STRANGER, STRANGER, "", "curl"), &[], "/v1/events").status, 403);
        let socket = daemon.socket();
        let follow = || {
            let mut curl = as_user(READER, READER, "", "curl");
            curl.args(["--silent", "--no-buffer", "--unix-socket"]).arg(&socket);
            Background::start(curl.arg("http://localhost/v1/events?follow=true")).unwrap()
        };
        let followers: Vec<_> = (0..30).map(|_| follow()).collect();
        let is_full = || match as_reader(&daemon, "/v1/list").status {
            503 => Ok(()),
            status => Err(format!("status {status}")),
        };
        eventually(LIMIT, is_full).unwrap();
        daemon.curl_as(as_user("1235", READER, "", "curl"), &[], "/v1/list").ok();
        for number in 0..50 {
            daemon.ccctl(&["load", "reno", "--as", "kfollow"]);
            let answer = daemon.ccctl(&["unload", "kfollow"]);
            assert_eq!(answer.code, Some(0), "{number}: {}", answer.stderr);
        }
        drop(followers);
        let is_free = || match as_reader(&daemon, "/v1/list").status {
            200 => Ok(()),
            status => Err(format!("status {status}")),
        };
        eventually(LIMIT, is_free).unwrap();
        assert_eq!(daemon.terminate(), Some(0));
    });
}

#[test]
fn the_log_tells_a_dry_run_from_a_change() {
    support::test("dry run", 60, || {
        let daemon = daemon("dry-run", "");
        daemon.json(&["apply", daemon.config().to_str().unwrap(), "--dry-run", "--json"]);
        let log = daemon.log();
        let line = log.lines().find(|line| line.contains("apply for user 0")).unwrap_or_default();
        assert!(line.contains("dry run") && !line.contains(": done"), "{log}");
    });
}
