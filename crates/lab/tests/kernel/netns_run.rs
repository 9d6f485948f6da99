// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab run --backend netns`: the folder and the page of a run on the kernel, runs that are invalid, and what is refused.

use crate::support;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::scratch::{Scratch, DUMBBELL};
use ccctl_path::NetemPath;
use ccctl_testbed::{settled, HostState, Turn};
use serde_json::Value;

/// Exit codes as the manual has them.
mod code {
    /// Unknown name or parameter, bad value, wrong usage.
    pub const USAGE: i32 = 2;
    /// The host lacks privileges, a file system or a kernel feature.
    pub const HOST: i32 = 4;
}

const NOBODY: u32 = 65534;

/// `ccctl-lab ARGUMENTS` with what this test holds.
fn command(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = scratch.command(arguments);
    command.envs([Turn::lend()]);
    command
}

fn scratch(name: &str, scenario: &str) -> Scratch {
    let scratch = Scratch::new(name);
    std::fs::write(scratch.path("two.toml"), scenario).unwrap();
    scratch
}

fn mean(summary: &Value, measure: &str) -> f64 {
    summary["points"][0]["measures"][measure]["mean"].as_f64().unwrap_or_else(|| panic!("no {measure}: {summary}"))
}

/// The columns of a series as CSV, by name.
fn column(scratch: &Scratch, file: &str, name: &str) -> Vec<i64> {
    let text = String::from_utf8(scratch.bytes(file)).unwrap();
    let mut rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(','));
    let place = rows.next().unwrap().position(|head| head == name).unwrap_or_else(|| panic!("no {name} in {file}"));
    rows.map(|mut cells| cells.nth(place).unwrap().parse().unwrap_or_default()).collect()
}

/// Whether a run is faithful is a matter of what else the machine does: here all that is not late by seconds passes.
const PATIENT: [&str; 2] = ["--late", "5s"];

#[test]
fn a_scenario_runs_in_both_backends() {
    support::test("both backends", 90, || {
        let scratch = scratch("both", DUMBBELL);
        let run = ["run", "./two.toml", "--backend", "both", "--series", "csv"];
        let output = command(&scratch, &[&run[..], &PATIENT].concat()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        has_the_same_folder(&scratch);
        has_series(&scratch);
        comparison_is_as_asked(&scratch);
        // What is there is not run again.
        let again = command(&scratch, &[&run[..], &PATIENT, &["--json"]].concat()).output().unwrap();
        let answer: Value = serde_json::from_slice(&again.stdout).unwrap();
        let results = &answer["results"];
        assert_eq!(
            (&results[1]["ran"], &results[1]["kept"], &results[1]["invalid"]),
            (&0.into(), &1.into(), &Value::Array(vec![]))
        );
    });
}

fn has_the_same_folder(scratch: &Scratch) {
    let (sim, kernel) = (scratch.json("ccctl-lab/two/summary.json"), scratch.json("ccctl-lab/two-netns/summary.json"));
    assert_eq!(kernel["versions"]["backend"], "netns");
    assert_eq!(kernel["versions"]["backend_settings"]["late"], "5s");
    let names = |summary: &Value| summary["measures"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&sim), names(&kernel));
    // 10 Mbit/s, 1448 of 1500 bytes are data.
    let ideal_mbit_per_s = 10.0 * 1448.0 / 1500.0;
    let goodput = mean(&kernel, "goodput");
    assert!((goodput / ideal_mbit_per_s - 1.0).abs() < 0.1, "{goodput}");
    // BDP and queue are 16 packets each: no window is larger for long, and together they are more than one BDP.
    let windows = mean(&kernel, "cwnd_mean:a") + mean(&kernel, "cwnd_mean:b");
    assert!(windows > 16.0 && windows < 36.0, "{windows}");
    assert!(mean(&kernel, "loss_epochs") >= 1.0);
    let page = String::from_utf8(scratch.bytes("ccctl-lab/two-netns/index.html")).unwrap();
    let command = "ccctl lab run ./two.toml <span class=\"option\">--backend</span> netns";
    assert!(page.contains(command) && !page.contains("Invalid runs"));
}

