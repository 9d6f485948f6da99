// SPDX-License-Identifier: GPL-2.0-only
//! The table of what papers state: the simulator's part and the running kernel's, on made-up numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ccctl_lab::backend::{Backend, BackendError, Outcome, Sim, Watch, WINDOWS_CHECKED};
use ccctl_lab::experiment::PointSpec;
use ccctl_lab::report::{reproduction, Note, Record};
use ccctl_lab::run::{run, Options, RunError};
use ccctl_lab::scenario::{Override, Scenario};
use ccctl_lab::shipped::shipped;

use crate::running::TEN_RUNS;
use crate::scratch::Scratch;

/// Beside T-1, utilisation > 10 at all five points.
const MORE: &str = r#"
[[statement]]
id = "T-2"
text = "cubic uses half of the link"
where = "Fig. 1"
check = [{ measure = "utilisation", at = { algorithm = "cubic", buffer = "20 % BDP" }, is = ">", value = 50 }]
[[statement]]
id = "T-3"
text = "so does scalable"
where = "Fig. 2"
check = [{ measure = "utilisation", at = { algorithm = "scalable" }, is = ">", value = 50 }]
[[paper]]
measure = "utilisation"
at = { algorithm = "cubic", buffer = "20 % BDP" }
value = 50
unit = "%"
where = "Table 1"
"#;

/// The simulator under the name of the kernel's backend.
struct Kernel;

/// That of before windows were checked.
struct OldKernel;

impl Backend for OldKernel {
    fn name(&self) -> &'static str {
        Kernel.name()
    }

    fn is_deterministic(&self) -> bool {
        Kernel.is_deterministic()
    }

    fn host(&self) -> Option<String> {
        Some("Linux 1.2.2".to_owned())
    }

    fn check(&self, setup: &PointSpec) -> Result<(), BackendError> {
        Kernel.check(setup)
    }

    fn run(&self, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
        Kernel.run(setup, seed, watch)
    }
}

impl Backend for Kernel {
    fn name(&self) -> &'static str {
        "netns"
    }

    fn is_deterministic(&self) -> bool {
        false
    }

    fn host(&self) -> Option<String> {
        Some("Linux 1.2.3".to_owned())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let windows = (WINDOWS_CHECKED.to_owned(), "all".to_owned());
        BTreeMap::from([("late".to_owned(), "7ms".to_owned()), windows])
    }

    fn check(&self, setup: &PointSpec) -> Result<(), BackendError> {
        Sim.check(setup)
    }

    fn run(&self, setup: &PointSpec, seed: u64, watch: &Watch<'_>) -> Result<Outcome, BackendError> {
        Sim.run(setup, seed, watch)
    }
}

/// Runs a scenario.
fn run_text(file: &str, text: &str, out: PathBuf, backend: &dyn Backend, set: &[(&str, &str)]) -> PathBuf {
    let set: Vec<Override> = set.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::of_text(Path::new(file), text, &set).unwrap();
    let options = Options { out: out.clone(), jobs: 2, shard: None, series: false, retries: 0, commit: None };
    run(&scenario, backend, &options, &|_| (), &AtomicBool::new(false)).unwrap();
    if let Some(host) = backend.host() {
        made_on(&out, &host.replace("Linux ", ""), 1);
    }
    out
}

/// Says of runs of a folder that they were made on this kernel: of all from repeat `first` on.
fn made_on(out: &Path, release: &str, first: usize) {
    for made in fs::read_dir(out.join("made")).unwrap().flatten() {
        let name = made.file_name().into_string().unwrap();
        let repeat: usize = name.trim_end_matches(".json").rsplit_once("-r").unwrap().1.parse().unwrap();
        if repeat >= first {
            let mut it: serde_json::Value = serde_json::from_slice(&fs::read(made.path()).unwrap()).unwrap();
            it["kernel"] = release.into();
            fs::write(made.path(), it.to_string()).unwrap();
        }
    }
}

/// A folder of runs whose utilisation is this, by repeat.
fn made_up(out: PathBuf, backend: &dyn Backend, set: &[(&str, &str)], utilisation: [f64; 2]) -> PathBuf {
    let out = run_text("small.toml", &format!("{TEN_RUNS}{MORE}"), out, backend, set);
    for unit in fs::read_dir(out.join("units")).unwrap().flatten() {
        let mut record: serde_json::Value = serde_json::from_slice(&fs::read(unit.path()).unwrap()).unwrap();
        let repeat = record["repeat"].as_u64().unwrap() as usize - 1;
        record["measures"]["utilisation:l"] = utilisation[repeat].into();
        fs::write(unit.path(), record.to_string()).unwrap();
    }
    out
}

