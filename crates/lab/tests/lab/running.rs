// SPDX-License-Identifier: GPL-2.0-only
//! Runs, their folders, and what becomes of them when something stops a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ccctl_lab::backend::Sim;
use ccctl_lab::run::{
    flow_series, link_series, load, merge, run, summary_schema, units, Options, Report, RunError, Shard,
};
use ccctl_lab::scenario::Scenario;

use crate::scenario;
use crate::scratch::Scratch;

/// Three algorithms, two buffers, one left out, two repeats: ten short runs.
pub const TEN_RUNS: &str = r#"title = "small"
[[link]]
name = "l"
rate = "5 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", size = "20 % BDP" }
[[flows]]
name = "a"
algorithm = "cubic"
path = ["l"]
access_delay = "5 ms"
start_spread = "50 ms"
[[flows]]
name = "b"
algorithm = "cubic"
path = ["l"]
access_delay = "5 ms"
start_spread = "50 ms"
[run]
duration = "2 s"
warm_up = "500 ms"
repeats = 2
exclude = [{ algorithm = "reno", buffer = "1 BDP" }]
[[sweep]]
name = "algorithm"
values = ["cubic", "scalable", "reno"]
set = ["flows.*.algorithm"]
[[sweep]]
name = "buffer"
values = ["20 % BDP", "1 BDP"]
set = ["link.l.queue.size"]
[measures]
wanted = ["jain"]
[[statement]]
id = "T-1"
text = "the link is used"
check = [{ measure = "utilisation", is = ">", value = 10 }]
"#;

fn options(out: &Path, jobs: usize) -> Options {
    Options { out: out.to_owned(), jobs, shard: None, series: false, retries: 0, commit: None }
}

fn run_all(scenario: &Scenario, options: &Options) -> Result<Report, RunError> {
    run(scenario, &Sim, options, &|_| (), &AtomicBool::new(false))
}

fn summary_bytes(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("summary.json")).unwrap()
}

#[test]
fn any_number_of_jobs_and_shards_makes_the_same_bytes() {
    let (scratch, scenario) = (Scratch::new("jobs"), scenario(TEN_RUNS).unwrap());
    let one = scratch.path("one");
    let report = run_all(&scenario, &options(&one, 1)).unwrap();
    assert_eq!((report.ran, report.kept, report.cancelled), (10, 0, false));
    assert_eq!((report.summary.runs_done, report.summary.runs), (10, 10));
    let schema = jsonschema::validator_for(&summary_schema()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&summary_bytes(&one)).unwrap();
    assert!(schema.is_valid(&json));
    assert!(!schema.is_valid(&serde_json::json!({ "format": 1 })));
    let four = scratch.path("four");
    run_all(&scenario, &options(&four, 4)).unwrap();
    assert_eq!(summary_bytes(&one), summary_bytes(&four));
    let mut shards = Vec::new();
    for number in 1..=3 {
        let out = scratch.path(&format!("shard-{number}"));
        let shard = Some(Shard { number, of: 3 });
        let report = run_all(&scenario, &Options { shard, ..options(&out, 2) }).unwrap();
        assert!((3..=4).contains(&report.ran));
        shards.push(out);
    }
    let merged = scratch.path("merged");
    merge(&shards, &merged).unwrap();
    assert_eq!(summary_bytes(&one), summary_bytes(&merged));
    assert_eq!(load(&merged).unwrap().canonical, scenario.canonical);
}

#[test]
fn another_seed_makes_other_numbers_and_is_another_experiment() {
    let scratch = Scratch::new("seed");
    let at = |seed: &str| {
        let seed = ("run.seed".to_owned(), seed.to_owned());
        Scenario::of_text(Path::new("s.toml"), TEN_RUNS, &[seed, ("run.repeats".to_owned(), "1".to_owned())]).unwrap()
    };
    let (one, two) = (scratch.path("one"), scratch.path("two"));
    let first = run_all(&at("1"), &options(&one, 2)).unwrap();
    let second = run_all(&at("2"), &options(&two, 2)).unwrap();
    assert_ne!(first.summary.points, second.summary.points);
    let refused = run_all(&at("2"), &options(&one, 1)).unwrap_err().to_string();
    assert!(refused.contains("choose another folder") && !refused.contains('\n'), "{refused}");
    let refused = merge(&[one, two], &scratch.path("three")).unwrap_err();
    assert!(matches!(refused, RunError::Different { .. }), "{refused}");
}

