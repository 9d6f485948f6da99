// SPDX-License-Identifier: GPL-2.0-only
//! Recorded runs: they stay when their folders are gone, and making them again shows whether they still hold.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ccctl_lab::backend::Sim;
use ccctl_lab::run::{draw, record_runs, recorded_files, repeat, run, take_recorded, Draw, Options, Recorded, Report};
use ccctl_lab::scenario::Scenario;
use ccctl_lab::shipped::shipped;

use crate::running::TEN_RUNS;
use crate::scenario;
use crate::scratch::Scratch;

fn make(scenario: &Scenario, out: &Path) -> Report {
    let commit = Some("0123456".to_owned());
    let options = Options { out: out.to_owned(), jobs: 1, shard: None, series: false, retries: 0, commit };
    run(scenario, &Sim, &options, &|_| (), &AtomicBool::new(false)).unwrap()
}

/// The scenario of ten runs, made and recorded; the folder of what is recorded.
fn recorded(scratch: &Scratch) -> (Scenario, PathBuf) {
    let scenario = scenario(TEN_RUNS).unwrap();
    let (out, folder) = (scratch.path("out"), scratch.path("recorded"));
    make(&scenario, &out);
    assert_eq!(record_runs(&folder, &scenario, &Sim, &out).unwrap(), 10);
    (scenario, folder)
}

#[test]
fn a_run_that_is_recorded_is_not_made_again() {
    let scratch = Scratch::new("recorded");
    let (scenario, folder) = recorded(&scratch);
    let files = recorded_files(&folder).unwrap();
    let before = fs::read(&files[0]).unwrap();
    // Another machine: nothing is there but what was recorded.
    let other = scratch.path("other");
    assert_eq!(take_recorded(&folder, &scenario, &Sim, &other).unwrap(), 10);
    let report = make(&scenario, &other);
    assert_eq!((report.ran, report.kept), (0, 10));
    assert_eq!(fs::read(scratch.path("out/summary.json")).unwrap(), fs::read(other.join("summary.json")).unwrap());
    // What is there is recorded once, and with its first commit.
    record_runs(&folder, &scenario, &Sim, &other).unwrap();
    assert_eq!((recorded_files(&folder).unwrap(), fs::read(&files[0]).unwrap()), (files, before));
    // A folder that lacks some of it gets those.
    fs::remove_file(other.join("units/p00001-r1.json")).unwrap();
    assert_eq!(take_recorded(&folder, &scenario, &Sim, &other).unwrap(), 1);
}

#[test]
fn a_record_says_what_made_it() {
    let scratch = Scratch::new("record-made");
    let (scenario, folder) = recorded(&scratch);
    let known = Recorded::of(&folder, &scenario, &Sim).unwrap();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for run in known.runs.values() {
        assert_eq!(run.made.commit.as_deref(), Some("0123456"));
        assert_eq!(run.made.kernel, kernel.trim());
        assert!((0.0..60.0).contains(&run.made.processor_s), "{:?}", run.made);
    }
}

/// Runs of other settings, seeds or algorithms are others.
#[test]
fn only_runs_of_the_same_experiment_are_taken() {
    let scratch = Scratch::new("recorded-other");
    let (scenario, folder) = recorded(&scratch);
    for (path, value) in [("link.l.rate", "6 Mbit/s"), ("run.seed", "2"), ("tcp.delayed_acks", "false")] {
        let set = [(path.to_owned(), value.to_owned())];
        let other = Scenario::of_text(Path::new("s.toml"), TEN_RUNS, &set).unwrap();
        assert_eq!(take_recorded(&folder, &other, &Sim, &scratch.path("other")).unwrap(), 0, "{path}");
    }
    let file = recorded_files(&folder).unwrap().remove(0);
    let text = fs::read_to_string(&file).unwrap();
    let at = text.find("\"cubic\":\"").unwrap() + "\"cubic\":\"".len();
    fs::write(&file, format!("{}0000{}", &text[..at], &text[at + 4..])).unwrap();
    assert_eq!(take_recorded(&folder, &scenario, &Sim, &scratch.path("out-2")).unwrap(), 9);
}

