// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab list, show, run, sweep`: what is run, what is kept when it is stopped, and that it goes on from there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::scratch::{assert_same_folders, Scratch};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;

#[test]
fn every_shipped_scenario_is_listed_and_can_be_run() {
    let scratch = Scratch::new("list");
    let list: Value = serde_json::from_str(&scratch.done(&["list", "--json"])).unwrap();
    let rows = list["scenarios"].as_array().unwrap();
    let listed: BTreeSet<String> = rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/scenarios");
    let files = fs::read_dir(folder).unwrap().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.strip_suffix(".toml").map(str::to_owned)
    });
    assert_eq!(listed, files.collect());
    let pairs = rows.iter().find(|row| row["name"] == "s4-pairs").unwrap();
    // Six algorithms in both places, three buffers.
    assert_eq!(pairs["points"], 6 * 6 * 3);
    assert!(scratch.done(&["list"]).lines().any(|line| line.starts_with("s4-pairs ")));
    // The first run that the guide names takes no longer than one waits.
    let demo = rows.iter().find(|row| row["name"] == "demo").unwrap();
    assert!(demo["processor_s"].as_f64().unwrap() <= 15.0, "{demo}");
}

#[test]
fn answers_are_as_their_schema_says() {
    let scratch = Scratch::new("schemas");
    let parsed = |words: &[&str]| -> Value { serde_json::from_str(&scratch.done(words)).unwrap() };
    let fits = |name: &str, words: &[&str]| {
        let (schema, answer) = (parsed(&["schema", name]), parsed(words));
        let schema = jsonschema::draft202012::new(&schema).unwrap();
        let errors: Vec<String> = schema.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{words:?}: {answer}");
    };
    let run = ["run", "example-dumbbell", "--repeats", "1", "--json", "--out"];
    let folders = ["one", "two"].map(|name| scratch.path(name).display().to_string());
    for folder in &folders {
        fits("run", &[&run[..], &[folder.as_str()]].concat());
    }
    let [one, two] = folders.map(|folder| format!("{folder}/example-dumbbell"));
    fits("list", &["list", "--json"]);
    fits("show", &["show", "demo", "--json"]);
    fits("report", &["report", &one, "--json"]);
    fits("compare", &["compare", &one, &two, "--json"]);
    fits("plan", &["plan", "demo", "--recorded", "nowhere", "--json"]);
    fits("repeat", &["repeat", "demo", "--recorded", "nowhere", "--json"]);
    assert_eq!(scratch.done(&["schema"]).lines().count(), 12);
}

/// The committed record, read here on its own: every claim and every result of it is in the answer.
#[test]
fn the_reproduction_table_is_printed_as_json_too() {
    let scratch = Scratch::new("reproduction-json");
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/reproduction.json");
    let text = std::fs::read_to_string(record).unwrap();
    std::fs::write(scratch.path("record.json"), &text).unwrap();
    let output = scratch.lab(&["reproduction", "--record", "record.json", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&scratch.lab(&["schema", "reproduction"]).stdout).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&answer).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(answer["json_version"], 1);
    let known: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    let told = answer["reproduction"].as_array().unwrap();
    assert_eq!(told.len(), known.len());
    for one in told {
        let known = &known[one["scenario"].as_str().unwrap()];
        assert_eq!((&one["title"], &one["papers"]), (&known["title"], &known["source"]));
        assert_eq!(one["claims"], known["statements"]);
        let kernel = known["kernel"].as_array().cloned().unwrap_or_default();
        let testbed: Vec<Value> = known.get("testbed").cloned().into_iter().collect();
        let names = [&["sim"][..], &vec!["sim-testbed"; testbed.len()], &vec!["netns"; kernel.len()]].concat();
        let sides = [&[known["sim"].clone()][..], &testbed, &kernel].concat();
        let results = one["backends"].as_array().unwrap();
        assert_eq!(results.len(), sides.len());
        for ((result, side), name) in results.iter().zip(&sides).zip(names) {
            assert_eq!(result["backend"], name);
            assert_eq!((&result["claim_results"], &result["paper_results"]), (&side["found"], &side["paper"]));
        }
        let ids = one["paper_values"].as_array().unwrap().iter().map(|value| value["value_key"].as_str().unwrap());
        assert_eq!(ids.clone().count(), known["paper"].as_array().unwrap().len());
        for key in sides.iter().flat_map(|side| side["paper"].as_object().unwrap().keys()) {
            assert!(ids.clone().any(|id| id == key), "{key}");
        }
    }
}

