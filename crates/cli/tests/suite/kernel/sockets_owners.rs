// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets by cgroup and by process: iperf3 and bash in cgroups of the test's own, by the word of `ss`.

use crate::support;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{eventually, Background, Namespace, Network, Receiver, SERVER_V4, SERVER_V6};
use serde_json::Value;
use support::json;
use support::listing::{listed, selects, ss, Line};

const SILENCE: Duration = Duration::from_secs(10);

/// Cgroups below one of this test's own, removed with it.
struct Cgroups {
    root: PathBuf,
    name: String,
}

impl Cgroups {
    fn new() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let root = PathBuf::from(fields.find(|fields| fields[2] == "cgroup2").expect("cgroup v2 is mounted")[1]);
        let name = format!("ccctl-test-{}", std::process::id());
        for below in ["", "a", "a/server", "a/client", "ab", "gone"] {
            fs::create_dir(root.join(&name).join(below)).unwrap();
        }
        Self { root, name }
    }

    /// The path from the root of the hierarchy.
    fn path(&self, below: &str) -> String {
        format!("/{}/{below}", self.name)
    }

    fn folder(&self, below: &str) -> PathBuf {
        self.root.join(&self.name).join(below)
    }

    /// Starts a shell script in a cgroup and a namespace.
    fn start(&self, below: &str, namespace: &Namespace, script: &str) -> Background {
        let script = format!("echo $$ > {}/cgroup.procs; {script}", self.folder(below).display());
        namespace.start(Command::new("bash").args(["-c", &script])).unwrap()
    }

    /// The processes in a cgroup, by the kernel.
    fn pids(&self, below: &str) -> Vec<u64> {
        let text = fs::read_to_string(self.folder(below).join("cgroup.procs")).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for below in ["gone", "ab", "a/client", "a/server", "a", ""] {
            let folder = self.folder(below);
            let removed = eventually(SILENCE, || match fs::remove_dir(&folder) {
                Err(error) if folder.exists() => Err(error),
                _ => Ok(()),
            });
            if let Err(error) = removed {
                eprintln!("{}: {error}", folder.display());
            }
        }
    }
}

fn wait_for(namespaces: &[&Namespace], count: usize) {
    let all = || namespaces.iter().map(|one| ss(one).len()).sum::<usize>();
    eventually(SILENCE, || if all() == count { Ok(()) } else { Err(format!("{} of {count} sockets", all())) }).unwrap();
}

fn wait_for_listener(namespace: &Namespace, ports: [u16; 2]) {
    let listens = |port: u16| ss(namespace).values().any(|line| line.local.ends_with(&format!(":{port}")));
    eventually(SILENCE, || if ports.into_iter().all(listens) { Ok(()) } else { Err("iperf3 does not listen") })
        .unwrap();
}

