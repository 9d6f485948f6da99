// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fenced algorithm goes to named destinations only, and only while the guard watches it. Each refusal changes nothing.

use crate::support;
use crate::support::policy;
use std::io::{Read as _, Write as _};

use ccctl_testbed::{Cgroup, Network, Output};
use policy::{listen, pair};
use support::compile::compile;
use support::daemon::Daemon;
use support::{available, code, is_refusal, names, refuses, show, succeeds, Folder};

const SERVER: &str = "10.77.0.2";
const GUARD: &str = "[guard]\nfallback = \"reno\"\n";

/// Of a user's own: Scalable TCP, with what the shipped one lacks.
fn own_object(folder: &Folder) -> String {
    let source = include_str!("../../../../../bpf/algorithms/scalable.bpf.c");
    let fenced = source.replace("CC_ALGORITHM(scalable,", "CC_FENCED_ALGORITHM(scalable, \"it is a test\",");
    assert_ne!(source, fenced);
    compile(folder, &fenced, "scalable")
}

#[test]
fn without_a_guard_it_is_not_loaded() {
    support::test("no guard", 60, || {
        let folder = Folder::new("fence");
        let own = own_object(&folder);
        for (what, name) in [("fixed", "bpf_fixed"), (own.as_str(), "bpf_scalable")] {
            for words in [&["load", what][..], &["load", what, "--dry-run"]] {
                refuses(words, code::REFUSED, &[name, "needs the guard", "[guard]", "ccctl daemon"]);
            }
            refuses(&["load", what, "--default"], code::REFUSED, &[name, "cannot be the default", "--dst"]);
            assert!(names().is_empty() && !available(name));
        }
        succeeds(&["load", "reno", "--as", "working"]);
        let before = show("working");
        refuses(&["swap", "working", "--with", "fixed"], code::REFUSED, &["cannot take the place of working", "--as"]);
        refuses(&["swap", "working", "--with", &own], code::REFUSED, &["it is a test", "--as"]);
        refuses(&["canary", "working", "--with", "fixed"], code::REFUSED, &["cannot take the place of working"]);
        let file = folder.file("ccctl.toml", format!("[instance.fx]\nalgorithm = \"fixed\"\n{GUARD}"));
        refuses(&["apply", &file], code::REFUSED, &["fx needs the guard", "ccctl daemon"]);
        assert_eq!(show("working"), before);
        succeeds(&["unload", "working"]);
    });
}

#[track_caller]
fn is_for_named_destinations(what: &str, output: &Output) {
    is_refusal(what, output, code::REFUSED, &["bpf_fixed cannot be", "it keeps its rate", "--dst"]);
}

#[test]
fn under_the_guard_it_is_for_named_destinations_only() {
    support::test("fence", 120, || {
        let (network, cgroup) = (Network::new().unwrap(), Cgroup::new("fenced").unwrap());
        let daemon = Daemon::start("fence", GUARD);
        let path = cgroup.path().to_string();
        let wide = daemon.json(&["assign", "--cgroup", &path, "bpf_fixed|reno", "--json"]);
        let load = ["load", "fixed", "--set", "rate=20mbit"];
        is_refusal(
            "a rule waits for it",
            &daemon.ccctl(&load),
            code::REFUSED,
            &["to all destinations", "unassign --id"],
        );
        daemon.json(&["unassign", "--id", &wide["rule"]["id"].to_string(), "--json"]);
        is_refusal("fallback", &daemon.ccctl(&["load", "fixed", "--as", "reno"]), code::REFUSED, &["needs the guard"]);
        let loaded = daemon.ccctl(&load);
        assert!(loaded.success(), "{}", loaded.stderr);

        let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
        assert!(available("bpf_fixed") && !allowed.split_whitespace().any(|name| name == "bpf_fixed"), "{allowed}");
        for words in [
            &["default", "bpf_fixed"][..],
            &["default", "bpf_fixed", "--dry-run"],
            &["assign", "--cgroup", &path, "bpf_fixed"],
            &["assign", "--cgroup", &path, "--port", "443", "reno=9,bpf_fixed=1"],
            &["assign", "--cgroup", &path, "--dst", "0.0.0.0/0", "bpf_fixed", "--dry-run"],
            &["migrate", "--all", "--to", "bpf_fixed"],
            &["migrate", "--dst", "0.0.0.0/0", "--to", "bpf_fixed"],
            &["migrate", "--dst", ":443", "--to", "bpf_fixed"],
            &["migrate", "--instance", "reno", "--to", "bpf_fixed", "--dry-run"],
            &["unload", "bpf_fixed", "--migrate-to", "bpf_fixed"],
        ] {
            is_for_named_destinations(&words.join(" "), &daemon.ccctl(words));
        }
        assert!(policy::rules().is_empty());
        let status = daemon.reload("");
        let error = status["error"]["cause"].as_str().unwrap_or_default();
        assert!(error.contains("bpf_fixed needs the guard"), "{status}");
        assert!(daemon.get("guard").ok()["guard"].is_object(), "the previous file stays in force");

        daemon.json(&["assign", "--cgroup", &path, "--dst", SERVER, "bpf_fixed", "--json"]);
        let listener = listen(&cgroup, &network.server, SERVER);
        let mut connection = pair(&cgroup, &network, &listener, SERVER);
        assert_eq!(connection.algorithms()[0], "bpf_fixed");
        connection.client.write_all(&vec![7; 100_000]).unwrap();
        let mut got = vec![0; 100_000];
        connection.server.read_exact(&mut got).unwrap();
        assert!(got.iter().all(|byte| *byte == 7));
        drop(connection);
        daemon.json(&["down", "--json"]);
    });
}