#[test]
fn what_was_stopped_goes_on_with_the_rest() {
    let (scratch, scenario) = (Scratch::new("stop"), scenario(TEN_RUNS).unwrap());
    let (whole, stopped) = (scratch.path("whole"), scratch.path("stopped"));
    run_all(&scenario, &options(&whole, 2)).unwrap();
    let (cancel, finished) = (AtomicBool::new(false), AtomicUsize::new(0));
    let stop_after_four = |progress: ccctl_lab::run::Progress| {
        if progress.share >= 1.0 && progress.done > finished.fetch_max(progress.done, Ordering::SeqCst) {
            cancel.store(progress.done >= 4, Ordering::SeqCst);
        }
    };
    let report = run(&scenario, &Sim, &options(&stopped, 2), &stop_after_four, &cancel).unwrap();
    assert!(report.cancelled && (4..10).contains(&report.ran), "{}", report.ran);
    assert_eq!(report.summary.runs_done, report.ran);
    // What a kill leaves beside a file that was not finished.
    fs::write(stopped.join("units/p00006-r2.part"), "{").unwrap();
    let rest = run_all(&scenario, &options(&stopped, 2)).unwrap();
    assert_eq!((rest.kept, rest.ran, rest.cancelled), (report.ran, 10 - report.ran, false));
    assert_eq!(summary_bytes(&whole), summary_bytes(&stopped));
    let nothing = run_all(&scenario, &options(&stopped, 2)).unwrap();
    assert_eq!((nothing.kept, nothing.ran), (10, 0));
}

/// This test runs itself in another process, which it kills when some runs are finished.
#[test]
fn what_was_killed_goes_on_with_the_rest() {
    const OUT: &str = "CCCTL_TEST_KILLED_RUN";
    let scenario = scenario(&TEN_RUNS.replace("repeats = 2", "repeats = 6")).unwrap();
    if let Some(out) = std::env::var_os(OUT) {
        run_all(&scenario, &options(Path::new(&out), 1)).unwrap();
        return;
    }
    let scratch = Scratch::new("kill");
    let (whole, killed) = (scratch.path("whole"), scratch.path("killed"));
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "running::what_was_killed_goes_on_with_the_rest"])
        .env(OUT, &killed)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let finished = || {
        let files = fs::read_dir(killed.join("units")).into_iter().flatten().flatten();
        files.filter(|file| file.path().extension().is_some_and(|ending| ending == "json")).count()
    };
    while finished() < 3 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = finished();
    assert!((3..30).contains(&kept), "{kept}");
    let rest = run_all(&scenario, &options(&killed, 2)).unwrap();
    assert_eq!((rest.kept, rest.ran), (kept, 30 - kept));
    run_all(&scenario, &options(&whole, 2)).unwrap();
    assert_eq!(summary_bytes(&whole), summary_bytes(&killed));
}

#[test]
fn a_run_that_is_cancelled_at_once_keeps_nothing_of_it() {
    let (scratch, scenario) = (Scratch::new("cancel"), scenario(TEN_RUNS).unwrap());
    let out = scratch.path("out");
    let cancel = AtomicBool::new(false);
    let at_first_sample = |_| cancel.store(true, Ordering::SeqCst);
    let report = run(&scenario, &Sim, &options(&out, 1), &at_first_sample, &cancel).unwrap();
    assert_eq!((report.ran, report.cancelled), (0, true));
    assert_eq!(fs::read_dir(out.join("units")).unwrap().count(), 0);
}