#[test]
fn what_was_altered_is_found() {
    let scratch = Scratch::new("altered");
    let (scenario, folder) = recorded(&scratch);
    let differences = || {
        let known = vec![Recorded::of(&folder, &scenario, &Sim).unwrap()];
        let drawn = draw(&known, Draw { share: 1.0, budget_s: None, seed: 7 });
        assert_eq!(drawn.len(), 10);
        let of_run = |one: &ccctl_lab::run::Drawn| {
            let difference = repeat(&scenario, &Sim, &known[0], one.id, &AtomicBool::new(false)).unwrap()?;
            Some((one.id.name(), difference))
        };
        drawn.iter().filter_map(of_run).collect::<Vec<_>>()
    };
    assert_eq!(differences(), []);
    let mut known = Recorded::of(&folder, &scenario, &Sim).unwrap();
    let (id, run) = known.runs.iter_mut().nth(3).unwrap();
    let (name, value) = (id.name(), run.record.measures.get_mut("utilisation:l").unwrap());
    *value = value.map(|value| value + 1e-9);
    known.write(&folder).unwrap();
    let found = differences();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, name);
    assert!(found[0].1.starts_with("utilisation:l is "), "{}", found[0].1);
}

/// With a seed the same runs are drawn; with another, others; none twice, and no more than the budget lets pass.
#[test]
fn a_draw_is_of_its_seed() {
    let scratch = Scratch::new("draw");
    let (scenario, folder) = recorded(&scratch);
    let mut known = Recorded::of(&folder, &scenario, &Sim).unwrap();
    known.runs.values_mut().for_each(|run| run.made.processor_s = 2.0);
    let known = [known];
    let of = |share, budget_s, seed| draw(&known, Draw { share, budget_s, seed });
    assert_eq!(of(0.5, None, 1), of(0.5, None, 1));
    let all: Vec<_> = (0..20).map(|seed| of(0.5, None, seed)).collect();
    assert!(all.iter().any(|drawn| *drawn != all[0]));
    for drawn in all {
        assert_eq!(drawn.len(), 5);
        assert!(drawn.iter().enumerate().all(|(at, one)| !drawn[..at].contains(one)));
    }
    assert_eq!(of(0.01, None, 1).len(), 1);
    assert_eq!(of(1.0, Some(7.0), 1).len(), 3);
}

/// A scenario that says what its testbed had is run with it where that is asked for; the others have no such form.
#[test]
fn the_noise_of_a_testbed_is_set_by_its_name() {
    for one in shipped().iter().filter(|it| it.name.as_bytes()[1].is_ascii_digit()) {
        let path = Path::new(one.name).with_extension("toml");
        let exact = Scenario::of_text(&path, one.text, &[]).unwrap();
        let testbed = exact.testbed.clone().unwrap_or_else(|| panic!("{} has no [testbed]", one.name));
        assert!(!testbed.source.is_empty());
        assert!(exact.points.iter().flat_map(|point| &point.setup.links).all(|link| link.spec.tick.is_zero()));
        let noisy = Scenario::at_testbed(&path, one.text, &[]).unwrap();
        // dummynet is the emulator of S0 alone
        assert_eq!(noisy.is_some(), one.name.starts_with("s0-"), "{}", one.name);
        let Some(noisy) = noisy else { continue };
        let milliseconds: Vec<u128> =
            noisy.points.iter().flat_map(|point| &point.setup.links).map(|link| link.spec.tick.as_millis()).collect();
        assert!(milliseconds.iter().all(|tick| *tick == 1), "{milliseconds:?}");
        assert_eq!(noisy.folder_name(), format!("{}-testbed", one.name));
        let key = |scenario| Recorded::none_of(scenario, &Sim).unwrap().experiment.key;
        assert_ne!(key(&noisy), key(&exact));
    }
}
