// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files and requests that are damaged in every way: none crashes the daemon, and none changes anything.

use crate::support;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ccctl_testbed::{assert_same, HostState};
use serde_json::json;
use support::daemon::Daemon;
use support::Random;

const WANTED: usize = 1000;
const START: u64 = 0x0cc0_71da_e304;

/// What is put in where something is damaged: what both languages give a meaning to, and what no language does.
const TOKENS: [&str; 24] = [
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "=",
    "\n",
    "\r\n",
    ",",
    "#",
    "\\",
    "\0",
    "\u{feff}",
    "é",
    "-1",
    "1e999",
    "0x",
    "null",
    "true",
    "99999999999999999999",
    "%00",
    "..",
];

fn seeds(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seeds").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// One of the seeds, damaged in one to four places.
fn damaged(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut pick = |bound: usize| random.below(bound as u64) as usize;
    let mut bytes = seeds[pick(seeds.len())].clone();
    for _ in 0..=pick(4) {
        let at = pick(bytes.len() + 1);
        let end = (at + pick(24)).min(bytes.len());
        match pick(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => drop(bytes.splice(at..at, TOKENS[pick(TOKENS.len())].bytes())),
            3 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 => {
                let other = &seeds[pick(seeds.len())];
                let from = pick(other.len());
                bytes.splice(at..end, other[from..].iter().copied());
            }
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << pick(8)),
        }
    }
    bytes
}

/// Sends bytes on a connection of their own; gives the status of the first answer, 0 without one.
fn send(daemon: &Daemon, bytes: &[u8]) -> u16 {
    let mut stream = UnixStream::connect(daemon.socket()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // It may be refused before its end, or end before its answer.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn apply(daemon: &Daemon, text: &str, dry_run: bool) -> u16 {
    let body = json!({ "file": "f.toml", "text": text, "dry_run": dry_run }).to_string();
    let head =
        format!("POST /v1/apply HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    send(daemon, format!("{head}{body}").as_bytes())
}

#[test]
fn a_thousand_malformed_files_change_nothing() {
    support::test("malformed files", 300, || {
        let daemon = Daemon::start("files", "[instance.mkept]\nalgorithm = \"reno\"\n");
        let before = HostState::read().unwrap();
        let (seeds, mut random) = (seeds("config"), Random(START));
        let (mut refused, mut fine) = (0, 0);
        while refused < WANTED {
            let text = String::from_utf8_lossy(&damaged(&seeds, &mut random)).into_owned();
            match apply(&daemon, &text, true) {
                // What the damage has left right is only looked at.
                200 => fine += 1,
                422 => {
                    assert_eq!(apply(&daemon, &text, false), 422, "{text}");
                    refused += 1;
                    if refused % 100 == 0 {
                        let status = daemon.reload(&text.replace('\0', " "));
                        assert!(
                            status["error"]["cause"].as_str().is_some_and(|error| error.contains("ccctl.toml")),
                            "{status}"
                        );
                    }
                }
                status => panic!("{status} for {text:?}"),
            }
        }
        assert_eq!(support::names(), ["mkept"]);
        assert_same(&before);
        println!("{refused} refused, {fine} without a mistake");
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn a_thousand_malformed_requests_change_nothing() {
    support::test("malformed requests", 300, || {
        let daemon = Daemon::start("requests", "[instance.mkept]\nalgorithm = \"reno\"\n");
        let before = HostState::read().unwrap();
        let (seeds, mut random) = (seeds("api"), Random(START));
        let mut answers = std::collections::BTreeMap::<u16, usize>::new();
        let mut refused = 0;
        while refused < WANTED {
            let request = damaged(&seeds, &mut random);
            let status = send(&daemon, &request);
            assert!(status < 500 || status == 501, "{status} for {:?}", String::from_utf8_lossy(&request));
            *answers.entry(status).or_default() += 1;
            refused += usize::from(status != 200);
        }
        println!("answers by status: {answers:?}");
        assert_eq!(daemon.get("daemon").ok()["pid"], daemon.pid());
        assert!(daemon.get("show?name=mkept").ok()["kind"] == "instance");
        assert_same(&before);
        daemon.json(&["down", "--json"]);
    });
}
