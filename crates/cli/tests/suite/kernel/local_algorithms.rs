// SPDX-License-Identifier: MIT OR Apache-2.0
//! The administrator's folder of object files: its algorithms are used by name, wherever a built-in one is; what is refused in it
//! is said and leaves the rest alone.

use std::os::unix::fs::{chown, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{run, run_ok, Cgroup, Flows, Network, Output, Receiver, SERVER_V4};
use serde_json::Value;

use crate::support::daemon::Daemon;
use crate::support::{self, code, established, is_refusal, parsed, prepare, steady, Folder, CCCTL};

const LIMIT: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65534;

/// A folder in place of /etc/ccctl.
struct Administrator {
    folder: Folder,
}

impl Administrator {
    fn new(label: &str) -> Self {
        let folder = Folder::new(label);
        std::fs::create_dir_all(folder.path().join("algorithms")).unwrap();
        std::fs::create_dir_all(folder.path().join("profiles")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("algorithms").join(name)
    }

    fn install(&self, name: &str, object: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, object).unwrap();
        mode(&path, 0o644);
        path
    }

    fn command(&self) -> Command {
        let mut command = Command::new(CCCTL);
        command.env("CCCTL_ETC", self.folder.path());
        command
    }

    fn ccctl(&self, words: &[&str]) -> Output {
        prepare(words);
        run(self.command().args(words), LIMIT).unwrap()
    }

    #[track_caller]
    fn does(&self, words: &[&str]) -> String {
        let output = self.ccctl(words);
        assert_eq!(output.code, Some(0), "ccctl {}: {}", words.join(" "), output.stderr);
        output.stdout
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        parsed(words, &self.does(words))
    }

    /// The object of a C file that `ccctl new` writes and the test changes.
    fn built(&self, name: &str, change: impl Fn(&str) -> String) -> Vec<u8> {
        let folder = self.folder.path().join("source");
        let _ = std::fs::remove_dir_all(&folder); // of the build before
        std::fs::create_dir(&folder).unwrap();
        run_ok(self.command().args(["new", name, "--from", "delay"]).current_dir(&folder), LIMIT).unwrap();
        let source = folder.join(format!("{name}.bpf.c"));
        std::fs::write(&source, change(&std::fs::read_to_string(&source).unwrap())).unwrap();
        run_ok(self.command().arg("build").arg(&source), LIMIT).unwrap();
        std::fs::read(folder.join(format!("{name}.bpf.o"))).unwrap()
    }
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// One more field, which counts calls.
fn counting(source: &str) -> String {
    let state = "struct cc_rtt rtt; /* base RTT, and the smallest RTT of this round */\n";
    let hook = "\tif (!tcp_is_cwnd_limited(sk))\n\t\treturn;\n";
    assert!(source.contains(state) && source.contains(hook));
    let source = source.replace(state, &format!("{state}\tu32 calls;\n"));
    source.replace(hook, &format!("\tCC_STATE(kown, sk)->calls++;\n{hook}"))
}

fn names_in(list: &Value) -> Vec<&str> {
    list["algorithms"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect()
}

#[test]
fn an_algorithm_of_the_folder_is_used_by_its_name_under_traffic() {
    support::test("own algorithm by name", 240, || {
        let own = Administrator::new("own-folder");
        let first = own.built("kown", counting);
        let file = own.install("kown.bpf.o", &first);
        own.folder.file("profiles/narrow.toml", "title = \"few\"\nsource = \"a test\"\n[kown]\ntarget_pkts = 2\n");

        let all = own.json(&["algorithms", "--json"]);
        let entry = all["algorithms"].as_array().unwrap().iter().find(|one| one["name"] == "kown").unwrap().clone();
        assert_eq!(entry["file"], file.to_str().unwrap());
        let shown = own.json(&["show", "kown", "--json"]);
        assert_eq!((&shown["kind"], &shown["profiles"]), (&"algorithm".into(), &Value::from(vec!["narrow"])));
        assert!(shown["state_fields"].as_array().unwrap().iter().any(|field| field["name"] == "calls"), "{shown}");
        assert!(own.does(&["show", "kown"]).contains(file.to_str().unwrap()));
        assert_eq!(own.json(&["check", "kown", "--json"])["algorithm"], "kown");

        own.does(&["load", "kown", "--as", "kown", "--profile", "narrow"]);
        let network = Network::with_bottleneck(40, 60_000).unwrap();
        let receiver = Receiver::start(&network.server, "::").unwrap();
        let flows = Flows::start(&network.client, &steady(&receiver, SERVER_V4, "kown"), 4).unwrap();
        let trace = own.folder.path().join("trace.jsonl");
        let words = ["trace", "--netns", network.client.name(), "--every", "20ms", "--for", "2s", "--json", "-o"];
        run_ok(own.command().args(words).arg(&trace), LIMIT).unwrap();
        let (rows, _) = support::trace::lines(&trace);
        let counts: Vec<u64> = rows.iter().filter_map(|row| row["state.calls"].as_u64()).collect();
        assert!(counts.iter().any(|count| *count > 10), "{} rows, calls at most {:?}", rows.len(), counts.iter().max());

        let tuned = own.json(&["tune", "kown", "target_pkts=8", "--json"]);
        assert_eq!(tuned["parameters"][0]["value"], 8, "{tuned}");
        let second = own.built("kown", |source| counting(source).replace("target_pkts, 4,", "target_pkts, 6,"));
        assert_ne!(first, second);
        own.install("kown.bpf.o", &second);
        let swapped = own.json(&["swap", "kown", "--json"]);
        assert_eq!((&swapped["algorithm"], &swapped["changed"]), (&"kown".into(), &true.into()), "{swapped}");
        own.does(&["migrate", "--instance", "kown", "--to", "kown"]);
        let swapped = own.json(&["swap", "kown", "--with", "reno", "--json"]);
        assert_eq!(swapped["algorithm"], "reno");
        assert_eq!(own.json(&["swap", "kown", "--with", "kown", "--json"])["algorithm"], "kown");
        let shown = own.json(&["show", "kown", "--json"]);
        assert_eq!((&shown["kind"], &shown["parameters"][0]["default"]), (&"instance".into(), &6.into()), "{shown}");
        assert_eq!(established(&network.client, "kown"), 4);
        let carried = flows.stop().unwrap();
        assert!(carried.iter().all(|flow| flow.bytes > 0) && receiver.failures().is_empty());
        drop((receiver, network));
        own.does(&["unload", "kown"]);
    });
}

#[test]
fn rules_files_the_daemon_and_completion_know_the_name() {
    support::test("own algorithm elsewhere", 180, || {
        let own = Administrator::new("own-names");
        own.install("kown.o", &own.built("kown", counting));
        let cgroup = Cgroup::new("own-names").unwrap();

        support::claim("bpf_kown");
        let rule = ["assign", "kown", "--cgroup", cgroup.path()];
        is_refusal(
            "assign",
            &own.ccctl(&rule),
            code::USAGE,
            &["there is no algorithm in the kernel", "ccctl load kown"],
        );
        own.does(&["load", "kown", "--as", "bpf_kown"]);
        assert_eq!(own.json(&[&rule[..], &["--json"]].concat())["rule"]["targets"], "bpf_kown");
        own.does(&["unassign", "--cgroup", cgroup.path()]);
        own.does(&["unload", "bpf_kown"]);

        let mut shell = own.command();
        shell.env("COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9");
        shell.env("_CLAP_COMPLETE_INDEX", "2").env("_CLAP_COMPLETE_SPACE", "true");
        assert_eq!(run_ok(shell.args(["--", "ccctl", "load", "kow"]), LIMIT).unwrap().trim(), "kown");

        let folder = Folder::new("own-daemon");
        let (etc, binary) = (own.folder.path().display(), folder.path().join("with-folder"));
        folder.file("with-folder", format!("#!/bin/sh\nCCCTL_ETC={etc} exec {CCCTL} \"$@\"\n"));
        mode(&binary, 0o755);
        let mut daemon = Daemon::start_with(folder, &binary, "[instance.kweb]\nalgorithm = \"kown\"\n");
        assert_eq!(support::listed("kweb").unwrap()["algorithm"], "kown");
        assert!(names_in(&daemon.get("algorithms").ok()).contains(&"kown"));
        std::fs::rename(own.path("kown.o"), own.path("kgone.o")).unwrap();
        let all = daemon.get("algorithms").ok();
        assert!(!names_in(&all).contains(&"kown") && names_in(&all).contains(&"reno"), "{all}");
        let refusal = daemon.get("show?name=kgone").refusal(422);
        assert!(refusal.contains("its algorithm is called kown") && refusal.contains("kown.o"), "{refusal}");
        daemon.json(&["down", "--json"]);
        assert_eq!(daemon.ended(), Some(0));
    });
}

#[test]
fn attack_what_is_refused_in_the_folder_is_named_and_breaks_nothing() {
    support::test("attack: own folder", 180, || {
        let own = Administrator::new("own-attacks");
        let good = own.built("kown", counting);
        own.install("kown.o", &good);
        own.install("README", b"not an object");
        let others: Vec<PathBuf> =
            ["kshared.o", "kfor.o", "kbad.o", "kcut.o", "kelf.o", "kbig.o", "cubic.o", "k own.o", "kown.bpf.o"]
                .iter()
                .map(|name| own.install(name, &good))
                .collect();
        mode(&others[0], 0o664);
        chown(&others[1], Some(NOBODY), None).unwrap();
        std::fs::write(&others[2], b"not an object").unwrap();
        std::fs::write(&others[3], &good[..good.len() / 2]).unwrap();
        std::fs::write(&others[4], [&good[..0x40], &vec![0xff; good.len() - 0x40][..]].concat()).unwrap();
        std::fs::File::options().write(true).open(&others[5]).unwrap().set_len(17 << 20).unwrap();
        run_ok(Command::new("mkfifo").arg(own.path("kpipe.o")), LIMIT).unwrap();
        std::os::unix::fs::symlink("nowhere", own.path("klink.o")).unwrap();

        for (name, exit, parts) in [
            ("kshared", code::REFUSED, &["kshared.o", "mode 0664", "chown root:root, and chmod go-w"][..]),
            ("kfor", code::REFUSED, &["kfor.o", "owner 65534"]),
            ("kbad", code::USAGE, &["kbad.o"]),
            ("kcut", code::USAGE, &["kcut.o"]),
            ("kelf", code::USAGE, &["kelf.o"]),
            ("kbig", code::USAGE, &["kbig.o is larger than 16 MB"]),
            ("kpipe", code::USAGE, &["kpipe.o is not a regular file"]),
            ("klink", code::USAGE, &["klink.o", "No such file"]),
        ] {
            for words in [&["show", name][..], &["load", name, "--as", "knone"], &["check", name]] {
                is_refusal(&words.join(" "), &own.ccctl(words), exit, parts);
            }
        }
        let doctor = own.json(&["doctor", "--json"]);
        let checks: Vec<&Value> =
            doctor["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "own algorithms").collect();
        assert_eq!((&checks[0]["status"], &checks[0]["detail"]), (&"ok".into(), &"kown".into()), "{doctor}");
        assert_eq!(checks.len(), 1 + others.len() + 2, "{doctor}");
        assert!(checks[1..].iter().all(|check| check["status"] == "warn" && check["remedy"].is_string()), "{doctor}");
        for said in ["ccctl has an algorithm cubic of its own", "not named after an algorithm", "has the same name"] {
            assert!(checks.iter().any(|check| check["detail"].as_str().unwrap().contains(said)), "{said}: {doctor}");
        }
        assert_eq!(own.json(&["show", "cubic", "--json"])["file"], Value::Null, "the built-in one");
        own.does(&["load", "kown", "--as", "kfine"]);
        own.does(&["unload", "kfine"]);

        std::fs::remove_file(own.path("kown.bpf.o")).unwrap();
        mode(&own.folder.path().join("algorithms"), 0o777);
        is_refusal(
            "load",
            &own.ccctl(&["load", "kown", "--as", "kfine"]),
            code::REFUSED,
            &["algorithms (owner 0, mode 0777), above"],
        );
        own.does(&["show", "reno"]);
    });
}
