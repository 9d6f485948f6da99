// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard disables an instance that harms its connections, and no other.

use crate::support;
use crate::support::policy;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ccctl_testbed::{algorithm_of, connect, eventually, run_ok, settled, Cgroup, HostState, Namespace, Network};
use policy::{listen, pair, Pair};
use serde_json::Value;
use support::daemon::Daemon;
use support::{code, established, is_refusal, Folder};

const PATIENCE: Duration = Duration::from_secs(30);
const CLIENT: &str = "10.77.0.1";
pub const SERVER: &str = "10.77.0.2";
/// More than `min_connections`.
pub const COUNT: usize = 25;

/// Windows of a second, and the other limits as they are by default.
const GUARD: &str = "[guard]\nfallback = \"reno\"\nevery = \"1s\"\n";

/// Connections that carry something all the time, as far as the path lets them.
pub struct Traffic {
    stop: Arc<AtomicBool>,
    pump: Option<JoinHandle<()>>,
}

impl Traffic {
    /// From this cgroup, through the algorithm that its rules give.
    pub fn start(cgroup: &Cgroup, network: &Network) -> Self {
        Self::of(connections(cgroup, network))
    }

    /// From the first end of each to the second.
    pub fn of(connections: Vec<(TcpStream, TcpStream)>) -> Self {
        for (sender, receiver) in &connections {
            sender.set_nonblocking(true).unwrap();
            receiver.set_nonblocking(true).unwrap();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let pump = std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while !stopped.load(Ordering::Relaxed) {
                for (sender, receiver) in &connections {
                    let _ = (&mut &*sender).write(&buffer[..8000]); // a full buffer waits for the next round
                    let _ = (&mut &*receiver).read(&mut buffer);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Self { stop, pump: Some(pump) }
    }
}

/// `COUNT` from this cgroup, which carry nothing yet.
fn connections(cgroup: &Cgroup, network: &Network) -> Vec<(TcpStream, TcpStream)> {
    let listener = listen(cgroup, &network.server, SERVER);
    let pairs = (0..COUNT).map(|_| pair(cgroup, network, &listener, SERVER));
    pairs.map(|Pair { client, server }| (client, server)).collect()
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.pump.take().map(JoinHandle::join); // it has no result
    }
}

/// No answer gets to the client any more, or again.
fn cut(network: &Network, word: &str) {
    cut_from(&network.server, CLIENT, word);
}

/// Nothing gets from this namespace to an address any more, or again.
pub fn cut_from(namespace: &Namespace, to: &str, word: &str) {
    let words = ["-n", namespace.name(), "route", word, "blackhole", to];
    run_ok(Command::new("ip").args(words), PATIENCE).unwrap();
}

/// An instance, the guard, and a rule that gives the instance to a cgroup.
pub fn instance_with_rule(name: &str, cgroup: &Cgroup) -> String {
    let rule = format!("[[rule]]\ncgroup = \"{}\"\nuse = \"{name}\"\n", cgroup.path());
    format!("[instance.{name}]\nalgorithm = \"cubic\"\n{GUARD}{rule}")
}

#[track_caller]
pub fn soon(what: &str, daemon: &Daemon, holds: impl Fn() -> bool) {
    let waited = eventually(PATIENCE, || if holds() { Ok(()) } else { Err(format!("not so: {what}")) });
    waited.unwrap_or_else(|error| panic!("{error}\n{:#}\n{}", guard(daemon), daemon.log()));
}

pub fn guard(daemon: &Daemon) -> Value {
    daemon.get("guard").ok()
}

pub fn tripped(daemon: &Daemon) -> Vec<String> {
    let answer = guard(daemon);
    let tripped = answer["tripped"].as_array().unwrap();
    tripped.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until so many more windows have ended.
#[track_caller]
pub fn windows_end(daemon: &Daemon, more: u64) {
    let count = || guard(daemon)["guard"]["window_count"].as_u64().unwrap();
    let wanted = count() + more;
    soon(&format!("{wanted} windows have ended"), daemon, || count() >= wanted);
}

/// What is said of an instance that is watched.
pub fn watched(daemon: &Daemon, name: &str) -> Option<Value> {
    let answer = guard(daemon);
    answer["guard"]["watched"].as_array()?.iter().find(|one| one["name"] == name).cloned()
}

fn default() -> String {
    support::json(&["default", "--json"])["congestion_control"].as_str().unwrap().to_owned()
}

fn targets() -> Vec<String> {
    policy::rules().iter().map(|rule| rule["targets"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_instance_whose_connections_stall_is_disabled_until_it_is_enabled_again() {
    // an impossible window, as a kernel that leaves hooks out makes it, is not counted as stalled
    support::exact("trip", 180, || {
        let (path, other_path) = (Network::new().unwrap(), Network::new().unwrap());
        let (bad, good) = (Cgroup::new("guarded").unwrap(), Cgroup::new("baseline").unwrap());
        let config = format!(
            "default = \"kguard\"\n[instance.kguard]\nalgorithm = \"cubic\"\n{GUARD}\
             [[rule]]\ncgroup = \"{}\"\nuse = \"kguard\"\n[[rule]]\ncgroup = \"{}\"\nuse = \"reno\"\n",
            bad.path(),
            good.path()
        );
        let mut daemon = Daemon::start("trip", &config);
        let (_stalling, _going) = (Traffic::start(&bad, &path), Traffic::start(&good, &other_path));
        assert_eq!(established(&path.client, "kguard"), COUNT);
        soon("it is judged, and good", &daemon, || {
            let now = guard(&daemon);
            let fallback_is_baseline = now["guard"]["fallback_window"]["active"].as_u64() >= Some(20);
            fallback_is_baseline && watched(&daemon, "kguard").is_some_and(|one| one["is_judged"] == true)
        });
        assert_eq!(tripped(&daemon), [""; 0], "{}", daemon.log());

        cut(&path, "add");
        soon("it has tripped", &daemon, || tripped(&daemon) == ["kguard"]);
        soon("its connections are moved", &daemon, || established(&path.client, "reno") == COUNT);
        assert_eq!((established(&path.client, "kguard"), default()), (0, "reno".to_owned()));
        assert_eq!(targets(), ["reno", "reno"]);
        let listener = listen(&good, &other_path.server, SERVER);
        assert_eq!(pair(&bad, &other_path, &listener, SERVER).algorithms()[0], "reno", "a new connection by rule");
        is_told_everywhere(&daemon);

        // the next daemon knows; the file still names it, and it is not put back
        daemon.kill();
        daemon.start_again();
        assert_eq!(tripped(&daemon), ["kguard"]);
        daemon.compares_twice();
        assert_eq!((targets(), default()), (vec!["reno".to_owned(); 2], "reno".to_owned()));
        // who names it himself is moved in the next window
        let port = listener.local_addr().unwrap().port();
        let open = || connect(&format!("{SERVER}:{port}"), Some("kguard"), PATIENCE).unwrap();
        let own_choice = other_path.client.enter(open).unwrap();
        soon("one that was chosen is moved", &daemon, || algorithm_of(&own_choice).unwrap() == "reno");

        cut(&path, "del");
        let preview = daemon.json(&["guard", "rearm", "kguard", "--dry-run", "--json"]);
        assert_eq!((&preview["rearmed"], &preview["dry_run"]), (&"kguard".into(), &true.into()));
        assert_eq!(tripped(&daemon), ["kguard"], "a dry run changes nothing");
        let rearmed = daemon.json(&["guard", "rearm", "kguard", "--json"]);
        assert_eq!((&rearmed["rearmed"], &rearmed["tripped"]), (&"kguard".into(), &Value::Array(vec![])));
        assert_eq!((targets()[0].as_str(), default()), ("kguard", "kguard".to_owned()));
        assert_eq!(pair(&bad, &other_path, &listener, SERVER).algorithms()[0], "kguard");
        assert_eq!(established(&path.client, "reno"), COUNT, "those that were moved stay");
        soon("it is watched again", &daemon, || watched(&daemon, "kguard").is_some());
        is_refusal("rearm", &daemon.ccctl(&["guard", "rearm", "kguard"]), code::USAGE, &["kguard", "nothing"]);
        daemon.json(&["down", "--json"]);
    });
}

#[track_caller]
fn is_told_everywhere(daemon: &Daemon) {
    let answer = guard(daemon);
    let why = answer["tripped"][0]["why"].as_str().unwrap();
    assert!(why.contains(&format!("stalled {COUNT} of {COUNT} active connections (limit 50 %; reno ")), "{why}");
    assert_eq!(answer["tripped"][0]["fallback"], "reno");
    let log = daemon.log();
    assert!(log.contains("error: guard: kguard is disabled, failed over to reno: ") && log.contains(why), "{log}");
    assert!(log.contains("bad interval 2 of 3"), "{log}");
    for words in [&["status"][..], &["guard"]] {
        let said = daemon.ccctl(words).stdout;
        assert!(said.contains("kguard is disabled") && said.contains(why), "{words:?}: {said}");
    }
}

#[test]
fn what_was_made_by_hand_goes_along_and_down_ends_it() {
    support::test("by hand", 120, || {
        let path = Network::new().unwrap();
        let cgroup = Cgroup::new("byhand").unwrap();
        let daemon = Daemon::start("hand", GUARD);
        daemon.json(&["load", "cubic", "--as", "khand", "--json"]);
        daemon.json(&["assign", "--cgroup", cgroup.path(), "khand=90,cubic=10", "--json"]);
        let before = default();
        daemon.json(&["default", "khand", "--json"]);
        daemon.json(&["assign", "--cgroup", cgroup.path(), "khand", "--json"]);
        let _traffic = Traffic::start(&cgroup, &path);
        cut(&path, "add");
        soon("it has tripped", &daemon, || tripped(&daemon) == ["khand"]);
        soon("all uses reno", &daemon, || (targets(), default()) == (vec!["reno".to_owned()], "reno".to_owned()));
        // a default that no file has set is as it was; a rule of hand is not put back
        daemon.json(&["guard", "rearm", "khand", "--json"]);
        assert_eq!((targets(), default()), (vec!["reno".to_owned()], "khand".to_owned()));
        daemon.json(&["assign", "--cgroup", cgroup.path(), "khand", "--existing", "--json"]);
        soon("it has tripped again", &daemon, || tripped(&daemon) == ["khand"]);
        let down = daemon.json(&["down", "--json"]);
        assert_eq!(default(), before, "{down}");
    });
}

/// Windows end more often than the kernel is looked at.
#[test]
fn what_differs_is_put_right_between_short_windows() {
    support::test("drift between windows", 60, || {
        let daemon = Daemon::start("short-windows", &format!("[instance.kguard]\nalgorithm = \"cubic\"\n{GUARD}"));
        let pin = Path::new("/sys/fs/bpf/ccctl/instances/kguard");
        std::fs::remove_file(pin).unwrap(); // no command of ccctl: the daemon is not told
        soon("the instance is there again", &daemon, || pin.exists());
        daemon.compares_twice();
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn losses_that_the_fallback_has_too_are_no_reason() {
    support::test("common losses", 120, || {
        // 50 connections in a queue of 20 packets
        let path = Network::with_bottleneck(20, 30_000).unwrap();
        let (one, other) = (Cgroup::new("guarded").unwrap(), Cgroup::new("baseline").unwrap());
        let config = format!(
            "[instance.kguard]\nalgorithm = \"reno\"\n{GUARD}retransmit_pct = 1\ntimeouts_pct = 1\n\
             [[rule]]\ncgroup = \"{}\"\nuse = \"kguard\"\n[[rule]]\ncgroup = \"{}\"\nuse = \"reno\"\n",
            one.path(),
            other.path()
        );
        let daemon = Daemon::start("losses", &config);
        // All are there before any carries data: handshakes through a full queue take seconds, and for so long the
        // guard would have nothing to compare with. And both groups' turns alternate, so that none is served better.
        let both = connections(&one, &path).into_iter().zip(connections(&other, &path));
        let _traffic = Traffic::of(both.flat_map(|(guarded, baseline)| [guarded, baseline]).collect());
        let mut beyond_limit = 0;
        for _ in 0..10 {
            windows_end(&daemon, 1);
            let Some(now) = watched(&daemon, "kguard") else { continue };
            let window = |name: &str| now["window"][name].as_u64().unwrap();
            let has_lost = window("retransmits_pkts") * 100 >= window("data_segments");
            beyond_limit += usize::from(now["is_judged"] == true && has_lost && window("data_segments") > 0);
        }
        assert!(beyond_limit >= 5, "the limit alone was not reached: {:#}", guard(&daemon));
        assert_eq!(tripped(&daemon), [""; 0], "{:#}\n{}", guard(&daemon), daemon.log());
        assert_eq!(established(&path.client, "kguard"), COUNT);
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn without_the_section_nothing_is_watched_and_without_it_again_nothing_is_held() {
    support::test("off", 120, || {
        let before = HostState::read().unwrap();
        let daemon = Daemon::start("off", "");
        settled(&before).unwrap(); // no program, no map, no pin
        assert_eq!(guard(&daemon)["guard"], Value::Null);

        let instances =
            "[instance.kone]\nalgorithm = \"cubic\"\n[instance.ktwo]\nalgorithm = \"reno\"\nguard = false\n";
        daemon.reload(&format!("{instances}{GUARD}"));
        soon("kone is watched", &daemon, || watched(&daemon, "kone").is_some());
        assert_eq!(guard(&daemon)["guard"]["left_out"], serde_json::json!(["ktwo"]));
        let looks = |state: &HostState| {
            let new = state.difference(&before);
            new.iter().any(|entry| entry.starts_with("+ program") && entry.ends_with(" windows"))
        };
        assert!(looks(&HostState::read().unwrap()));
        daemon.reload(instances);
        assert_eq!(guard(&daemon)["guard"], Value::Null);
        soon("nothing looks", &daemon, || !looks(&HostState::read().unwrap()));
        daemon.json(&["down", "--json"]);
    });
}

#[test]
fn a_file_without_the_guard_ends_what_it_held() {
    support::test("ended", 120, || {
        let path = Network::new().unwrap();
        let cgroup = Cgroup::new("ended").unwrap();
        let instance = "[instance.kguard]\nalgorithm = \"cubic\"\n";
        let rule = format!("[[rule]]\ncgroup = \"{}\"\nuse = \"kguard\"\n", cgroup.path());
        let mut daemon = Daemon::start("ended", &format!("{instance}{GUARD}{rule}"));
        let traffic = Traffic::start(&cgroup, &path);
        cut(&path, "add");
        // the mark is made first
        soon("all is done", &daemon, || daemon.log().contains("kguard is disabled"));
        drop(traffic);
        // without a daemon, the same answer; and a file that guards nothing puts things back
        assert_eq!(daemon.terminate(), Some(0));
        assert_eq!(support::json(&["guard", "--json"])["tripped"][0]["name"], "kguard");
        let status = support::ccctl(&["status"]);
        assert_eq!(status.code, Some(code::REFUSED), "no daemon runs: {}", status.stdout);
        assert!(status.stdout.contains("kguard is disabled"), "{}", status.stdout);
        let folder = Folder::new("ended-files");
        let guarded = folder.file("guarded.toml", format!("{instance}{GUARD}{rule}"));
        assert_eq!(support::json(&["apply", &guarded, "--json"])["steps"], Value::Array(vec![]));
        let file = folder.file("none.toml", format!("{instance}{rule}"));
        let steps = support::json(&["apply", &file, "--json"])["steps"].clone();
        let done: Vec<&str> = steps.as_array().unwrap().iter().map(|step| step["do"].as_str().unwrap()).collect();
        assert_eq!((done, targets()), (vec!["rearm", "assign"], vec!["kguard".to_owned()]));
        support::succeeds(&["down"]);
        assert!(!std::path::Path::new(ccctl_testbed::RULES_PIN).exists());
    });
}
