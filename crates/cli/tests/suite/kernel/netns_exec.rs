// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ip netns exec` hides the host's BPF file system: ccctl says so, and loads nothing that would vanish.

use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{run, Namespace, Output};

use crate::support;
use support::{code, is_refusal, names, succeeds, CCCTL};

const LIMIT: Duration = Duration::from_secs(60);

fn exec(namespace: &Namespace, script: &str) -> Output {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace.name(), "sh", "-c", script]).env("CCCTL", CCCTL);
    run(&mut command, LIMIT).unwrap()
}

#[test]
fn ip_netns_exec_is_refused_with_the_command_that_works() {
    support::test("ip netns exec", 60, || {
        let namespace = Namespace::new("exec").unwrap();
        succeeds(&["load", "reno", "--as", "before"]);
        let remedy = format!("nsenter --net=/run/netns/{}", namespace.name());
        for script in [
            "exec \"$CCCTL\" list",
            "exec \"$CCCTL\" load cubic --as vanishing",
            "mount -t bpf bpf /sys/fs/bpf && exec \"$CCCTL\" load cubic --as vanishing",
            "mount -t bpf bpf /sys/fs/bpf && exec \"$CCCTL\" list",
            "exec \"$CCCTL\" swap before --with cubic",
            "exec \"$CCCTL\" unload before",
        ] {
            is_refusal(script, &exec(&namespace, script), code::HOST, &["ip netns exec", "hides", &remedy]);
        }
        assert_eq!(names(), ["before"]);
        let mut nsenter = Command::new("nsenter");
        nsenter.arg(format!("--net=/run/netns/{}", namespace.name())).args([CCCTL, "list"]);
        let output = run(&mut nsenter, LIMIT).unwrap();
        assert!(output.success() && output.stdout.contains("before"), "{}{}", output.stdout, output.stderr);
        assert!(!output.stdout.contains("not loaded by ccctl"), "{}", output.stdout);
        succeeds(&["unload", "before"]);
    });
}
