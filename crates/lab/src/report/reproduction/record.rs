// SPDX-License-Identifier: GPL-2.0-only
//! What is known of the papers' statements: kept in a file of its own, as the runs behind it take days, and their folders do not
//! last as long.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Results};
use super::figures::{write_swept, write_values};
use super::known::{ClaimResult, Known, PaperValue, Side, Stated};
use super::{cells, kernel};
use crate::backend::WINDOWS_CHECKED;
use crate::report::number::{number, unit};
use crate::report::write_file;
use crate::run::{PaperRow, RunError, Summary};

/// A record is at most this long; that of all scenarios has a megabyte.
const RECORD_BYTES_MAX: u64 = 1 << 26;

/// What is asked for where the file is not what it should be.
const REMEDY: &str = "give a file that `ccctl lab reproduction --record` has written, or no --record";

/// Of every scenario, by name: what papers say, and what came out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record {
    pub(super) scenarios: BTreeMap<String, Known>,
}

impl Record {
    /// Of a file; nothing is known where there is none.
    pub fn read(file: &Path) -> Result<Self, RunError> {
        let data = match ccctl_series::read_regular(file, RECORD_BYTES_MAX) {
            Ok(data) => data,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(RunError::io("read", file)(error)),
        };
        serde_json::from_slice(&data)
            .map_err(|error| RunError::Unfit { folder: file.to_owned(), what: format!("{error}; {REMEDY}") })
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, file: &Path) -> Result<(), RunError> {
        let mut data = serde_json::to_vec_pretty(self)
            .map_err(|error| RunError::Unfit { folder: file.to_owned(), what: error.to_string() })?;
        data.push(b'\n');
        write_file(file, &data)
    }

    /// Takes in what folders of runs say: of their scenarios and backends it takes the place of what was known, on the kernel of
    /// what was known of the same statements with the same settings; there, results of more runs, and of such whose windows were not
    /// checked, stay where the new ones decide nothing. Pictures of it, and of all papers' values, go to a folder.
    pub fn take(&mut self, folders: &[PathBuf], figures: Option<&Path>) -> Result<(), RunError> {
        for entry in super::entry::entries(folders, |name| self.scenarios.contains_key(name))? {
            figures.map_or(Ok(()), |folder| write_swept(&entry, folder))?;
            self.take_entry(entry);
        }
        figures.map_or(Ok(()), |folder| write_values(self, folder))
    }

    /// Statements of folders whose verdict contradicts the recorded one: "S4-W3 of s4-pairs on sim: ...".
    pub fn contradictions(&self, folders: &[PathBuf]) -> Result<Vec<String>, RunError> {
        let mut found = Vec::new();
        for entry in super::entry::entries(folders, |name| self.scenarios.contains_key(name))? {
            let Some(known) = self.scenarios.get(&entry.name) else {
                found.push(format!("{}: nothing is recorded of it", entry.name));
                continue;
            };
            let sim = entry.sim.iter().map(|results| ("sim", Side::of_sim(results), vec![&known.sim]));
            let testbed = entry
                .testbed
                .iter()
                .map(|results| ("testbed", Side::of_testbed(results), known.testbed.iter().collect::<Vec<_>>()));
            let kernel = entry.kernel.iter().map(|results| {
                let side = Side::of_kernel(results);
                let same = known.kernel.iter().filter(|recorded| recorded.changes == side.changes).collect();
                ("kernel", side, same)
            });
            for (backend, now, recorded) in sim.chain(testbed).chain(kernel) {
                if recorded.is_empty() {
                    found.push(format!("{} on {backend}: nothing is recorded of it", entry.name));
                }
                let contradicted = recorded.iter().flat_map(|recorded| now.contradictions(recorded));
                found.extend(contradicted.map(|id| format!("{id} of {} on {backend}", entry.name)));
            }
        }
        Ok(found)
    }

    fn take_entry(&mut self, entry: Entry) {
        let Entry { name, sim, testbed, kernel } = entry;
        if let Some(sim) = &sim {
            let (testbed, kernel) =
                self.scenarios.remove(&name).map_or((None, Vec::new()), |known| (known.testbed, known.kernel));
            self.scenarios.insert(name.clone(), Known { testbed, kernel, ..Known::of(sim) });
        }
        if let Some(known) = self.scenarios.get_mut(&name) {
            if let Some(testbed) = &testbed {
                known.testbed = Some(Side::of_testbed(testbed));
            }
            for results in &kernel {
                known.take_kernel(Side::of_kernel(results));
            }
        }
    }
}