#[test]
fn a_shipped_scenario_is_shown_as_json_too() {
    let scratch = Scratch::new("show");
    let shown: Value = serde_json::from_str(&scratch.done(&["show", "example-dumbbell", "--json"])).unwrap();
    let file: Value = toml::from_str(&scratch.done(&["show", "example-dumbbell"])).unwrap();
    assert_eq!((&shown["name"], &shown["document"]), (&"example-dumbbell".into(), &file));
    assert!(shown["document"]["title"].is_string(), "{shown}");
}

/// Experiments of the papers that can be checked in a simulator, as the papers number them.
#[test]
fn every_experiment_of_the_papers_has_its_scenario() {
    let scratch = Scratch::new("experiments");
    let list: Value = serde_json::from_str(&scratch.done(&["list", "--json"])).unwrap();
    let rows = list["scenarios"].as_array().unwrap();
    let sources: Vec<&str> = rows.iter().map(|row| row["papers"].as_str().unwrap()).collect();
    let experiments = [
        ("XCP", "figure 4"),
        ("XCP", "figure 5"),
        ("XCP", "figure 6"),
        ("XCP", "figure 7"),
        ("XCP", "figure 8"),
        ("XCP", "figure 9"),
        ("XCP", "figure 10"),
        ("XCP", "figure 11"),
        ("S0", "figure 4"),
        ("S0", "figure 5"),
        ("S0", "figures 6 to 10"),
        ("S1", "table 1"),
        ("S2", "tables 5 to 7"),
        ("S2", "table 5, last rows"),
        ("S2", "table 8"),
        ("S2", "table 9"),
        ("S2", "tables 10 to 13"),
        ("S3", "figure 1"),
        ("S3", "figures 3 and 4"),
        ("S3", "figure 5"),
        ("S3", "figure 6"),
        ("S3", "figure 7"),
        ("S3", "figure 8"),
        ("S3", "figure 9"),
        ("S4", "figures 2 to 4"),
        ("S4", "section 4"),
        ("S5", "figure 5"),
        ("S5", "figure 7"),
        ("S5", "figure 8"),
        ("S6", "figure 1"),
        ("S6", "figure 8"),
        ("S7", "figures 7 and 8"),
        ("S7", "figure 9"),
    ];
    for (paper, experiment) in experiments {
        let is_there = |source: &&str| source.starts_with(paper) && source.contains(experiment);
        assert!(sources.iter().any(is_there), "{paper}, {experiment}");
    }
}

#[test]
fn what_show_prints_can_be_run() {
    let scratch = Scratch::new("show");
    let text = scratch.done(&["show", "example-dumbbell"]);
    fs::write(scratch.path("copy.toml"), &text).unwrap();
    let shorter =
        ["--set", "run.duration=8 s", "--set", "run.window=[\"7 s\", \"8 s\"]", "--repeats", "1", "--no-paper"];
    scratch.done(&[&["run", "./copy.toml", "--series", "none"], &shorter[..]].concat());
    assert_eq!(scratch.json("ccctl-lab/copy/summary.json")["runs_done"], 5);
}

