// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who may ask, how much and how long.

use crate::support;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use ccctl_testbed::{eventually, run, HostState};
use support::daemon::{Answer, Daemon};
use support::{claim, code, is_refusal, Folder, CCCTL};

/// A command as a user with these groups.
pub fn as_user(user: &str, group: &str, groups: &str, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", group]);
    if groups.is_empty() {
        command.arg("--clear-groups");
    } else {
        command.args(["--groups", groups]);
    }
    command.args(["--inh-caps=-all", "--no-new-privs", program]);
    command
}

#[test]
fn who_may_do_what_is_decided_by_who_they_are() {
    support::test("who may what", 120, || {
        // nogroup (65534) stands for the group, nobody (65534) for its member
        let folder = Folder::new("who");
        let api = format!("[api]\nsocket = \"{}/socket\"\nread_group = \"nogroup\"\n", folder.path().display());
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let copy = folder.path().join("ccctl"); // the build's folder may be closed to others
        std::fs::copy(CCCTL, &copy).unwrap();
        let daemon = Daemon::start_with(folder, std::path::Path::new(CCCTL), &api);
        let curl = |user, group, groups, arguments: &[&str], path: &str| {
            daemon.curl_as(as_user(user, group, groups, "curl"), arguments, path)
        };
        let load = ["--data", "{\"algorithm\": \"reno\", \"name\": \"apiwho\"}"];
        let before = HostState::read().unwrap();
        claim("apiwho"); // were it not refused

        let readers: [(&str, &str, &str); 2] = [("65534", "65534", ""), ("12345", "12345", "7,65534")];
        for (user, group, groups) in readers {
            for path in ["/v1/list", "/v1/show?name=cubic", "/v1/default", "/v1/status", "/v1/openapi.json"] {
                curl(user, group, groups, &[], path).ok();
            }
            let refused =
                |answer: Answer| assert!(answer.refusal(403).contains("only root may use"), "{}", answer.body);
            refused(curl(user, group, groups, &load, "/v1/load"));
            refused(curl(user, group, groups, &["--data", "{}"], "/v1/down"));
            refused(curl(user, group, groups, &["--data", "{\"name\": \"reno\"}"], "/v1/default"));
            refused(curl(user, group, groups, &["--data", "{\"algorithm\": \"/etc/shadow.o\"}"], "/v1/check"));
            assert_eq!(curl(user, group, groups, &[], "/v1/check?algorithm=/etc/shadow.o").status, 405);
        }
        for path in ["/v1/list", "/v1/daemon", "/v1/openapi.json", "/v1/none"] {
            assert!(curl("12345", "12345", "7", &[], path).refusal(403).contains("permission denied for user 12345"));
        }
        assert!(curl("12345", "12345", "7", &load, "/v1/load").refusal(403).contains("permission denied for user"));
        assert!(daemon.log().contains("refused: POST /v1/load of user 12345"), "{}", daemon.log());

        // the program: through the API as a reader, by itself as a stranger
        let program = |user, group, words: &[&str]| {
            let mut command = as_user(user, group, "", copy.to_str().unwrap());
            run(command.args(words).env("CCCTL_SOCKET", daemon.socket()), Duration::from_secs(20)).unwrap()
        };
        assert!(program("65534", "65534", &["list", "--json"]).success());
        is_refusal("reader", &program("65534", "65534", &["load", "reno", "--as", "apiwho"]), code::HOST, &["root"]);
        is_refusal("stranger", &program("12345", "12345", &["load", "reno", "--as", "apiwho"]), code::HOST, &["root"]);
        is_refusal("stranger", &program("12345", "12345", &["daemon"]), code::HOST, &["/run/ccctl", "run as root"]);
        assert!(program("12345", "12345", &["show", "cubic"]).success(), "that needs no privileges");
        ccctl_testbed::assert_same(&before);
    });
}

/// Sends bytes as they are, and reads until the end.
fn raw(daemon: &Daemon, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(daemon.socket()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(bytes); // it may be refused before its end
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer); // or closed
    answer
}

#[test]
fn requests_that_are_too_large_too_slow_or_too_many_get_a_clear_answer() {
    support::test("limits", 120, || {
        let daemon = Daemon::start("limits", "");
        let long = format!("{{\"algorithm\": \"{}\"}}", "x".repeat(70_000));
        assert!(daemon.curl(&["--data", &long], "/v1/check").refusal(413).contains("65536"));
        let long = format!("/v1/show?name={}", "x".repeat(20_000));
        assert!([414, 431].contains(&daemon.curl(&[], &long).status));

        let started = Instant::now();
        let (without_end, without_body) = std::thread::scope(|scope| {
            let of = |request: &'static [u8]| scope.spawn(|| raw(&daemon, request));
            let first = of(b"GET /v1/list HTTP/1.1\r\nhost: x\r\n");
            let second = of(b"POST /v1/list HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{");
            (first.join().unwrap(), second.join().unwrap())
        });
        assert!(without_end.starts_with("HTTP/1.1 408"), "{without_end}");
        assert!(without_body.starts_with("HTTP/1.1 408") && without_body.contains("within 10 s"), "{without_body}");
        assert!(started.elapsed() < Duration::from_secs(15) && started.elapsed() > Duration::from_secs(8));

        let connect = || UnixStream::connect(daemon.socket()).unwrap();
        let mut held: Vec<UnixStream> = (0..32).map(|_| connect()).collect();
        let full = eventually(Duration::from_secs(5), || match daemon.get("list").status {
            503 => Ok(()),
            status => {
                held.push(connect()); // an earlier connection had its place for a moment longer, and one of these was refused
                Err(format!("status {status}"))
            }
        });
        full.unwrap();
        assert!(daemon.get("list").refusal(503).contains("too many connections"));
        drop(held);
        let free = eventually(Duration::from_secs(5), || match daemon.get("list").status {
            200 => Ok(()),
            status => Err(format!("status {status}")),
        });
        free.unwrap();
        // strangers cannot take root's connections
        let mut holder = as_user("12345", "12345", "", "perl");
        holder.args(["-e", HOLD, daemon.socket().to_str().unwrap()]);
        std::fs::set_permissions(daemon.folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let _holder = ccctl_testbed::Background::start(&mut holder).unwrap();
        let is_turned_away = || daemon.log().contains("12345").then_some(()).ok_or_else(|| daemon.log());
        eventually(Duration::from_secs(5), is_turned_away).unwrap();
        daemon.get("list").ok();
    });
}

/// Opens a hundred connections and keeps them.
const HOLD: &str = "use Socket; my @held;
    for (1 .. 100) { my $one; socket($one, PF_UNIX, SOCK_STREAM, 0) && connect($one, sockaddr_un($ARGV[0])) or die $!; push @held, $one }
    print 'held'; $| = 1; sleep 20";