#[test]
fn texts_may_change_and_repeats_be_added() {
    let (scratch, scenario) = (Scratch::new("texts"), scenario(TEN_RUNS).unwrap());
    let out = scratch.path("out");
    run_all(&scenario, &options(&out, 2)).unwrap();
    let more = TEN_RUNS.replace("\"small\"", "\"larger\"").replace("repeats = 2", "repeats = 3");
    let report = run_all(&crate::scenario(&more).unwrap(), &options(&out, 2)).unwrap();
    assert_eq!((report.kept, report.ran), (10, 5));
    // A measure that was not asked for before needs its runs again.
    let other = more.replace("[\"jain\"]", "[\"jain\", \"smoothness:a\"]");
    let report = run_all(&crate::scenario(&other).unwrap(), &options(&out, 2)).unwrap();
    assert_eq!((report.kept, report.ran), (0, 15));
}

#[test]
fn folders_of_others_are_left_alone() {
    let (scratch, scenario) = (Scratch::new("foreign"), scenario(TEN_RUNS).unwrap());
    let out = scratch.path("out");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("thesis.tex"), "x").unwrap();
    let refused = run_all(&scenario, &options(&out, 1)).unwrap_err();
    assert!(matches!(refused, RunError::Foreign { .. }), "{refused}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
}

#[test]
fn a_damaged_result_is_named() {
    let (scratch, scenario) = (Scratch::new("damaged"), scenario(TEN_RUNS).unwrap());
    let out = scratch.path("out");
    run_all(&scenario, &options(&out, 2)).unwrap();
    fs::write(out.join("units/p00001-r1.json"), "{\"point\":").unwrap();
    let refused = run_all(&scenario, &options(&out, 1)).unwrap_err().to_string();
    assert!(refused.contains("p00001-r1.json") && refused.contains("remove it"), "{refused}");
}

/// Keys and numbers as ccctl 0.1.0 has them: names of before, and numbers of points, repeats and flows from 0.
fn made_old(out: &Path, unit: &Path) {
    let text = fs::read_to_string(unit).unwrap();
    let old = text.replace("\"retransmits_pkts\"", "\"retransmitted_pkts\"");
    let old = old.replace("\"data_segments_sent_pkts\"", "\"sent_pkts\"");
    assert!(old.contains("\"retransmitted_pkts\"") && old.contains("\"sent_pkts\""), "{text}");
    let mut record: serde_json::Value = serde_json::from_str(&old).unwrap();
    let less = |number: &serde_json::Value| number.as_u64().unwrap() - 1;
    let old_name = format!("{:05}-r{}", less(&record["point"]), less(&record["repeat"]));
    let series = out.join("series").join(&old_name);
    fs::rename(out.join("series").join(unit.file_stem().unwrap()), &series).unwrap();
    (record["point"], record["repeat"]) = (less(&record["point"]).into(), less(&record["repeat"]).into());
    for flow in record["flows"].as_array_mut().unwrap() {
        let file = |number: u64| series.join(format!("flow-{}-{number}.csv", flow["group"].as_str().unwrap()));
        fs::rename(file(less(&flow["number"]) + 1), file(less(&flow["number"]))).unwrap();
        flow["number"] = less(&flow["number"]).into();
    }
    fs::write(out.join("units").join(old_name).with_extension("json"), record.to_string()).unwrap();
    fs::remove_file(unit).unwrap();
}

#[test]
fn folders_of_version_0_1_0_are_read_continued_and_merged() {
    let (scratch, scenario) = (Scratch::new("old-names"), scenario(TEN_RUNS).unwrap());
    let out = scratch.path("out");
    let with_series = |out: &Path| Options { series: true, ..options(out, 2) };
    run_all(&scenario, &with_series(&out)).unwrap();
    let summary = summary_bytes(&out);
    let id = units(&scenario)[3];
    let series_of = |out: &Path| flow_series(out, id, "b", 1).map(|path| fs::read(path).unwrap());
    let series = series_of(&out);
    assert!(series.is_some());
    let files: Vec<_> = fs::read_dir(out.join("units")).unwrap().map(|entry| entry.unwrap().path()).collect();
    for unit in &files {
        made_old(&out, unit);
    }
    assert!(out.join("units/00000-r0.json").exists() && out.join("series/00000-r1/flow-a-0.csv").exists());
    let report = run_all(&scenario, &with_series(&out)).unwrap();
    assert_eq!((report.ran, report.kept), (0, 10));
    assert!(summary == summary_bytes(&out));
    assert_eq!(series_of(&out), series);
    let merged = scratch.path("merged");
    merge(&[out], &merged).unwrap();
    assert!(summary == summary_bytes(&merged) && merged.join("series/p00001-r2/flow-a-1.csv").exists());
    assert_eq!(series_of(&merged), series);
}

