// SPDX-License-Identifier: GPL-2.0-only
//! Recorded runs on the command line: what is there, what it takes, and whether it still holds.

use std::fs;

use serde_json::Value;

use crate::scratch::Scratch;

/// Twelve runs, recorded.
fn recorded(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.done(&["run", "./small.toml", "--series", "none", "--recorded", "recorded", "--commit", "0123456"]);
    scratch
}

fn plan(scratch: &Scratch, more: &[&str]) -> Value {
    let fixed = ["plan", "./small.toml", "--recorded", "recorded", "--jobs", "2", "--json"];
    serde_json::from_str(&scratch.done(&[&fixed[..], more].concat())).unwrap()
}

#[test]
fn a_plan_knows_what_is_there_and_what_the_rest_takes() {
    let scratch = recorded("plan");
    let text = fs::read_to_string(scratch.path("small.toml")).unwrap();
    // The folder that was made is not looked at: all that is known is recorded.
    let of = |answer: &Value| {
        let row = &answer["planned_scenarios"][0];
        [&row["runs"], &row["there"], &row["measured_runs"]].map(|number| number.as_u64().unwrap())
    };
    let all = plan(&scratch, &["--out", "nowhere"]);
    assert_eq!(of(&all), [12, 12, 12]);
    assert_eq!(all["missing_s"], 0.0);
    let one_s = all["all_s"].as_f64().unwrap() / 12.0;

    // Another repeat: the known ones stay, and the new ones are expected to take as long.
    fs::write(scratch.path("small.toml"), text.replace("repeats = 3", "repeats = 4")).unwrap();
    let more = plan(&scratch, &["--out", "nowhere"]);
    assert_eq!(of(&more), [16, 12, 12]);
    let missing_s = more["missing_s"].as_f64().unwrap();
    assert!((missing_s / (4.0 * one_s) - 1.0).abs() < 0.05, "{missing_s} s, a run takes {one_s} s");
    assert!((more["missing_parallel_s"].as_f64().unwrap() / missing_s - 0.5).abs() < 0.01);
    // A point's run is said to be missing by its name.
    let missing =
        more["planned_scenarios"][0]["planned_runs"].as_array().unwrap().iter().filter(|run| run["is_there"] == false);
    let names: Vec<&str> = missing.map(|run| run["run_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["p00001-r4", "p00002-r4", "p00003-r4", "p00004-r4"]);

    // Other settings are another experiment.
    fs::write(scratch.path("small.toml"), text.replace("100 Mbit/s", "101 Mbit/s")).unwrap();
    assert_eq!(of(&plan(&scratch, &["--out", "nowhere"])), [12, 0, 0]);
    let table = scratch.done(&["plan", "./small.toml", "--recorded", "recorded", "--each"]);
    assert_eq!(table.lines().filter(|line| line.contains(" missing ") && line.contains(" estimate ")).count(), 12);
}

#[test]
fn what_is_recorded_is_repeated_and_an_altered_result_is_named() {
    let scratch = recorded("repeat");
    let repeat = |share: &str| {
        scratch.lab(&["repeat", "./small.toml", "--recorded", "recorded", "--share", share, "--seed", "3"])
    };
    let output = repeat("10");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("seed 3: 2 of 12 recorded runs repeated"), "{text}");
    assert!(text.ends_with("all results are the same, byte for byte\n"), "{text}");

    let file = fs::read_dir(scratch.path("recorded")).unwrap().next().unwrap().unwrap().path();
    let lines: Vec<String> = fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    let altered = lines.iter().map(|line| {
        let count = if line.contains("\"point\":2,\"repeat\":1,") { "\"transfers\":1" } else { "\"transfers\":0" };
        line.replacen("\"transfers\":0", count, 1)
    });
    fs::write(&file, altered.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let output = repeat("100");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(6), "{text}");
    let named = text.lines().filter(|line| line.starts_with("differs: ")).collect::<Vec<_>>();
    assert_eq!(named.len(), 1, "{text}");
    assert!(named[0].starts_with("differs: small p00002-r1 (algorithm = cubic, buffer = 100 % BDP) in recorded/small-"));
    assert!(named[0].ends_with(": the number of transfers differs"), "{text}");

    // Without a share that draws it, nothing is seen; with no time at all, nothing is drawn.
    let text = scratch.done(&["repeat", "./small.toml", "--recorded", "nowhere"]);
    assert!(text.ends_with("nothing is recorded\n"), "{text}");
}
