// SPDX-License-Identifier: GPL-2.0-only
//! What of a plan is run on the kernel: lines of scenarios and options. Runs take as long as the scenario says.

use std::collections::btree_map::Entry;
use std::collections::BTreeMap;
use std::path::Path;

use ccctl_console::{cause_of_usage, UsageError};
use ccctl_lab::run::{is_done, units, UnitId};
use clap::Parser as _;

use super::load;
use super::plan::{PlannedRun, Row};
use super::task::Task;
use crate::arguments::{Beside, KernelLine};

/// A row for each scenario and setting, in the order of the list.
pub fn rows(list: &Path, out: &Path, scenarios: &[String]) -> anyhow::Result<Vec<Row>> {
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
                add(task, out, &mut found)?;
            }
        }
    }
    Ok(found.into_iter().map(Setting::row).collect())
}

/// Runs of one scenario with the same settings: they share a folder.
struct Setting {
    scenario: String,
    set: Vec<String>,
    runs: BTreeMap<UnitId, PlannedRun>,
}

impl Setting {
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

fn add(task: &Beside, out: &Path, found: &mut Vec<Setting>) -> anyhow::Result<()> {
    let (name, set) = (&task.scenario, &task.part.set);
    let loaded = load::load(&Task { name, axes: &[], own: &[], part: &task.part })?;
    let scenario = &loaded.scenario;
    let folder = if set.is_empty() { out.to_owned() } else { out.join("scaled") };
    let folder = folder.join(format!("{}-netns", scenario.folder_name()));
    let at = found.iter().position(|it| it.scenario == *name && it.set == *set).unwrap_or_else(|| {
        found.push(Setting { scenario: name.clone(), set: set.clone(), runs: BTreeMap::new() });
        found.len() - 1
    });
    let jobs = f64::from(task.part.jobs.unwrap_or(1));
    for id in units(scenario) {
        let point = scenario.points.iter().find(|point| point.index == id.point).expect("units are of points");
        if let Entry::Vacant(entry) = found[at].runs.entry(id) {
            entry.insert(PlannedRun {
                run_name: id.name(),
                grid_point: scenario.label(&point.position),
                is_there: is_done(&folder, id),
                is_measured: true,
                takes_s: point.setup.duration.as_secs_f64() / jobs,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::rows;

    /// Points and durations are those of the scenarios; a point that several lines name is run once.
    #[test]
    fn the_list_of_this_repository_can_be_planned() {
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/reproduction-netns.txt");
        let rows = rows(&list, Path::new("nowhere"), &[]).expect("a list that can be read");
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
}