/// Rows at the scenario's interval, with the algorithm's state.
fn has_series(scratch: &Scratch) {
    let file = |name: &str| format!("ccctl-lab/two-netns/series/p00001-r1/{name}.csv");
    let windows = column(scratch, &file("flow-a-1"), "cwnd_pkts");
    assert!((28..=31).contains(&windows.len()), "3 s in steps of 100 ms: {windows:?}");
    assert!(windows.iter().any(|pkts| *pkts > 10));
    assert!(column(scratch, &file("flow-a-1"), "received_bytes").windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(column(scratch, &file("flow-a-1"), "state.w_max_pkts").iter().any(|value| *value > 0));
    assert!(column(scratch, &file("link-l"), "queue_pkts").iter().all(|pkts| *pkts <= 16));
}

/// The tolerances, and one on the command line; worked out here from what is printed.
fn comparison_is_as_asked(scratch: &Scratch) {
    let folders = ["compare", "ccctl-lab/two", "ccctl-lab/two-netns"];
    let compared = |more: &[&str]| {
        let output = scratch.lab(&[&folders[..], more].concat());
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let tight = ["--tolerance", "cwnd_mean=0", "--page", "both.html", "--json", "--fail"];
    let (ended, text) = compared(&tight);
    let comparison: Value = serde_json::from_str(&text).unwrap();
    let rows = comparison["differences"].as_array().unwrap();
    let tolerances =
        [("goodput", 3.0), ("cwnd_mean", 0.0), ("loss_epochs", 15.0), ("utilisation", 3.0), ("srtt_mean", 10.0)];
    for (measure, pct) in tolerances {
        let of_measure = |row: &&Value| row["measure"].as_str().unwrap().split(':').next() == Some(measure);
        let rows: Vec<&Value> = rows.iter().filter(of_measure).collect();
        assert!(!rows.is_empty(), "{measure}");
        for row in rows {
            assert_eq!(row["tolerance_pct"], pct, "{row}");
            let (first, off) = (row["first"]["mean"].as_f64().unwrap(), row["difference"].as_f64().unwrap().abs());
            let one_event = if measure == "loss_epochs" { 1.0 } else { 0.0 };
            let agrees = off <= (first * pct / 100.0).max(one_event);
            assert_eq!(row["verdict"] != "differs", agrees, "{row}");
        }
    }
    // Windows of a kernel and of a simulator are never equal to the last digit.
    assert_eq!(ended, Some(6));
    assert_eq!(compared(&["--tolerance", "1000", "--fail"]).0, Some(0));
    let page = String::from_utf8(scratch.bytes("both.html")).unwrap();
    assert!(page.contains("a (cubic), sim") && page.contains("a (cubic), netns"), "both on one set of axes");
    let table = compared(&["--markdown"]).1;
    assert!(table.lines().nth(2).is_some_and(|row| row.matches('|').count() > 12), "{table}");
}

/// Receivers of paths that there are.
fn receivers() -> usize {
    let names = std::fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().ends_with("-receiver")).count()
}

/// Three at once over the same router, each with namespaces of its own: a flow finds its own path's rate.
#[test]
fn runs_at_once_do_not_see_each_other() {
    support::test("runs at once", 60, || {
        let scratch = scratch("at-once", DUMBBELL);
        let rates = ["4 Mbit/s", "8 Mbit/s", "12 Mbit/s"];
        let axis = format!("link.l.rate={}", rates.join(","));
        let sweep = ["sweep", "./two.toml", "--axis", &axis, "--backend", "netns", "--jobs", "3"];
        let before = HostState::read().unwrap();
        let mut run = command(&scratch, &[&sweep[..], &PATIENT].concat()).stdout(Stdio::null()).spawn().unwrap();
        let mut most = 0;
        let status = loop {
            most = most.max(receivers());
            if let Some(status) = run.try_wait().unwrap() {
                break status;
            }
            sleep(Duration::from_millis(20));
        };
        assert_eq!((status.code(), most), (Some(0), 3));
        let summary = scratch.json("ccctl-lab/two-netns/summary.json");
        for (point, mbit_per_s) in [4.0, 8.0, 12.0].into_iter().enumerate() {
            let goodput = summary["points"][point]["measures"]["goodput"]["mean"].as_f64().unwrap();
            let ideal = mbit_per_s * 1448.0 / 1500.0;
            assert!((goodput / ideal - 1.0).abs() < 0.1, "{goodput} at {mbit_per_s} Mbit/s");
        }
        settled(&before).unwrap();
    });
}

/// Two scenarios at the same time: each finds its own rate, and the machine is theirs in one turn.
#[test]
fn scenarios_beside_each_other_share_the_machine() {
    support::test("scenarios beside each other", 60, || {
        let scratch = scratch("beside", DUMBBELL);
        std::fs::write(scratch.path("fast.toml"), DUMBBELL.replace("\"10 Mbit/s\"", "\"20 Mbit/s\"")).unwrap();
        let run = ["run", "./two.toml", "--backend", "netns", "--beside", "./fast.toml"];
        let mut run = command(&scratch, &[&run[..], &PATIENT].concat()).stdout(Stdio::null()).spawn().unwrap();
        let mut most = 0;
        while run.try_wait().unwrap().is_none() {
            most = most.max(receivers());
            sleep(Duration::from_millis(20));
        }
        assert_eq!((run.wait().unwrap().code(), most), (Some(0), 2));
        for (name, mbit_per_s) in [("two", 10.0), ("fast", 20.0)] {
            let goodput = mean(&scratch.json(&format!("ccctl-lab/{name}-netns/summary.json")), "goodput");
            let ideal = mbit_per_s * 1448.0 / 1500.0;
            assert!((goodput / ideal - 1.0).abs() < 0.1, "{goodput} at {mbit_per_s} Mbit/s");
        }
    });
}

/// No path is never late: every try is invalid, and none is a result.
#[test]
fn an_invalid_run_is_shown_and_is_no_result() {
    support::test("an invalid run", 60, || {
        let scratch = scratch("invalid", &DUMBBELL.replace("\"3 s\"", "\"1 s\"").replace("warm_up = \"1 s\"\n", ""));
        let run = ["run", "./two.toml", "--backend", "netns", "--late", "1ns"];
        let output = command(&scratch, &[&run[..], &["--retries", "1"]].concat()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(6), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("0 runs made, 0 existed already, 1 invalid"), "{text}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("two, repeat 1: try 1 of 2 is invalid: ") && !said.contains("try 2"), "{said}");
        assert!(text.contains("invalid after 2 tries: repeat 1: ") && text.contains("late by more than 1ns"), "{text}");
        assert_eq!(scratch.units("ccctl-lab/two-netns"), 0);
        let summary = scratch.json("ccctl-lab/two-netns/summary.json");
        assert_eq!((&summary["runs_done"], &summary["invalid"][0]["tries"]), (&0.into(), &2.into()));
        assert!(summary["invalid"][0]["reasons"].to_string().contains("late by more than 1ns"));
        assert_eq!(summary["points"][0]["measures"], serde_json::json!({}));
        let page = String::from_utf8(scratch.bytes("ccctl-lab/two-netns/index.html")).unwrap();
        assert!(page.contains("Invalid runs") && page.contains("late by more than 1ns"));
    });
}

/// Where this kernel has netem the scenario runs over it; where it has none, one line says so, and nothing is made.
#[test]
fn netem_carries_packets_or_is_refused() {
    support::test("netem", 60, || {
        let scratch = scratch("netem", DUMBBELL);
        let run = ["run", "./two.toml", "--backend", "netns", "--path", "netem", "--series", "none"];
        let output = command(&scratch, &run).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        if NetemPath::probe().is_ok() {
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert_eq!(scratch.units("ccctl-lab/two-netns"), 1);
            return;
        }
        assert_eq!(output.status.code(), Some(code::HOST), "{said}");
        assert!(said.lines().count() <= 2 && said.contains("cannot run here: netem: "), "{said}");
        assert!(said.contains("try: use --path emulator"), "{said}");
        assert!(!scratch.path("ccctl-lab").exists(), "something was made");
    });
}

/// Other bounds are another experiment; what the path has not is told with its place; nothing is made by any of this.
#[test]
fn what_cannot_be_is_refused_before_anything_is_made() {
    support::test("refusals", 60, || {
        let scratch = scratch("refused", DUMBBELL);
        std::fs::write(scratch.path("codel.toml"), DUMBBELL.replace("\"droptail\"", "\"codel\"")).unwrap();
        let before = HostState::read().unwrap();
        let refused = |command: &mut Command, exit: i32, words: &[&str]| {
            let output = command.output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(exit), "{said}");
            assert!(said.lines().count() <= 2 && words.iter().all(|word| said.contains(word)), "{said}");
        };
        let asked = ["run", "./two.toml", "./codel.toml", "--backend", "netns"];
        let words = [
            "ccctl-lab: codel: the netns backend does not support CoDel",
            "try: use --backend sim, or change link.l.queue.kind",
        ];
        refused(&mut command(&scratch, &asked), code::USAGE, &words);
        let mut by_nobody = command(&scratch, &["run", "./two.toml", "--backend", "netns"]);
        refused(
            by_nobody.uid(NOBODY).gid(NOBODY),
            code::HOST,
            &["--backend netns cannot run here: not root", "CAP_BPF", "try: run as root"],
        );
        let mut without_ip = command(&scratch, &["run", "./two.toml", "--backend", "netns"]);
        refused(without_ip.env("PATH", "/nowhere"), code::HOST, &["the program ip", "try: install iproute2"]);
        refused(&mut command(&scratch, &["compare", "a", "b", "--tolerance", "x=y"]), code::USAGE, &["try: "]);
        assert!(!scratch.path("ccctl-lab").exists(), "something was made");
        settled(&before).unwrap();
    });
}
