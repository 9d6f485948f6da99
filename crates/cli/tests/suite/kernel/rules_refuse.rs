// SPDX-License-Identifier: MIT OR Apache-2.0
//! What rules refuse: bad words, cgroups that are not there, and unloading what rules still give out.

use crate::support;
use crate::support::policy;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{run, Cgroup, HostState, Network, SERVER_V4, SERVER_V6};
use policy::{assign, findings, listen, pair, rules};
use support::{code, json, names, refuses, succeeds, Folder};

#[test]
fn bad_words_change_nothing_and_say_what_would_do() {
    support::test("bad words", 120, || {
        let front = Cgroup::new("front").unwrap();
        let place = ["--cgroup", front.path()];
        assign(&["--cgroup", front.path(), "reno"]);
        let before = rules();
        for (words, parts) in [
            // targets
            (&["htcp"][..], &["htcp", "ccctl load htcp"][..]),
            (&["cubci"], &["cubci", "did you mean cubic"]),
            (&[""], &["ALGORITHM"]),
            (&["cubic,reno"], &["cubic=50,reno=50", "cubic|reno"]),
            (&["cubic=0,reno=1"], &["cubic=0", "1 to 1000000"]),
            (&["cubic=-1"], &["1 to 1000000"]),
            (&["cubic=1,cubic=2"], &["cubic once"]),
            (&["cubic|cubic"], &["cubic once"]),
            (&["htcp|yeah"], &["htcp", "ccctl load htcp"]),
            (&["a name with blanks|reno"], &["kernel name"]),
            (&["name_of_16_bytes|reno"], &["kernel name"]),
            (&["a|b|c|d|reno"], &["at most 4"]),
            (&["a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,reno=1"], &["at most 8"]),
            // prefixes and ports
            (&["--dst", "10.0.0.0/33", "reno"], &["10.0.0.0/33", "0 to 32"]),
            (&["--dst", "10.0.0.1/8", "reno"], &["10.0.0.0/8"]),
            (&["--dst", "fd77::/129", "reno"], &["0 to 128"]),
            (&["--dst", "example.org", "reno"], &["example.org", "10.0.0.0/8"]),
            (&["--dst", "", "reno"], &["prefix"]),
            (&["--port", "0", "reno"], &["0"]),
            (&["--port", "65536", "reno"], &["65536"]),
            (&["--port", "http", "reno"], &["http"]),
        ] {
            refuses(&[&["assign"][..], &place, words].concat(), code::USAGE, parts);
        }
        assert_eq!(rules(), before);
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn cgroups_that_are_not_there() {
    support::test("bad cgroups", 60, || {
        let slice = Cgroup::new("slice").unwrap();
        let child = slice.child("web.service").unwrap();
        let missing = format!("{}/wbe.service", slice.path());
        for (words, parts) in [
            (&["--cgroup", &missing][..], &[&*missing, "did you mean", child.path(), "--absent-ok"][..]),
            (&["--cgroup", "/no/such/path"], &["/no/such/path", "--absent-ok"]),
            (&["--cgroup", "relative/path"], &["relative/path", "from the root"]),
            (&["--cgroup", "word"], &["word", "from the root"]),
            (&["--cgroup", ""], &["from the root"]),
            (&["--cgroup", "/a/../b"], &["without . and .."]),
            (&["--cgroup", &format!("/{}", "x".repeat(256))], &["255 bytes"]),
            (&["--cgroup", &"/x".repeat(33)], &["32 levels"]),
            (&["--unit", "no-such-unit"], &["no-such-unit.service"]),
            (&["--unit", "/system.slice"], &["nginx.service"]),
            (&["--pid", "1"], &["root cgroup", "--cgroup /"]),
            (&["--pid", "0"], &["process"]),
            (&["--pid", "-1"], &["-1"]),
            (&[], &["--cgroup", "--unit", "--pid"]),
            (&["--cgroup", "/", "--pid", "1"], &["--pid"]),
        ] {
            refuses(&[&["assign"], words, &["reno"]].concat(), code::USAGE, parts);
        }
        // a cgroup that is to come
        let answer = json(&["assign", "--cgroup", &missing, "reno", "--absent-ok", "--json"]);
        assert_eq!((&answer["cgroup_exists"], &answer["rule"]["cgroup"]), (&false.into(), &(*missing).into()));
        for (words, parts) in [
            (&["--id", "7"][..], &["7", "there are 1"][..]),
            (&["--id", "none"], &["none"]),
            (&["--cgroup", child.path()], &["no rule for", child.path()]),
            (&["--cgroup", &missing, "--port", "80"], &["port 80", "there is rule 1"]),
            (&["--id", "1", "--port", "80"], &["--port"]),
            (&["--all", "--id", "1"], &["--id"]),
            (&[], &["--id"]),
        ] {
            refuses(&[&["unassign"], words].concat(), code::USAGE, parts);
        }
        succeeds(&["unassign", "--cgroup", &missing]);
        refuses(&["unassign", "--id", "1"], code::USAGE, &["there are no rules"]);
        assert!(succeeds(&["unassign", "--all"]).contains("nothing to do"));
        for (words, parts) in [
            (&["--cookie", "18446744073709551615"][..], &["cookie 18446744073709551615", "ss"][..]),
            (&["--cookie", "0xzz"], &["0xzz"]),
            (&["--src", "127.0.0.1:1"], &["127.0.0.1:1", "ss"]),
            (&["--src", "127.0.0.1"], &["127.0.0.1"]),
            (&["--pid", "4194305"], &["4194305", "process"]),
            (&["--dst", "127.0.0.1:1"], &["--src"]),
            (&[], &["--cookie"]),
        ] {
            refuses(&[&["why"], words].concat(), code::USAGE, parts);
        }
    });
}

#[test]
fn what_rules_give_out_is_not_unloaded() {
    support::test("unload", 60, || {
        for algorithm in ["cubic", "htcp"] {
            succeeds(&["load", algorithm]);
        }
        let (front, back) = (Cgroup::new("front").unwrap(), Cgroup::new("back").unwrap());
        let network = Network::new().unwrap();
        assign(&["--cgroup", front.path(), "bpf_cubic|reno"]);
        assign(&["--cgroup", back.path(), "bpf_cubic=10,bpf_htcp=90"]);
        refuses(
            &["unload", "bpf_cubic"],
            code::REFUSED,
            &["bpf_cubic is in use by 2 rules", "--migrate-to", "--force"],
        );
        let listener = listen(&Cgroup::new("other").unwrap(), &network.server, "::");
        let live = pair(&front, &network, &listener, SERVER_V4);
        refuses(&["unload", "bpf_cubic"], code::REFUSED, &["bpf_cubic is in use by 2 rules and 1 socket"]);
        refuses(&["unload", "--all"], code::REFUSED, &["in use by 2 rules"]);
        assert_eq!(names(), ["bpf_cubic", "bpf_htcp"]);

        let moved = json(&["unload", "bpf_cubic", "--migrate-to", "bpf_htcp", "--json"]);
        assert_eq!((&moved["rules_changed"], &moved["migrated"]), (&2.into(), &1.into()), "{moved}");
        let targets: Vec<_> = rules().iter().map(|rule| rule["targets"].clone()).collect();
        assert_eq!(targets, ["bpf_htcp|reno", "bpf_htcp"]);
        assert_eq!(live.algorithms()[0], "bpf_htcp");
        assert_eq!(findings(&live.client), ["choice_gone", "changed_since"]);
        let new = pair(&front, &network, &listener, SERVER_V6);
        assert_eq!(new.algorithms()[0], "bpf_htcp");

        let forced = json(&["unload", "bpf_htcp", "--force", "--json"]);
        assert_eq!((&forced["rules_left"], &forced["left"]), (&2.into(), &2.into()), "{forced}");
        assert_eq!(pair(&front, &network, &listener, SERVER_V6).algorithms()[0], "reno", "the next in the list");
        let text = succeeds(&["rules"]);
        assert!(text.contains("bpf_htcp|reno"), "{text}");
        succeeds(&["unassign", "--all", "--existing"]);
    });
}

#[test]
fn without_privileges_rules_say_so() {
    support::test("unprivileged rules", 60, || {
        let folder = Folder::new("unprivileged-rules");
        let copy = folder.path().join("ccctl"); // the build's folder may be closed to others
        std::fs::copy(support::CCCTL, &copy).unwrap();
        let front = Cgroup::new("front").unwrap();
        assign(&["--cgroup", front.path(), "reno"]);
        let before = HostState::read().unwrap();
        for words in [
            &["assign", "--cgroup", front.path(), "cubic"][..],
            &["unassign", "--all"],
            &["unassign", "--id", "1"],
            &["rules"],
            &["why", "--pid", "1"],
        ] {
            let nobody = &["--reuid", "65534", "--regid", "65534", "--clear-groups"][..];
            let powerless_root = &["--bounding-set", "-all"][..];
            for drop in [nobody, powerless_root] {
                let mut command = Command::new("setpriv");
                command.args(drop).arg("--inh-caps=-all").arg("--no-new-privs").arg(&copy).args(words);
                let output = run(&mut command, Duration::from_secs(20)).unwrap();
                support::is_refusal(&format!("{drop:?} {words:?}"), &output, code::HOST, &["try:", "root"]);
            }
        }
        ccctl_testbed::assert_same(&before);
        assert_eq!(rules().len(), 1);
        succeeds(&["unassign", "--all"]);
    });
}

#[test]
fn a_part_of_the_tree_is_not_the_tree() {
    support::test("no cgroup tree", 60, || {
        let front = Cgroup::new("front").unwrap();
        let mount = front.folder().parent().unwrap().display().to_string();
        let words = format!("exec {} assign --cgroup / --dst {SERVER_V4} reno", support::CCCTL);
        let inside = format!("mount --bind {} {mount} && {words}", front.folder().display());
        let without = format!("umount {mount} && {words}");
        for (script, parts) in [
            (&without, ["no cgroup v2 tree is mounted", "mount -t cgroup2"]),
            (&inside, ["only a part of the cgroup tree", "on the host"]),
        ] {
            let mut command = Command::new("unshare");
            let command = command.args(["--mount", "--propagation", "private", "sh", "-c", script]);
            support::prepare(&["assign"]);
            let output = run(command, Duration::from_secs(20)).unwrap();
            support::is_refusal(script, &output, code::HOST, &parts);
        }
    });
}

/// One line, and nothing of the file is done: neither its instances nor the rules that would fit.
#[test]
fn more_rules_than_there_can_be_change_nothing() {
    support::test("too many rules", 120, || {
        let folder = Folder::new("many");
        let mut text = "[instance.kmany]\nalgorithm = \"reno\"\n".to_owned();
        for number in 0..=16_000 {
            write!(text, "[[rule]]\ncgroup = \"/many/{number}\"\nuse = \"kmany\"\n").unwrap();
        }
        let file = folder.file("many.toml", &text);
        support::claim("kmany");
        for words in [&["apply", &file][..], &["apply", &file, "--dry-run"]] {
            // the line of the first rule that is too many
            refuses(words, code::USAGE, &["many.toml:48005: 16001 rules: the limit is 16000", "parent cgroup"]);
        }
        assert!(!names().contains(&"kmany".to_owned()));
    });
}
