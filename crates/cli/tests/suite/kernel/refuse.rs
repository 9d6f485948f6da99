// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be refused: each with its code, one line of cause, one of remedy, and a kernel as before.

use crate::support;
use std::process::Command;
use std::time::Duration;

use ccctl_testbed::{run, run_ok, Connections, HostState, Network, SERVER_V6};
use support::{ccctl, code, is_refusal, names, refuses, show, succeeds, Folder, CCCTL};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn names_that_do_not_exist_get_a_suggestion() {
    support::test("unknown names", 60, || {
        for (words, part) in [
            (&["load", "cubci"][..], "cubic"),
            (&["load", "hihgspeed"], "highspeed"),
            (&["show", "cubci"], "cubic"),
            (&["load", "CUBIC"], "CUBIC"),
            (&["load", "nothing_like_it"], "nothing_like_it"),
            (&["load", ""], ""),
            (&["load", "bpf_cubic"], "cubic"),
            (&["load", "highspeed", "--profile", "even206"], "even2006"),
            (&["load", "cubic", "--profile", "../../etc/passwd"], "profile"),
            (&["load", "cubic", "--profile", ""], "profile"),
            (&["load", "reno", "--profile", "cubic2005"], "cubic2005"),
            (&["swap", "bpf_cubic"], "bpf_cubic"),
            (&["tune", "bpf_cubic", "beta=0.8"], "bpf_cubic"),
            (&["unload", "bpf_cubic"], "bpf_cubic"),
            (&["unload", "cubic"], "cubic"),
            (&["show", "../defaults"], "defaults"),
            (&["unload", "../instances"], "instances"),
        ] {
            refuses(words, code::USAGE, &[part]);
        }
        succeeds(&["load", "cubic"]);
        refuses(&["swap", "bpf_cubic", "--with", "scalabel"], code::USAGE, &["did you mean scalable"]);
        refuses(&["swap", "bpf_cubci"], code::USAGE, &["did you mean bpf_cubic"]);
        refuses(&["unload", "bpf_cubic", "bpf_nothing"], code::USAGE, &["bpf_nothing"]);
        assert_eq!(names(), ["bpf_cubic"], "one wrong name: nothing is unloaded");
        succeeds(&["unload", "bpf_cubic"]);
    });
}

#[test]
fn parameters_that_are_wrong_name_what_is_right() {
    support::test("wrong parameters", 60, || {
        for (change, parts) in [
            ("beta=5", &["beta=5: out of range: 0.5 to 0.977", "try: beta=0.977"][..]),
            ("beta=0.499", &["out of range: 0.5 to 0.977", "try: beta=0.5"]),
            ("beta=-1", &["expected a number, 0.5 to 0.977"]),
            ("beta=99999999999999999999", &["beta"]),
            ("beta=", &["beta"]),
            ("beta= 0.7x", &["beta"]),
            ("beta_q10=717", &["has no parameter \"beta_q10\"", "try: beta=0.7"]),
            ("beta_q10=0.8", &["try: beta=0.8"]),
            ("beta_q10=5000", &["try: beta=0.7, of 0.5 to 0.977"]),
            ("bta=0.7", &["did you mean beta?"]),
            ("BETA=0.7", &["BETA"]),
            ("max_step_pkts=2.5", &["max_step_pkts=2 or max_step_pkts=3"]),
            ("nothing=1", &["nothing"]),
            ("beta", &["KEY=VALUE"]),
            ("=0.7", &["KEY=VALUE"]),
            ("", &["KEY=VALUE"]),
            ("reno_friendly=maybe", &["reno_friendly", "on", "off"]),
            ("slow_start_exit=later", &["slow_start_exit", "hystart"]),
        ] {
            refuses(&["load", "cubic", "--set", change], code::USAGE, parts);
            refuses(&["load", "cubic", "--set", "c=0.5", "--set", change, "--default"], code::USAGE, parts);
        }
        refuses(&["load", "cubic", "--set", "c=0.5", "--set", "c=0.6"], code::USAGE, &["twice"]);
        for (change, parts) in [
            ("rtt_ref=100", &["a time needs its unit (1ms to 10s)", "try: rtt_ref=100us or 100ms or 100s"][..]),
            ("rtt_ref=11s", &["out of range: 1ms to 10s", "try: rtt_ref=10s"]),
            ("rtt_ref=100.0005ms", &["finer than its steps of 1us", "try: rtt_ref=100ms or rtt_ref=100.001ms"]),
            ("rtt_ref_us=100000", &["has no parameter \"rtt_ref_us\"", "try: rtt_ref=100ms"]),
            ("delta_b=20", &["a percentage needs its unit (0 to 100%)", "try: delta_b=20%"]),
        ] {
            refuses(&["load", "htcp", "--set", change], code::USAGE, parts);
        }
        refuses(&["load", "libra", "--set", "capacity=1gb"], code::USAGE, &["expected a rate, 1mbit to 100gbit"]);
    });
}

