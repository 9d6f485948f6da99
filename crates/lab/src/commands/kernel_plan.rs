// SPDX-License-Identifier: GPL-2.0-only
//! What of a plan is run on the kernel: lines of scenarios and options. Runs take as long as the scenario says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ccctl_console::{cause_of_usage, UsageError};
use ccctl_lab::backend::PathKind;
use ccctl_lab::run::{is_done, units, Recorded, RunError, UnitId};
use ccctl_lab::scenario::Scenario;
use clap::Parser as _;

use super::fault;
use super::kernel::Kernel;
use super::load;
use super::plan::{PlannedRun, Row};
use super::task::Task;
use crate::arguments::{Beside, KernelLine};

/// Where runs are that need not be made again.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Recorded ones; those of this kernel's version count.
    pub recorded: &'a Path,
    /// Output folders.
    pub out: &'a Path,
}

/// A row for each scenario and setting, in the order of the list.
pub fn rows(list: &Path, places: Places<'_>, scenarios: &[String]) -> anyhow::Result<Vec<Row>> {
    let text = std::fs::read_to_string(list)
        .map_err(|error| UsageError::new(format!("cannot read {}: {error}", list.display()), "--kernel-list FILE"))?;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let wrong = |cause: String| {
            UsageError::new(
                format!("{}:{}: {cause}", list.display(), number + 1),
                "SCENARIO [OPTIONS of ccctl lab run]",
            )
        };
        let words = shlex::split(line).ok_or_else(|| wrong("a quotation mark is not closed".to_owned()))?;
        let line = KernelLine::try_parse_from(words).map_err(|error| wrong(cause_of_usage(&error)))?;
        for task in std::iter::once(&line.first).chain(&line.beside) {
            if scenarios.is_empty() || scenarios.contains(&task.scenario) {
                add(task, places, &mut found)?;
            }
        }
    }
    Ok(found.into_iter().map(Setting::row).collect())
}

/// Runs of one scenario with the same settings: they share a folder, and a file of recorded runs.
struct Setting {
    scenario: String,
    set: Vec<String>,
    recorded: Recorded,
    folder: PathBuf,
    runs: BTreeMap<UnitId, PlannedRun>,
}

impl Setting {
    fn of(name: &str, set: &[String], scenario: &Scenario, places: Places<'_>) -> Result<Self, RunError> {
        let kernel = Kernel::new(None, PathKind::Emulator, false);
        let out = if set.is_empty() { places.out.to_owned() } else { places.out.join("scaled") };
        Ok(Self {
            scenario: name.to_owned(),
            set: set.to_vec(),
            recorded: Recorded::of(places.recorded, scenario, &kernel)?,
            folder: out.join(format!("{}-netns", scenario.folder_name())),
            runs: BTreeMap::new(),
        })
    }

    /// Adds what a line runs, but for what lines before it do. A line with fewer runs than jobs takes as long as one of them.
    fn add(&mut self, scenario: &Scenario, jobs: usize) {
        let ids: Vec<UnitId> = units(scenario).into_iter().filter(|id| !self.runs.contains_key(id)).collect();
        let at_once = jobs.min(ids.len()) as f64;
        for id in ids {
            let point = scenario.points.iter().find(|point| point.index == id.point).expect("units are of points");
            let run = PlannedRun {
                run_name: id.name(),
                grid_point: scenario.label(&point.position),
                is_there: self.recorded.usable(id).is_some() || is_done(&self.folder, id),
                is_measured: true,
                takes_s: point.setup.duration.as_secs_f64() / at_once,
            };
            self.runs.insert(id, run);
        }
    }

    fn row(self) -> Row {
        Row {
            scenario: self.scenario,
            variant: if self.set.is_empty() { "kernel" } else { "kernel, scaled" }.to_owned(),
            runs: self.runs.len(),
            there: self.runs.values().filter(|run| run.is_there).count(),
            measured_runs: self.runs.len(),
            planned_runs: self.runs.into_values().collect(),
        }
    }
}