/// The page of these folders alone.
fn page(folders: &[&PathBuf], notes: &BTreeMap<String, Note>) -> Result<String, RunError> {
    Ok(reproduction(&record_of(folders)?, notes, None))
}

fn record_of(folders: &[&PathBuf]) -> Result<Record, RunError> {
    let mut record = Record::default();
    record.take(&folders.iter().copied().cloned().collect::<Vec<_>>(), None)?;
    Ok(record)
}

const ONE_POINT: (&str, &str) = ("run.only", "[{ algorithm = \"cubic\", buffer = \"20 % BDP\" }]");

#[track_caller]
fn has(text: &str, line: &str) {
    assert!(text.contains(line), "no {line:?} in\n{text}");
}

/// 40 and 50 have the mean 45, and the standard error is that of two values, half of what they are apart.
#[test]
fn the_kernel_stands_beside_the_simulator() {
    let scratch = Scratch::new("column");
    let sim = made_up(scratch.path("small"), &Sim, &[], [90.0, 90.0]);
    let set = [ONE_POINT, ("link.l.rate", "10 Mbit/s")];
    let kernel = made_up(scratch.path("small-netns"), &Kernel, &set, [40.0, 50.0]);
    let text = page(&[&kernel, &sim], &BTreeMap::new()).unwrap();
    // Three statements, all hold in ten simulated runs; on the kernel T-2 does not, T-1 has one place of five, T-3 none.
    has(&text, "| [small](#small) | 3 | 3 | 0 | 0 | 10 | 0 | 1 | 1 | 0 | 1 | 2 |\n");
    has(
        &text,
        "| **all** | **3** | **3** | **0** | **0** | **10** | **0** | **1** | **1** | **0** | **1** | **2** |\n",
    );
    let said = "Kernel: 2 runs at 1 of 5 points, Linux 1.2.3, ccctl ";
    has(&text, said);
    has(&text, "; bound of lateness: 7ms. Not as in the simulator: link.l.rate = 10 Mbit/s instead of 5 Mbit/s.\n");
    has(
        &text,
        "| by 1 of 5 places: algorithm = cubic, buffer = 20 % BDP: utilisation:l 45 ± 5 > 10 | holds where run |\n",
    );
    let place = "algorithm = cubic, buffer = 20 % BDP: utilisation:l";
    has(&text, &format!("| Fig. 1 | {place} 90 ± 0 > 50 | holds | {place} 45 ± 5 > 50 | **does not hold** |\n"));
    has(&text, " 90 ± 0 > 50 | holds | not run | - |\n");
    has(&text, "**T-2** on the kernel does not hold. Not explained yet.\n");
    let note = Note { kernel: "Nobody has it".to_owned(), ..Note::default() };
    let noted = page(&[&sim, &kernel], &BTreeMap::from([("T-3".to_owned(), note)])).unwrap();
    has(&noted, "**T-3** on the kernel is not run. Nobody has it.\n");
    has(&noted, "| holds | - | not run | Nobody has it |\n");
    // 90 and 45 against 50; no interval of two runs
    has(&text, "| % | 50 | 90 | +80.0 | 45 | -10.0 |\n");

    let note = Note { kernel: "half of the link is other work".to_owned(), ..Note::default() };
    let noted = page(&[&sim, &kernel], &BTreeMap::from([("T-2".to_owned(), note)]));
    has(&noted.unwrap(), "**T-2** on the kernel does not hold. half of the link is other work.\n");
    let alone = page(&[&sim], &BTreeMap::new()).unwrap();
    assert!(!alone.contains("ernel"), "{alone}");
}

/// A machine that gets another build of its kernel goes on where it was; the page names both.
#[test]
fn kernels_of_all_runs_are_named() {
    let scratch = Scratch::new("builds");
    let sim = made_up(scratch.path("small"), &Sim, &[], [90.0, 90.0]);
    let kernel = made_up(scratch.path("small-netns"), &Kernel, &[ONE_POINT], [40.0, 50.0]);
    made_on(&kernel, "1.2.3-later", 2);
    let text = page(&[&sim, &kernel], &BTreeMap::new()).unwrap();
    has(&text, "Kernel: 2 runs at 1 of 5 points, Linux 1.2.3 and Linux 1.2.3-later, ccctl ");
    fs::remove_dir_all(kernel.join("made")).unwrap();
    has(
        &page(&[&sim, &kernel], &BTreeMap::new()).unwrap(),
        "Kernel: 2 runs at 1 of 5 points, an unrecorded kernel, ccctl ",
    );
}