#[test]
fn series_are_kept_and_say_what_they_are() {
    let scratch = Scratch::new("series");
    let only = ("run.only".to_owned(), "[{ algorithm = \"cubic\", buffer = \"1 BDP\" }]".to_owned());
    let scenario = Scenario::of_text(Path::new("small.toml"), TEN_RUNS, &[only]).unwrap();
    let out = scratch.path("out");
    run_all(&scenario, &Options { series: true, ..options(&out, 1) }).unwrap();
    let id = units(&scenario)[1];
    let flow = ccctl_series::read(&flow_series(&out, id, "b", 1).unwrap()).unwrap();
    // 2 s in samples of 10 ms, and the one at 0
    assert_eq!(flow.rows(), 201);
    let fact = |key: &str| flow.facts.get(key).map(String::as_str);
    let facts = ["scenario", "algorithm", "repeat", "flow"].map(fact);
    assert_eq!(facts, [Some("small"), Some("cubic"), Some("2"), Some("1")]);
    for column in ["time_s", "cwnd_pkts", "srtt_us", "ca_state", "received_bytes", "loss_epochs"] {
        assert!(flow.column(column).is_some(), "{column}");
    }
    assert!(flow.columns().iter().any(|column| column.name.starts_with("state.")));
    let link = ccctl_series::read(&link_series(&out, id, "l").unwrap()).unwrap();
    assert!(link.column("queue_pkts").is_some() && link.rows() == 201);
}