#[test]
fn wrong_usage_is_one_line_and_a_hint() {
    support::test("usage", 60, || {
        for words in [
            &["laod", "cubic"][..],
            &["load"],
            &["load", "cubic", "--sett", "a=1"],
            &["load", "cubic", "--set"],
            &["load", "cubic", "reno"],
            &["unload"],
            &["unload", "--all", "bpf_cubic"],
            &["tune", "bpf_cubic"],
            &["tune"],
            &["swap"],
            &["show"],
            &["list", "--jsno"],
            &["migrate"],
        ] {
            refuses(words, code::USAGE, &["try:"]);
        }
        refuses(&["sockets", "--sort", "size"], code::USAGE, &["possible values: state,", "try: ccctl sockets --help"]);
        refuses(&["--json", "acks", "--for", "1"], code::USAGE, &["1 has no unit", "try: ccctl acks --help"]);
        for words in [&["--help"][..], &["load", "--help"], &["--version"]] {
            let output = ccctl(words);
            assert!(output.success() && !output.stdout.is_empty() && output.stderr.is_empty(), "{words:?}");
        }
        let help = ccctl(&["--help"]).stdout;
        for number in 0..=7 {
            assert!(help.contains(&number.to_string()), "exit code {number} is not documented: {help}");
        }
    });
}

#[test]
fn names_that_are_taken() {
    support::test("taken", 60, || {
        for built_in in ["cubic", "reno"] {
            refuses(&["load", "cubic", "--as", built_in], code::REFUSED, &[built_in, "taken", "--instance"]);
        }
        succeeds(&["load", "reno", "--as", "mine"]);
        let before = show("mine");
        refuses(&["load", "cubic", "--as", "mine"], code::REFUSED, &["mine", "taken", "reno"]);
        refuses(&["load", "reno", "--as", "mine", "--set", "abc_limit_pkts=2"], code::REFUSED, &["other parameters"]);
        assert_eq!(show("mine"), before);
        succeeds(&["unload", "mine"]);
    });
}

#[test]
fn an_instance_in_use_stays() {
    support::test("in use", 60, || {
        succeeds(&["load", "cubic"]);
        succeeds(&["load", "reno"]);
        let network = Network::new().unwrap();
        let mut connections = Connections::open(&network, SERVER_V6, Some("bpf_cubic"), 1).unwrap();
        refuses(&["unload", "bpf_cubic"], code::REFUSED, &["1 socket", "--migrate-to", "--force"]);
        drop(connections);
        connections = Connections::open(&network, SERVER_V6, Some("bpf_cubic"), 7).unwrap();
        refuses(&["unload", "bpf_reno", "bpf_cubic"], code::REFUSED, &["bpf_cubic", "7 sockets"]);
        refuses(&["unload", "--all"], code::REFUSED, &["bpf_cubic", "7 sockets"]);
        assert_eq!(names(), ["bpf_cubic", "bpf_reno"], "all are checked before the first is taken out");
        connections.check().unwrap();
        drop(connections);
        succeeds(&["unload", "bpf_cubic", "bpf_reno"]);
    });
}

#[test]
fn without_privileges_every_command_says_so() {
    support::test("unprivileged", 60, || {
        let folder = Folder::new("unprivileged");
        let copy = folder.path().join("ccctl"); // the build's folder may be closed to others
        std::fs::copy(CCCTL, &copy).unwrap();
        succeeds(&["load", "reno"]);
        let before = HostState::read().unwrap();
        for words in [
            &["load", "cubic"][..],
            &["swap", "bpf_reno", "--with", "cubic"],
            &["tune", "bpf_reno", "abc_limit_pkts=1"],
            &["migrate", "--instance", "bpf_reno", "--to", "cubic"],
            &["unload", "bpf_reno"],
            &["unload", "--all"],
            &["default", "reno"],
        ] {
            let nobody = &["--reuid", "65534", "--regid", "65534", "--clear-groups"][..];
            let powerless_root = &["--bounding-set", "-all"][..];
            for drop in [nobody, powerless_root] {
                if words[0] == "default" && drop == powerless_root {
                    continue; // a sysctl asks for the user id, not for a capability
                }
                support::prepare(words); // were it not refused, it must still not reach instances of others
                let mut command = Command::new("setpriv");
                command.args(drop).arg("--inh-caps=-all").arg("--no-new-privs").arg(&copy).args(words);
                let output = run(&mut command, LIMIT).unwrap();
                is_refusal(&format!("{drop:?} {words:?}"), &output, code::HOST, &["try:", "root"]);
            }
        }
        ccctl_testbed::assert_same(&before);
        // what needs no privileges works without
        for words in [&["algorithms"][..], &["show", "cubic"], &["--help"]] {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&copy).args(words);
            run_ok(&mut command, LIMIT).unwrap();
        }
        succeeds(&["unload", "bpf_reno"]);
    });
}

#[test]
fn without_bpffs_the_remedy_is_named() {
    support::test("no bpffs", 60, || {
        for words in ["load cubic", "swap bpf_cubic", "tune bpf_cubic c=0.5", "unload bpf_cubic"] {
            let script = format!("umount /sys/fs/bpf && exec {CCCTL} {words}");
            let mut command = Command::new("unshare");
            let output = run(command.args(["--mount", "sh", "-c", &script]), LIMIT).unwrap();
            is_refusal(words, &output, code::HOST, &["/sys/fs/bpf", "mount -t bpf"]);
        }
    });
}