/// What cannot be run as the paper did may be run with less: each statement by the settings nearest to the simulator's that decide it.
#[test]
fn settings_nearest_to_the_simulators_decide() {
    let scratch = Scratch::new("settings");
    let sim = made_up(scratch.path("small"), &Sim, &[], [90.0, 90.0]);
    let slower = ("link.l.rate", "4 Mbit/s");
    let scaled = made_up(scratch.path("scaled"), &Kernel, &[slower], [30.0, 30.0]);
    let same = made_up(scratch.path("same"), &Kernel, &[ONE_POINT], [40.0, 50.0]);
    // T-1 is decided with the slower link only, T-2 by both, and T-3 was run with the slower link only.
    let rows = |text: &str| {
        has(text, "Kernel (1): 2 runs at 1 of 5 points, Linux 1.2.3, ccctl ");
        has(text, "Kernel (2): 10 runs at 5 of 5 points, Linux 1.2.3, ccctl ");
        has(text, "7ms. Not as in the simulator: link.l.rate = 4 Mbit/s instead of 5 Mbit/s.\n");
        has(text, "| (2) at 5 of 5 places; such as algorithm = cubic, buffer = 20 % BDP: utilisation:l 30 ± 0 > 10 | holds |\n");
        has(text, "| (1) algorithm = cubic, buffer = 20 % BDP: utilisation:l 45 ± 5 > 50 | **does not hold** |\n");
        has(text, "utilisation:l 30 ± 0 > 50 | **does not hold** |\n");
        has(text, "| [small](#small) | 3 | 3 | 0 | 0 | 10 | 1 | 0 | 2 | 0 | 0 | 12 |\n");
        has(text, "| % | 50 | 90 | +80.0 | 45 | -10.0 |\n");
    };
    rows(&page(&[&sim, &scaled, &same], &BTreeMap::new()).unwrap());
    // One after the other, the same again takes its own place.
    let mut record = record_of(&[&sim, &same]).unwrap();
    for folder in [&scaled, &same] {
        record.take(&[sim.clone(), folder.clone()], None).unwrap();
    }
    rows(&reproduction(&record, &BTreeMap::new(), None));
}

/// The simulator's folder, and a record of all points on one kernel, of which one is then run again on [`Kernel`].
fn one_point_again(scratch: &Scratch, before: &dyn Backend) -> (PathBuf, Record) {
    let sim = made_up(scratch.path("small"), &Sim, &[], [90.0, 90.0]);
    let all = made_up(scratch.path("all"), before, &[], [30.0, 30.0]);
    let one = made_up(scratch.path("one"), &Kernel, &[ONE_POINT], [60.0, 70.0]);
    let mut record = record_of(&[&sim, &all]).unwrap();
    record.take(&[sim.clone(), one], None).unwrap();
    (sim, record)
}

/// A part that is run again does not take the rest away: what was run without a check of its windows stays where nothing else decides.
#[test]
fn old_runs_stay_where_new_ones_decide_nothing() {
    let scratch = Scratch::new("unchecked");
    let (sim, mut record) = one_point_again(&scratch, &OldKernel);
    // T-2 is decided by the new runs. They have one place of T-1, which the old ones decide, and none of T-3.
    let text = reproduction(&record, &BTreeMap::new(), None);
    has(&text, "Kernel (1): 2 runs at 1 of 5 points, Linux 1.2.3, ccctl ");
    has(&text, "Kernel (2): 10 runs at 5 of 5 points, Linux 1.2.2, ccctl ");
    has(&text, "That no hook was left out in these runs [cannot be shown](kernel-record.md).");
    has(&text, "| (1) algorithm = cubic, buffer = 20 % BDP: utilisation:l 65 ± 5 > 50 | holds |\n");
    has(
        &text,
        "| (2) at 5 of 5 places; such as algorithm = cubic, buffer = 20 % BDP: utilisation:l 30 ± 0 > 10 | holds |\n",
    );
    has(&text, "utilisation:l 30 ± 0 > 50 | **does not hold** |\n");
    // Verdicts of both are held against what is run again.
    let later = made_up(scratch.path("later"), &Kernel, &[], [90.0, 90.0]);
    assert_eq!(
        record.contradictions(&[sim.clone(), later.clone()]).unwrap(),
        ["T-3 (holds instead of does not hold) of small on kernel"]
    );
    // Where new ones decide all, nothing is left of the old ones.
    record.take(&[sim, later], None).unwrap();
    let text = reproduction(&record, &BTreeMap::new(), None);
    has(&text, "Kernel: 10 runs at 5 of 5 points, Linux 1.2.3, ccctl ");
    assert!(!text.contains("Linux 1.2.2"), "{text}");
}