#[test]
fn cgroups_with_what_is_below_them_and_processes() {
    support::test("cgroups", 120, || {
        let network = Network::new().unwrap();
        let Network { client, server, .. } = &network;
        let cgroups = Cgroups::new();
        let both = [client, server];
        let mut running = vec![
            cgroups.start("a/server", server, "exec iperf3 -s -p 5301"),
            cgroups.start("ab", server, "exec iperf3 -s -p 5302"),
        ];
        wait_for_listener(server, [5301, 5302]);
        let to = |address: &str, port: u16| format!("exec iperf3 -c {address} -p {port} -t 60 -b 2M -P 2 -C reno");
        running.push(cgroups.start("a/client", client, &to(SERVER_V4, 5301)));
        running.push(cgroups.start("ab", client, &to(SERVER_V6, 5302)));
        wait_for(&both, 2 * 7); // each: two streams and the control connection, both ends, and the listener

        let is_in = |line: &Line, cgroup: &str| line.value("cgroup") == Some(cgroup.trim_end_matches('/'));
        let [server_path, client_path, ab] = ["a/server", "a/client", "ab"].map(|below| cgroups.path(below));
        assert_eq!(selects(&both, &["--cgroup", &client_path], |line| is_in(line, &client_path)), 3);
        let in_a = |line: &Line| is_in(line, &client_path) || is_in(line, &server_path);
        assert_eq!(selects(&both, &["--cgroup", &cgroups.path("a")], in_a), 7, "and not /ab");
        assert_eq!(selects(&both, &["--cgroup", &cgroups.path("")], |_| true), 14);
        let folder = cgroups.folder("ab");
        assert_eq!(selects(&both, &["--cgroup", folder.to_str().unwrap()], |line| is_in(line, &ab)), 7);
        for socket in listed(&["--cgroup", &cgroups.path("")]) {
            let line = both.iter().find_map(|one| ss(one).remove(&socket["cookie"].as_u64().unwrap())).unwrap();
            assert_eq!(socket["cgroup"].as_str(), line.value("cgroup"), "{socket}");
            assert_eq!(owners(&socket), line.pids().into_iter().collect::<Vec<_>>(), "{socket}");
            assert_eq!(socket["owners"][0]["command"], "iperf3", "{socket}");
        }
        let pid = cgroups.pids("a/client")[0];
        assert_eq!(selects(&both, &["--pid", &pid.to_string()], |line| line.pids().contains(&pid)), 3);
        let table = support::succeeds(&["sockets", "--pid", &pid.to_string(), "--columns", "process,cgroup"]);
        assert_eq!(table.matches(&format!("{pid}/iperf3  {client_path}")).count(), 3, "{table}");

        let moved = json(&["migrate", "--pid", &pid.to_string(), "--to", "cubic", "--json"]);
        assert_eq!((&moved["moved"], &moved["congestion_control_before"]), (&3.into(), &Value::Null), "{moved}");
        let moved = json(&["migrate", "--cgroup", &cgroups.path("a"), "--to", "cubic", "--json"]);
        assert_eq!((&moved["found"], &moved["moved"], &moved["already"]), (&7.into(), &4.into(), &3.into()), "{moved}");
        let use_cubic = |one: &Namespace| ss(one).values().filter(|line| line.value("cubic").is_some()).count();
        assert_eq!((use_cubic(client), use_cubic(server)), (3, 4));
        drop(running);
    });
}

fn owners(socket: &Value) -> Vec<u64> {
    socket["owners"].as_array().unwrap().iter().map(|owner| owner["pid"].as_u64().unwrap()).collect()
}

#[test]
fn a_socket_of_several_processes_and_one_of_a_cgroup_that_is_gone() {
    support::test("forked", 60, || {
        let network = Network::new().unwrap();
        let cgroups = Cgroups::new();
        let receiver = Receiver::start(&network.server, SERVER_V4).unwrap();
        let open = format!("exec 3<>/dev/tcp/{SERVER_V4}/{}", receiver.address().port());
        let forked = cgroups.start("ab", &network.client, &format!("{open}; sleep 60 & sleep 61 & wait"));
        let leave =
            format!("echo $$ > {}/cgroup.procs; rmdir {}", cgroups.root.display(), cgroups.folder("gone").display());
        let gone = cgroups.start("gone", &network.client, &format!("{open}; {leave}; exec sleep 60"));
        wait_for(&[&network.client], 2);
        eventually(SILENCE, || if cgroups.folder("gone").exists() { Err("it is there still") } else { Ok(()) })
            .unwrap();

        let pids =
            eventually(SILENCE, || Some(cgroups.pids("ab")).filter(|pids| pids.len() == 3).ok_or("not forked yet"));
        let pids = pids.unwrap();
        for pid in &pids {
            let found = listed(&["--pid", &pid.to_string()]);
            let [socket] = &found[..] else { panic!("{pid}: {found:?}") };
            let mut expected = pids.clone();
            expected.sort_unstable();
            assert_eq!(owners(socket), expected);
        }
        let table = support::succeeds(&["sockets", "--pid", &pids[0].to_string(), "--columns", "process"]);
        assert!(table.contains(" +2"), "{table}");
        let netns = ["--netns", network.client.name()];
        let orphan = listed(&netns).into_iter().find(|socket| socket["cgroup"].is_null()).unwrap();
        assert!(orphan["cgroup_id"].as_u64().unwrap() > 1, "{orphan}");
        for pid in pids {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), nix::sys::signal::SIGKILL);
            // or it has ended
        }
        drop((forked, gone));
    });
}