#[test]
fn a_second_run_finds_everything_there() {
    let scratch = Scratch::new("again");
    let first = scratch.done(&["run", "./small.toml", "--repeats", "1"]);
    assert!(first.contains("small: 4 runs made, 0 existed already"), "{first}");
    assert!(first.contains("1 statement holds, 1 not supported (T-2)"), "{first}");
    assert!(first.trim_end().ends_with("ccctl-lab/small/index.html"), "{first}");
    // The measures of the four points, as in the summary.
    let lines: Vec<&str> = first.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("ALGORITHM")).unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[head])[..4], ["ALGORITHM", "BUFFER", "asymmetry:a/b", "goodput:a"]);
    let summary = scratch.json("ccctl-lab/small/summary.json");
    for (line, point) in lines[head + 1..head + 5].iter().zip(summary["points"].as_array().unwrap()) {
        let words = words(line);
        assert_eq!(words[0], point["place"]["algorithm"].as_str().unwrap(), "{first}");
        let shown: f64 = words[5].parse().unwrap(); // cubic 20 % BDP ASYMMETRY GOODPUT USE
        let goodput = point["measures"]["goodput:a"]["mean"].as_f64().unwrap();
        assert!((shown - goodput).abs() < 0.01, "{line} {goodput}");
    }
    let before = crate::scratch::files(&scratch.path("ccctl-lab/small"));
    let again = scratch.done(&["run", "./small.toml", "--repeats", "1"]);
    assert!(again.contains("small: 0 runs made, 4 existed already"), "{again}");
    assert!(before == crate::scratch::files(&scratch.path("ccctl-lab/small")));
    // A third repeat is run beside those that are there; another seed is another experiment.
    let more: Value =
        serde_json::from_str(&scratch.done(&["run", "./small.toml", "--repeats", "2", "--json"])).unwrap();
    let more = &more["results"][0];
    assert_eq!((&more["ran"], &more["kept"]), (&4.into(), &4.into()));
    assert_eq!(more["statements"]["do_not_hold"], serde_json::json!(["T-2"]));
    assert_eq!(scratch.lab(&["run", "./small.toml", "--seed", "9"]).status.code(), Some(3));
}

#[test]
fn a_part_of_a_sweep_is_the_same_as_in_the_whole() {
    let scratch = Scratch::new("only");
    scratch.done(&["run", "./small.toml", "--repeats", "1", "--out", "whole"]);
    let only = ["--only", "algorithm=scalable", "--only", "buffer=20 % BDP", "--only", "buffer=100 % BDP"];
    scratch.done(&[&["run", "./small.toml", "--repeats", "1", "--out", "part"], &only[..]].concat());
    assert_eq!(scratch.units("part/small"), 2);
    for unit in ["p00003-r1", "p00004-r1"] {
        let name = |folder: &str| format!("{folder}/small/units/{unit}.json");
        assert_eq!(scratch.bytes(&name("whole")), scratch.bytes(&name("part")));
    }
}

/// An axis of one's own gives at each value what the value gives alone.
#[test]
fn a_sweep_over_any_value() {
    let scratch = Scratch::new("sweep");
    let few = ["--repeats", "1", "--only", "algorithm=cubic", "--only", "buffer=20 % BDP", "--series", "none"];
    let axis = ["sweep", "./small.toml", "--axis", "link.l.delay=5 ms, 10 ms", "--out", "sweep"];
    scratch.done(&[&axis[..], &few[..]].concat());
    let set = ["run", "./small.toml", "--set", "link.l.delay=10 ms", "--out", "set"];
    scratch.done(&[&set[..], &few[..]].concat());
    let goodput = |folder: &str, at: usize| {
        let summary = scratch.json(&format!("{folder}/small/summary.json"));
        summary["points"][at]["measures"]["goodput:a"]["mean"].as_f64().unwrap()
    };
    assert_eq!(scratch.json("sweep/small/summary.json")["points"][1]["place"]["link.l.delay"], "10 ms");
    assert_eq!(goodput("sweep", 1).to_bits(), goodput("set", 0).to_bits());
    assert_ne!(goodput("sweep", 0).to_bits(), goodput("set", 0).to_bits());
}

/// Each with options of its own, and the same numbers as alone.
#[test]
fn scenarios_run_beside_each_other() {
    let scratch = Scratch::new("beside");
    fs::write(
        scratch.path("other.toml"),
        crate::scratch::SMALL.replace("delay = \"5 ms\"\nqueue", "delay = \"6 ms\"\nqueue"),
    )
    .unwrap();
    let (few, one) = (["--repeats", "1", "--jobs", "1"], ["--only", "buffer=100 % BDP"]);
    scratch.done(&[&["run", "./small.toml", "--out", "apart"], &few[..]].concat());
    scratch.done(&[&["run", "./other.toml", "--out", "apart"], &few[..], &one[..]].concat());
    let other = "./other.toml --repeats 1 --jobs 1 --only 'buffer=100 % BDP'";
    let text = scratch.done(&[&["run", "./small.toml", "--out", "beside", "--beside", other], &few[..]].concat());
    assert!(text.contains("small: 4 runs made") && text.contains("other: 2 runs made"), "{text}");
    for name in ["small", "other"] {
        assert_same_folders(&scratch.path(&format!("apart/{name}")), &scratch.path(&format!("beside/{name}")));
    }
}