fn add(task: &Beside, places: Places<'_>, found: &mut Vec<Setting>) -> anyhow::Result<()> {
    let (name, set) = (&task.scenario, &task.part.set);
    let loaded = load::load(&Task { name, axes: &[], own: &[], part: &task.part })?;
    let at = if let Some(at) = found.iter().position(|it| it.scenario == *name && it.set == *set) {
        at
    } else {
        found.push(Setting::of(name, set, &loaded.scenario, places).map_err(fault::of_run)?);
        found.len() - 1
    };
    found[at].add(&loaded.scenario, task.part.jobs.map_or(1, usize::from));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use ccctl_lab::backend::PathKind;
    use ccctl_lab::run::{recorded_files, Recorded};
    use ccctl_lab::scenario::Scenario;
    use tempfile::TempDir;

    use super::{rows, Kernel, Places};

    const NOWHERE: &str = "nowhere";

    fn file(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
    }

    /// Points and durations are those of the scenarios; a point that several lines name is run once.
    #[test]
    fn the_list_of_this_repository_can_be_planned() {
        let nowhere = Places { recorded: Path::new(NOWHERE), out: Path::new(NOWHERE) };
        let rows = rows(&file("configs/reproduction-netns.txt"), nowhere, &[]).expect("a list that can be read");
        let of = |name: &str, variant: &str| {
            let row = rows.iter().find(|row| row.scenario == name && row.variant == variant);
            row.map(|row| (row.runs, row.there, row.all_s()))
        };
        // 36 pairs of 500 s, two at once
        assert_eq!(of("s4-pairs", "kernel"), Some((36, 0, 36.0 * 500.0 / 2.0)));
        // At a quarter of the rate also pairs with FAST: 11 with a queue of 40 packets, 4 with one of a whole BDP
        assert_eq!(of("s4-pairs", "kernel, scaled").map(|it| it.0), Some(36 + 11 + 4));
        // All of its 54 points are run once, whichever line names them first.
        assert_eq!(of("s0-fig4-response", "kernel").map(|it| it.0), Some(54));
        assert!(of("s3-fig8-rtt-fairness", "kernel").is_some());
    }

    /// Two runs of 600 s: with more jobs than runs they still take 600 s, and those that a line before makes are not counted again.
    #[test]
    fn jobs_without_a_run_save_no_time() {
        let folder = TempDir::new().expect("a folder");
        let list = folder.path().join("list");
        let line = "s3-fig1-evolution --repeats 1 --jobs 5\n";
        std::fs::write(&list, line.repeat(2)).expect("written");
        let nowhere = Places { recorded: Path::new(NOWHERE), out: Path::new(NOWHERE) };
        let rows = rows(&list, nowhere, &[]).expect("a list that can be read");
        assert_eq!(rows.iter().map(|row| (row.runs, row.all_s())).collect::<Vec<_>>(), [(2, 600.0)]);
    }

    /// Runs of this kernel's version are there, whatever build of it made them.
    #[test]
    fn what_is_recorded_is_there() {
        let name = "s3-fig1-evolution";
        let scenario =
            Scenario::read(&file("configs/scenarios").join(name).with_extension("toml"), &[]).expect("shipped");
        let kernel = Kernel::new(None, PathKind::Emulator, false);
        let mut known = Recorded::none_of(&scenario, &kernel).expect("a key");
        let files = recorded_files(&file("docs/results/runs")).expect("a folder");
        let mut made = files.iter().filter_map(|file| Recorded::read(file).expect("recorded runs"));
        let made =
            made.find(|it| it.experiment.scenario == name && it.experiment.backend == "netns").expect("runs of it");
        known.runs = made.runs;
        let recorded = TempDir::new().expect("a folder");
        known.write(recorded.path()).expect("written");
        let list = recorded.path().join("list");
        std::fs::write(&list, format!("{name} --repeats 1 --jobs 2\n")).expect("written");
        let places = Places { recorded: recorded.path(), out: Path::new(NOWHERE) };
        let rows = rows(&list, places, &[]).expect("a list that can be read");
        // Both late flows once; the file has each three times.
        assert_eq!(rows.iter().map(|row| (row.runs, row.there)).collect::<Vec<_>>(), [(2, 2)]);
    }
}