/// Opportunities at 1, 2 ... 10 ms: 1500 bytes a millisecond, 12 Mbit/s.
#[test]
fn a_trace_goes_into_the_folder_and_into_the_identity() {
    let scratch = Scratch::new("trace");
    let text = TEN_RUNS.replace("rate = \"5 Mbit/s\"", "trace = \"traces/even\"").replace("repeats = 2", "repeats = 1");
    fs::create_dir_all(scratch.path("traces")).unwrap();
    let trace = scratch.path("traces/even");
    fs::write(&trace, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n").unwrap();
    let read = || Scenario::of_text(&scratch.path("s.toml"), &text, &[]).unwrap();
    assert_eq!(read().points[0].setup.links[0].bits_per_s(), 12_000_000);
    let out = scratch.path("out");
    let report = run_all(&read(), &options(&out, 2)).unwrap();
    assert!((report.summary.points[0].measures["utilisation:l"].mean - 100.0).abs() < 15.0);
    assert_eq!(load(&out).unwrap().canonical, read().canonical);
    fs::write(&trace, "1\n").unwrap();
    assert!(matches!(run_all(&read(), &options(&out, 2)), Err(RunError::Foreign { .. })));
}

#[test]
fn every_kind_of_queue_loss_and_application_runs() {
    let scratch = Scratch::new("kinds");
    let text = r#"title = "kinds"
[[link]]
name = "red"
rate = "10 Mbit/s"
delay = "1 ms"
jitter = "100 us"
queue = { kind = "red", size = "1 BDP", min_threshold = "20 % BDP", max_threshold = "60 % BDP", ecn = true }
loss = { kind = "gilbert-elliott", good_to_bad = 1e-3, bad_to_good = 0.2 }
bdp_rtt = "50 ms"
[[link]]
name = "codel"
rate = "8 Mbit/s"
delay = "2 ms"
queue = { kind = "codel", size = "100 packets", target = "3 ms" }
[[link]]
name = "threshold"
rate = "9 Mbit/s"
queue = { kind = "threshold", size = "64 kB", mark_above = "20 packets" }
back = "link"
[tcp]
ecn = true
[[flows]]
name = "long"
algorithm = "dctcp"
path = ["red", "codel", "threshold"]
access_delay = "10 ms"
access_jitter = "50 us"
[[flows]]
name = "one"
algorithm = "reno"
path = ["red"]
application = { kind = "transfer", size = "100 kB" }
tcp = { sack = false, delayed_acks = false, initial_window = "4 packets" }
[[flows]]
name = "on-off"
algorithm = "bbr"
path = ["codel"]
application = { kind = "on-off", rate = "2 Mbit/s", on = "100 ms", off = "100 ms" }
stop = "3 s"
[[flows]]
name = "web"
algorithm = "cubic"
path = ["threshold"]
count = 5
reverse = true
application = { kind = "web", max_size = "1 MB", max_off = "500 ms", min_off = "50 ms" }
tcp = { pacing = true }
[run]
duration = "5 s"
repeats = 2
"#;
    let report = run_all(&scenario(text).unwrap(), &options(&scratch.path("out"), 2)).unwrap();
    let goodput = |group: &str| report.summary.points[0].measures[&format!("goodput:{group}")].mean;
    for group in ["long", "one", "on-off", "web"] {
        assert!(goodput(group) > 0.0, "{group}");
    }
    // 100 kB, in 70 packets of 1448 bytes, in 5 s
    assert!((goodput("one") - 70.0 * 1448.0 * 8.0 / 5e6).abs() < 1e-9, "{}", goodput("one"));
}

#[test]
fn shards_are_written_as_one_of_many() {
    assert_eq!("2/4".parse::<Shard>().unwrap(), Shard { number: 2, of: 4 });
    for text in ["0/4", "5/4", "1", "1/0", "a/b", ""] {
        assert!(text.parse::<Shard>().is_err(), "{text}");
    }
}

/// Two writers far below the link's rate get what they write: 2 Mbit/s at the baseline, 1 Mbit/s beside the newcomer. So the
/// newcomer's impact is a loss of half, and Fair-to-Reno 2.
#[test]
fn impact_and_fair_to_reno_compare_with_the_baseline() {
    let text = r#"title = "t"
[[link]]
name = "l"
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", size = "100 packets" }
[[flows]]
name = "old"
algorithm = "reno"
path = ["l"]
count = 2
application = { kind = "limited", rate = "2 Mbit/s" }
[[flows]]
name = "new"
algorithm = "reno"
path = ["l"]
application = { kind = "limited", rate = "500 kbit/s" }
[run]
duration = "20 s"
warm_up = "10 s"
[[sweep]]
name = "newcomer"
values = ["reno", "cubic"]
set = ["flows.new.algorithm"]
with = { "flows.old.application.rate" = ["2 Mbit/s", "1 Mbit/s"] }
[measures]
wanted = ["impact:old", "fair_to_reno:old"]
baseline = { newcomer = "reno" }
[[paper]]
measure = "fair_to_reno:old"
at = { newcomer = "cubic" }
value = 2.5
unit = "1"
where = "Fig. 7"
[[statement]]
id = "T-1"
text = "The newcomer takes half"
check = [{ measure = "impact:old", at = { newcomer = "cubic" }, between = [-52, -48] }]
"#;
    let scratch = Scratch::new("baseline");
    let report = run_all(&scenario(text).unwrap(), &options(&scratch.path("out"), 2)).unwrap();
    let at = |point: usize, name: &str| report.summary.points[point].measures[name].mean;
    assert!((at(0, "impact:old")).abs() < 1e-9 && (at(0, "fair_to_reno:old") - 1.0).abs() < 1e-9);
    assert!((at(1, "impact:old") + 50.0).abs() < 0.5, "{}", at(1, "impact:old"));
    assert!((at(1, "fair_to_reno:old") - 2.0).abs() < 0.02);
    assert!((at(0, "goodput:old") - 4.0).abs() < 0.02);
    let row = &report.summary.paper[0];
    assert_eq!(row.place, BTreeMap::from([("newcomer".to_owned(), "cubic".to_owned())]));
    assert!((row.off_pct.unwrap() + 20.0).abs() < 1.0);
    assert_eq!(report.summary.statements[0].verdict, ccctl_lab::statements::Verdict::Holds);
}