impl Known {
    fn of(sim: &Results) -> Self {
        let summary = &sim.summary;
        let statements = summary.statements.iter().map(|judged| Stated {
            id: judged.id.clone(),
            text: judged.text.clone(),
            stands: judged.stands.clone(),
        });
        Self {
            title: summary.title.clone(),
            source: summary.source.clone(),
            notes: summary.notes.trim().to_owned(),
            statements: statements.collect(),
            paper: summary.paper.iter().map(|row| PaperValue::of(summary, row)).collect(),
            sim: Side::of_sim(sim),
            testbed: None,
            kernel: Vec::new(),
        }
    }

    /// In the place of what was known with the same settings, where it tells of the same. Of more runs than these, and of such whose
    /// windows were not checked, stays what these do not decide.
    fn take_kernel(&mut self, side: Side) {
        for known in self.kernel.iter_mut().filter(|known| known.changes == side.changes) {
            let is_enough = (known.windows_checked || !side.windows_checked) && side.runs_done >= known.runs_done;
            let is_told = |now: &ClaimResult| is_enough || now.is_decided();
            known.found.retain(|id, _| !side.found.get(id).is_some_and(is_told));
            known.paper.retain(|key, _| !side.paper.contains_key(key));
        }
        self.kernel.retain(|known| known.changes != side.changes || !known.found.is_empty() || !known.paper.is_empty());
        self.kernel.insert(0, side);
        self.kernel.sort_by_key(|side| (side.changes.len(), !side.windows_checked));
    }
}

impl PaperValue {
    fn of(summary: &Summary, row: &PaperRow) -> Self {
        let axes = summary.axes.iter();
        let place = axes.filter_map(|axis| Some(format!("{} = {}", axis.name, row.place.get(&axis.name)?)));
        let error = row.error.map_or_else(String::new, |error| format!(" ± {}", number(error)));
        Self {
            measure: row.measure.clone(),
            place: place.collect::<Vec<_>>().join(", "),
            stands: row.stands.clone(),
            unit: unit(&row.unit).to_owned(),
            value: format!("{}{error}", number(row.paper)),
        }
    }
}

impl Side {
    /// Statements that hold here and not there, or the other way round, with both verdicts. What is not decided, or holds only
    /// where it was run, contradicts nothing but the opposite.
    fn contradictions<'a>(&'a self, recorded: &'a Self) -> impl Iterator<Item = String> + 'a {
        let other = |(id, now): (&String, &ClaimResult)| {
            let then = recorded.found.get(id)?;
            let is_opposite = then.verdict.holds()? != now.verdict.holds()?;
            is_opposite.then(|| format!("{id} ({} instead of {})", now.verdict.text(), then.verdict.text()))
        };
        self.found.iter().filter_map(other)
    }

    fn of_sim(sim: &Results) -> Self {
        let summary = &sim.summary;
        Self::of(summary, cells::description(sim), summary.statements.iter().map(cells::found))
    }

    /// By the places that were run, as on the kernel.
    fn of_testbed(results: &Results) -> Self {
        let found = results.summary.statements.iter().filter_map(kernel::found);
        Self::of(&results.summary, cells::description(results), found)
    }

    fn of_kernel(results: &Results) -> Self {
        let summary = &results.summary;
        let found = summary.statements.iter().filter_map(kernel::found);
        let windows_checked = summary.versions.settings.contains_key(WINDOWS_CHECKED);
        let changes = results.changes.clone();
        Self { changes, windows_checked, ..Self::of(summary, kernel::description(results), found) }
    }

    fn of(summary: &Summary, description: String, found: impl Iterator<Item = (String, ClaimResult)>) -> Self {
        let paper = summary.paper.iter();
        let paper = paper.filter_map(|row| Some((PaperValue::of(summary, row).key(), cells::paper(row)?)));
        Self {
            description,
            changes: Vec::new(),
            windows_checked: false,
            runs_done: summary.runs_done,
            runs: summary.runs,
            found: found.collect(),
            paper: paper.collect(),
        }
    }
}