/// Starts a run of one thread, and waits until its first result is there.
fn started(scratch: &Scratch, out: &str) -> Child {
    let mut command = scratch.command(&["run", "./small.toml", "--jobs", "1", "--out", out]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while scratch.units(&format!("{out}/small")) == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn after_ctrl_c_and_after_a_kill_the_same_command_goes_on() {
    let scratch = Scratch::new("stop");
    scratch.done(&["run", "./small.toml", "--out", "whole"]);
    for (out, signal, code) in [("stopped", Signal::SIGINT, Some(6)), ("killed", Signal::SIGKILL, None)] {
        let child = started(&scratch, out);
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code);
        let kept = scratch.units(&format!("{out}/small"));
        assert!((1..12).contains(&kept), "{kept}");
        if signal == Signal::SIGINT {
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains("stopped: repeat the command to continue in stopped/small"), "{text}");
        }
        let text = scratch.done(&["run", "./small.toml", "--out", out]);
        assert!(text.contains(&format!("{} made, {kept} existed already", ccctl_count(12 - kept))), "{text}");
        assert_same_folders(&scratch.path("whole/small"), &scratch.path(&format!("{out}/small")));
    }
}

fn ccctl_count(runs: usize) -> String {
    if runs == 1 {
        "1 run".to_owned()
    } else {
        format!("{runs} runs")
    }
}

/// One signal ends all, and one failure, too.
#[test]
fn scenarios_beside_each_other_end_together() {
    let scratch = Scratch::new("beside-stop");
    fs::write(scratch.path("other.toml"), crate::scratch::SMALL).unwrap();
    let run = ["run", "./small.toml", "--jobs", "1", "--repeats", "500", "--series", "none", "--json"];
    let beside = ["--beside", "./other.toml --jobs 1 --repeats 500"];
    let child = scratch.command(&[&run[..], &beside[..]].concat()).stdout(Stdio::piped()).spawn().unwrap();
    while scratch.units("ccctl-lab/small") == 0 || scratch.units("ccctl-lab/other") == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ends = |name: &str| {
        let of_name = results["results"].as_array().unwrap().iter().find(|result| result["scenario"] == name);
        (of_name.unwrap()["cancelled"].clone(), of_name.unwrap()["ran"].as_u64())
    };
    for name in ["small", "other"] {
        assert_eq!(ends(name), (Value::Bool(true), Some(scratch.units(&format!("ccctl-lab/{name}")) as u64)));
    }
    // A folder of another seed is refused, and what runs beside it does not go on for its 2000 runs.
    let refused = scratch.lab(&[&run[..], &["--seed", "9"], &beside[..]].concat());
    assert_eq!(refused.status.code(), Some(3));
    assert!(scratch.units("ccctl-lab/other") < 1000);
}

/// The example of docs/guide/lab.md, short: two pairs for a minute.
#[test]
fn the_pairs_of_s4_run_in_short() {
    let scratch = Scratch::new("s4");
    let short = [
        "run",
        "s4-pairs",
        "--no-paper",
        "--repeats",
        "1",
        "--only",
        "first=scalable",
        "--only",
        "second=scalable",
        "--only",
        "second=cubic",
        "--only",
        "buffer=40 packets",
        "--set",
        "run.duration=60 s",
        "--set",
        "run.window=[\"55 s\", \"60 s\"]",
    ];
    let text = scratch.done(&short);
    assert!(text.contains("s4-pairs: 2 runs made"), "{text}");
    let page = String::from_utf8(scratch.bytes("ccctl-lab/s4-pairs/index.html")).unwrap();
    assert!(page.contains("Asymmetry A of first and second") && page.contains("(2 of 108 points)"));
    assert!(page.len() < 5_000_000);
}
