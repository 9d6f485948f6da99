// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loopback port: where it listens, what it answers to damaged requests and to many, and what a kill leaves.

use crate::support;
use crate::support::metrics;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ccctl_testbed::eventually;
use metrics::{fetch, fetch_port, free_port, Scrape, LIMIT};
use support::daemon::Daemon;

/// Longer than the server waits for a header.
const SILENCE: Duration = Duration::from_secs(25);

fn config(port: u16) -> String {
    format!("[metrics]\nenabled = true\nlisten = \"127.0.0.1:{port}\"\n")
}

fn listens(port: u16, wanted: bool) {
    let is_so =
        || (TcpStream::connect(("127.0.0.1", port)).is_ok() == wanted).then_some(()).ok_or("not yet".to_owned());
    eventually(LIMIT, is_so).unwrap();
}

/// Sends it as it is, and gives all that comes back.
fn raw(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    let _ = stream.write_all(bytes); // it may hang up before all of it is there
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer); // a reset is an end, too
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn nothing_but_metrics_is_answered_whatever_comes() {
    support::test("metrics: requests", 120, || {
        let port = free_port();
        let mut daemon = Daemon::start("metrics-port", &config(port));
        listens(port, true);
        let close = "Host: localhost\r\nConnection: close\r\n\r\n";
        for (request, status) in [
            (format!("GET /metrics HTTP/1.1\r\n{close}"), "200"),
            (format!("HEAD /metrics HTTP/1.1\r\n{close}"), "200"),
            (format!("GET / HTTP/1.1\r\n{close}"), "200"),
            (format!("GET /metrics?x=1 HTTP/1.1\r\n{close}"), "200"),
            (format!("POST /metrics HTTP/1.1\r\n{close}"), "405"),
            (format!("DELETE /metrics HTTP/1.1\r\n{close}"), "405"),
            (format!("GET /v1/list HTTP/1.1\r\n{close}"), "404"),
            (format!("POST /v1/down HTTP/1.1\r\n{close}"), "404"),
            (format!("GET /metrics/../v1/status HTTP/1.1\r\n{close}"), "404"),
            ("GET /metrics HTTP/1.0\r\n\r\n".to_owned(), "200"),
            ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".to_owned(), "421"),
            (
                "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(),
                "421",
            ),
            ("no HTTP at all\r\n\r\n".to_owned(), "400"),
            ("GET /metrics HTTP/9.9\r\n\r\n".to_owned(), "400"),
            (format!("GET /metrics HTTP/1.1\r\nX: {}\r\n{close}", "x".repeat(1 << 20)), "431"),
        ] {
            let answer = raw(port, request.as_bytes());
            let first = answer.lines().next().unwrap_or_default();
            let shown: String = request.chars().take(60).collect();
            // Who sends a megabyte may find the connection reset before it reads why.
            let is_reset = status == "431" && answer.is_empty();
            assert!(is_reset || first.split(' ').nth(1) == Some(status), "{shown:?}: {first:?}");
        }
        for garbage in [
            &[0_u8; 4096][..],
            &[0xff; 100],
            b"\x16\x03\x01\x02\x00\x01\x00",
            b"GET /metrics HTTP/1.1\r\nHo\0st: \xff\r\n\r\n",
        ] {
            let answer = raw(port, garbage);
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer:?}");
        }
        // More than may connect at once, who all keep silent: those before are let go when their time is over.
        let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        assert_eq!(fetch(&daemon, &[]).0, 200, "the unix socket has room of its own");
        let has_room = || match fetch_port(port, &[]).0 {
            200 => Ok(()),
            status => Err(format!("{status}")),
        };
        eventually(SILENCE, has_room).unwrap();
        drop(silent);
        daemon.json(&["down", "--json"]);
        assert_eq!(daemon.ended(), Some(0));
    });
}