/// Points of another list of runs do not take away what was found at those that they leave out.
#[test]
fn runs_stay_where_others_tell_nothing_of_a_statement() {
    let (_, record) = one_point_again(&Scratch::new("checked"), &Kernel);
    let text = reproduction(&record, &BTreeMap::new(), None);
    // They have one place of T-1, which more runs decide, and none of T-3.
    has(&text, "Kernel (2): 10 runs at 5 of 5 points, Linux 1.2.3, ccctl ");
    has(
        &text,
        "| (2) at 5 of 5 places; such as algorithm = cubic, buffer = 20 % BDP: utilisation:l 30 ± 0 > 10 | holds |\n",
    );
    has(&text, "| (1) algorithm = cubic, buffer = 20 % BDP: utilisation:l 65 ± 5 > 50 | holds |\n");
    has(&text, "| (2) algorithm = scalable, ");
    has(&text, "utilisation:l 30 ± 0 > 50 | **does not hold** |\n");
}

/// One place that contradicts it decides a statement about all places, whatever the others would say.
#[test]
fn a_place_that_contradicts_decides() {
    let scratch = Scratch::new("contradicts");
    let sim = made_up(scratch.path("small"), &Sim, &[], [90.0, 90.0]);
    let kernel = made_up(scratch.path("small-netns"), &Kernel, &[ONE_POINT], [9.0, 9.0]);
    let text = page(&[&sim, &kernel], &BTreeMap::new()).unwrap();
    has(
        &text,
        "by 1 of 5 places: algorithm = cubic, buffer = 20 % BDP: utilisation:l 9 ± 0 > 10 | **does not hold** |\n",
    );
}

#[test]
fn folders_that_do_not_fit_are_refused() {
    let scratch = Scratch::new("unfit");
    let sim = made_up(scratch.path("small"), &Sim, &[], [90.0, 90.0]);
    let kernel = made_up(scratch.path("small-netns"), &Kernel, &[ONE_POINT], [9.0, 9.0]);
    let refused = |folders: &[&PathBuf]| page(folders, &BTreeMap::new()).unwrap_err().to_string();
    assert!(refused(&[&kernel]).contains("a result of small on the kernel, but none of the simulator; "));
    assert!(refused(&[&sim, &sim]).contains("a second result of small in the simulator; "));
    assert!(refused(&[&sim, &kernel, &kernel]).contains("a second result of small on the kernel; "));
}

/// A statement about places that are left out is not judged by those that are run.
#[test]
fn what_only_leaves_out_is_missing() {
    let scratch = Scratch::new("left-out");
    let part = made_up(scratch.path("small"), &Sim, &[ONE_POINT], [90.0, 90.0]);
    let text = page(&[&part], &BTreeMap::new()).unwrap();
    has(&text, "| [small](#small) | 3 | 1 | 0 | 2 | 2 |\n");
}

/// Folders do not last as long as what is known of them: each takes the place of its scenario and backend alone.
#[test]
fn what_was_known_stays_beside_what_is_new() {
    let scratch = Scratch::new("record");
    let sim = made_up(scratch.path("small"), &Sim, &[], [90.0, 90.0]);
    let kernel = made_up(scratch.path("small-netns"), &Kernel, &[ONE_POINT], [40.0, 50.0]);
    let file = scratch.path("record.json");
    assert_eq!(Record::read(&file).unwrap(), Record::default());
    record_of(&[&sim, &kernel]).unwrap().write(&file).unwrap();
    let both = page(&[&sim, &kernel], &BTreeMap::new()).unwrap();
    assert_eq!(reproduction(&Record::read(&file).unwrap(), &BTreeMap::new(), None), both);

    let later = made_up(scratch.path("later/small"), &Sim, &[], [20.0, 20.0]);
    let mut record = Record::read(&file).unwrap();
    record.take(&[later], None).unwrap();
    let text = reproduction(&record, &BTreeMap::new(), None);
    let place = "algorithm = cubic, buffer = 20 % BDP: utilisation:l";
    let row = format!("| {place} 20 ± 0 > 50 | **does not hold** | {place} 45 ± 5 > 50 | **does not hold** |\n");
    has(&text, &row);

    fs::write(&file, "{\"small\": 1}").unwrap();
    let refused = Record::read(&file).unwrap_err().to_string();
    assert!(refused.contains("record.json: ") && refused.contains("--record"), "{refused}");
}