#[test]
fn a_port_follows_the_file_and_a_taken_one_is_tried_again() {
    support::test("metrics: ports", 120, || {
        let (first, second) = (free_port(), free_port());
        let daemon = Daemon::start("metrics-ports", &config(first));
        listens(first, true);
        daemon.reload(&config(second));
        listens(second, true);
        listens(first, false);
        let taken = std::net::TcpListener::bind(("127.0.0.1", first)).unwrap();
        daemon.reload(&config(first));
        listens(second, false);
        assert_eq!(fetch(&daemon, &[]).0, 200, "the unix socket goes on");
        assert!(daemon.log().contains(&format!("cannot listen at 127.0.0.1:{first}")), "{}", daemon.log());
        drop(taken);
        let answers = || (fetch_port(first, &[]).0 == 200).then_some(()).ok_or("not yet".to_owned());
        eventually(LIMIT, answers).unwrap();
        daemon.reload("");
        listens(first, false);
    });
}

/// Programs of the metrics that the kernel has.
fn programs() -> usize {
    let all = aya::programs::loaded_programs().flatten();
    all.filter(|program| ["ack_arrives", "look"].contains(&program.name_as_str().unwrap_or_default())).count()
}

/// A scrape is whole or it fails: also while files are read again and while the daemon is killed, which leaves no program behind.
#[test]
fn scrapes_are_whole_through_reloads_and_a_kill() {
    support::test("metrics: kill", 120, || {
        let port = free_port();
        let mut daemon = Daemon::start("metrics-kill", &config(port));
        listens(port, true);
        let (stop, whole, failed) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let accept = "Accept: application/openmetrics-text;version=1.0.0";
                        let (status, body) = fetch_port(port, &["--fail", "--header", accept]);
                        // What is cut off has no end: curl fails, and tells no status of a success.
                        if status == 200 && body.ends_with("# EOF\n") {
                            whole.fetch_add(1, Ordering::Relaxed);
                        } else {
                            assert!(status != 200 || body.is_empty(), "a part of a scrape: {body}");
                            failed.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(50));
                        }
                    }
                });
            }
            for more in ["bpf_stats = true\n", "", "acks = [\"lo\"]\n", ""] {
                daemon.reload(&format!("{}{more}", config(port)));
            }
            daemon.reload("");
            daemon.reload(&config(port));
            listens(port, true);
            daemon.kill();
            let left = eventually(LIMIT, || (programs() == 0).then_some(()).ok_or("programs are left".to_owned()));
            daemon.start_again();
            listens(port, true);
            let before = whole.load(Ordering::Relaxed);
            let goes_on = || (whole.load(Ordering::Relaxed) > before + 3).then_some(()).ok_or("no scrape".to_owned());
            let again = eventually(LIMIT, goes_on);
            stop.store(true, Ordering::Relaxed);
            left.unwrap();
            again.unwrap();
        });
        println!("{} scrapes, {} failed", whole.load(Ordering::Relaxed), failed.load(Ordering::Relaxed));
        assert!(whole.load(Ordering::Relaxed) > 10);
        let (_, text) = fetch(&daemon, &[]);
        assert_eq!(Scrape::of(&text).count("ccctl_scrape_success", &[]), 1);
        daemon.json(&["down", "--json"]);
        assert_eq!(daemon.ended(), Some(0));
    });
}

/// An interface that is not there: the clock fails alone, and says so.
#[test]
fn what_cannot_be_measured_is_left_out_and_told() {
    support::test("metrics: failure", 60, || {
        let mut daemon = Daemon::start("metrics-failure", "[metrics]\nenabled = true\nacks = [\"nosuch0\"]\n");
        let scrape = metrics::scrape(&daemon);
        assert_eq!(scrape.count("ccctl_scrape_success", &[]), 0);
        assert_eq!(scrape.count("ccctl_scrape_collector_success", &[("collector", "clock")]), 0);
        let failed =
            scrape.lines("ccctl_scrape_collector_success", &[]).iter().filter(|line| line.value == 0.0).count();
        assert_eq!(failed, 1, "the others go on");
        assert!(!scrape.names().iter().any(|name| name.starts_with("ccctl_ack_waiting")), "{:?}", scrape.names());
        assert!(scrape.names().contains("ccctl_backlog_processed_packets_total"));
        assert!(daemon.log().contains("nosuch0"), "{}", daemon.log());
        daemon.json(&["down", "--json"]);
        assert_eq!(daemon.ended(), Some(0));
    });
}