/// The simulated results of a scenario of this repository are known; its statements are judged on the kernel without their folder.
#[test]
fn the_kernel_alone_stands_beside_what_is_known() {
    let scratch = Scratch::new("alone");
    let shipped = shipped().into_iter().find(|it| it.name == "s4-same-start").unwrap();
    let run_it = |out, backend: &dyn Backend, pair: &str| {
        let set = [
            ("run.duration", "2 s"),
            ("run.window", "[\"1 s\", \"2 s\"]"),
            ("link.bottleneck.rate", "5 Mbit/s"),
            ("run.repeats", "1"),
            ("run.only", pair),
        ];
        run_text("s4-same-start.toml", shipped.text, out, backend, &set)
    };
    let sim = run_it(scratch.path("s4"), &Sim, "[{ first = \"cubic\", second = \"cubic\" }]");
    let kernel = run_it(scratch.path("s4-netns"), &Kernel, "[{ first = \"fast\", second = \"fast\" }]");
    let mut record = record_of(&[&sim]).unwrap();
    record.take(std::slice::from_ref(&kernel), None).unwrap();
    let text = reproduction(&record, &BTreeMap::new(), None);
    has(&text, "Kernel: 1 runs at 1 of 10 points, Linux 1.2.3");
    has(
        &text,
        "Not as in the scenario's file: link.bottleneck.rate = 5 Mbit/s instead of 622 Mbit/s; run.duration = 2 s",
    );
    assert!(record_of(&[&kernel]).unwrap_err().to_string().contains("none of the simulator"));
}

/// With the noise of its testbed a scenario has a column of its own, and what was known of the exact runs stays.
#[test]
fn runs_with_noise_stand_beside_the_exact_ones() {
    let scratch = Scratch::new("noise");
    let text = format!("{TEN_RUNS}{MORE}[testbed]\nset = {{ \"link.l.tick\" = \"1 ms\" }}\nsource = \"a manual\"\n");
    let run_it = |scenario: &Scenario, out: &Path| {
        let options = Options { out: out.to_owned(), jobs: 1, shard: None, series: false, retries: 0, commit: None };
        run(scenario, &Sim, &options, &|_| (), &AtomicBool::new(false)).unwrap();
    };
    let path = Path::new("small.toml");
    let (exact, noisy) = (scratch.path("small"), scratch.path("small-testbed"));
    run_it(&Scenario::of_text(path, &text, &[]).unwrap(), &exact);
    run_it(&Scenario::at_testbed(path, &text, &[]).unwrap().unwrap(), &noisy);
    let mut record = record_of(&[&exact, &noisy]).unwrap();
    let page = reproduction(&record, &BTreeMap::new(), None);
    has(&page, "| id | statement | where | here | verdict | testbed's noise | verdict |\n");
    has(&page, "With the noise of the testbed: 10 of 10 runs. ");
    has(&page, "| [T-1](#small) | the link is used | holds | holds |  |\n");
    // The exact ones again: the others are not forgotten. Alone, they are of nothing.
    record.take(std::slice::from_ref(&exact), None).unwrap();
    assert_eq!(reproduction(&record, &BTreeMap::new(), None), page);
    assert!(record_of(&[&noisy]).unwrap_err().to_string().contains("add the folder of the exact runs"));
    assert_eq!(record.contradictions(&[exact, noisy]).unwrap(), Vec::<String>::new());
}

/// Verdicts that are the opposite of the recorded ones are named, and only those.
#[test]
fn a_verdict_that_contradicts_the_recorded_one_is_named() {
    let scratch = Scratch::new("contradicting");
    let sim = made_up(scratch.path("small"), &Sim, &[], [90.0, 90.0]);
    let kernel = made_up(scratch.path("small-netns"), &Kernel, &[ONE_POINT], [90.0, 90.0]);
    let record = record_of(&[&sim, &kernel]).unwrap();
    let later = made_up(scratch.path("later/small-netns"), &Kernel, &[ONE_POINT], [40.0, 50.0]);
    assert_eq!(record.contradictions(&[sim.clone(), kernel]).unwrap(), Vec::<String>::new());
    assert_eq!(
        record.contradictions(&[sim.clone(), later]).unwrap(),
        ["T-2 (does not hold instead of holds) of small on kernel"]
    );
    // Other settings were never recorded.
    let slower = made_up(scratch.path("slower"), &Kernel, &[("link.l.rate", "4 Mbit/s")], [40.0, 50.0]);
    assert_eq!(record.contradictions(&[sim, slower]).unwrap(), ["small on kernel: nothing is recorded of it"]);
}
