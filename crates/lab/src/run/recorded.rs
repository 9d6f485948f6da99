// SPDX-License-Identifier: GPL-2.0-only
//! Recorded runs: results that stay when their folders are gone, in files that can be committed. A file has all runs of one
//! experiment, and its name says which: `SCENARIO-KEY.jsonl`. Its first line says what was run, each further one is a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ccctl_series::read_regular_text;
use serde::{Deserialize, Serialize};

use super::error::RunError;
use super::folder::{read_made, read_unit, write_whole, Folder};
use super::identity::{algorithm_sha256, key, Versions};
use super::made::Made;
use super::trial::{measured, units, UnitId, UnitRecord};
use crate::backend::Backend;
use crate::scenario::Scenario;

/// Digits of the key in the name of a file.
const KEY_DIGITS: usize = 12;

/// A file of recorded runs is at most this long; the largest of the papers' has a few megabytes.
const BYTES_MAX: u64 = 1 << 28;

/// The first line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Name of the scenario.
    pub scenario: String,
    /// It was run with the noise of its testbed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub testbed: bool,
    /// `sim` or `netns`.
    pub backend: String,
    /// What decides about the runs, as a SHA-256.
    pub key: String,
}

/// A run of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRun {
    /// SHA-256 of the C file of each algorithm that took part.
    #[serde(rename = "algorithm_sha256")]
    pub algorithms: BTreeMap<String, String>,
    /// What it took, and what made it.
    pub made: Made,
    /// Its result.
    pub record: UnitRecord,
}

/// All recorded runs of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What was run.
    pub experiment: Experiment,
    /// Its runs.
    pub runs: BTreeMap<UnitId, RecordedRun>,
}

impl RecordedRun {
    /// Its result as a line of JSON: what another run of the same must give.
    #[must_use]
    pub fn line(&self) -> String {
        line_of(&self.record)
    }

    /// Are the algorithms the same that it was made with?
    fn is_of_these_algorithms(&self) -> bool {
        self.algorithms.iter().all(|(name, sha256)| algorithm_sha256(name).as_ref() == Some(sha256))
    }

    fn id(&self) -> Option<UnitId> {
        Some(UnitId { point: self.record.point.checked_sub(1)?, repeat: self.record.repeat.checked_sub(1)? })
    }
}

/// A result as a line of JSON.
#[must_use]
pub fn line_of(record: &UnitRecord) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

impl Recorded {
    /// Nothing yet, of this scenario on this backend.
    pub fn none_of(scenario: &Scenario, backend: &dyn Backend) -> Result<Self, RunError> {
        let (name, backend_name) = (scenario.name.clone(), backend.name().to_owned());
        let (testbed, key) = (scenario.is_testbed, key(scenario, backend)?);
        let experiment = Experiment { scenario: name, testbed, backend: backend_name, key };
        Ok(Self { experiment, runs: BTreeMap::new() })
    }

    /// What a folder of recorded runs has of this scenario on this backend.
    pub fn of(folder: &Path, scenario: &Scenario, backend: &dyn Backend) -> Result<Self, RunError> {
        let none = Self::none_of(scenario, backend)?;
        Ok(Self::read(&folder.join(none.file_name()))?.filter(|it| it.experiment == none.experiment).unwrap_or(none))
    }

    /// A run that need not be made again; none where it is not there, or is of other algorithms.
    #[must_use]
    pub fn usable(&self, id: UnitId) -> Option<&RecordedRun> {
        self.runs.get(&id).filter(|run| run.is_of_these_algorithms())
    }

    /// Name of its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        let Experiment { scenario, key, .. } = &self.experiment;
        format!("{scenario}-{}.jsonl", key.get(..KEY_DIGITS).unwrap_or(key))
    }

    /// Reads a file; nothing where there is none.
    pub fn read(file: &Path) -> Result<Option<Self>, RunError> {
        let text = match read_regular_text(file, BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(RunError::io("read", file)(error)),
        };
        let damaged = |number: usize, what: String| RunError::Damaged {
            file: file.to_owned(),
            what: format!("line {}: {what}", number + 1),
        };
        let mut lines = text.lines().enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        let experiment = serde_json::from_str(first).map_err(|error| damaged(0, error.to_string()))?;
        let mut runs = BTreeMap::new();
        for (number, line) in lines {
            let run: RecordedRun = serde_json::from_str(line).map_err(|error| damaged(number, error.to_string()))?;
            let id = run.id().ok_or_else(|| damaged(number, "points and repeats count from 1".to_owned()))?;
            runs.insert(id, run);
        }
        Ok(Some(Self { experiment, runs }))
    }

    /// Writes its file into a folder, whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<(), RunError> {
        std::fs::create_dir_all(folder).map_err(RunError::io("create", folder))?;
        let mut text = serde_json::to_string(&self.experiment).unwrap_or_default();
        for run in self.runs.values() {
            // Writing to a text cannot fail.
            let _ = write!(text, "\n{}", serde_json::to_string(run).unwrap_or_default());
        }
        text.push('\n');
        write_whole(&folder.join(self.file_name()), text.as_bytes())
    }
}

/// Files of recorded runs in a folder, by name; none where there is no folder.
pub fn recorded_files(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RunError::io("read", folder)(error)),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    Ok(files)
}

/// Puts recorded runs that are missing in an output folder there, without time series, so that they are not made again.
/// Runs of other algorithms, and those without a measure that is asked for now, are left out. How many there were.
pub fn take_recorded(
    recorded: &Path,
    scenario: &Scenario,
    backend: &dyn Backend,
    out: &Path,
) -> Result<usize, RunError> {
    let known = Recorded::of(recorded, scenario, backend)?;
    if known.runs.is_empty() {
        return Ok(0);
    }
    let folder = Folder::open(out, scenario, &Versions::of(scenario, backend)?)?;
    let names: Vec<String> = measured(scenario).into_keys().collect();
    let mut taken = 0;
    for id in units(scenario) {
        let Some(run) = known.usable(id) else { continue };
        let has_all = names.iter().all(|name| run.record.measures.contains_key(name));
        if has_all && read_unit(out, id)?.is_none() {
            folder.keep(id, &run.record, &run.made, std::iter::empty())?;
            taken += 1;
        }
    }
    Ok(taken)
}

/// Adds the runs of an output folder to the recorded ones, in the place of older ones of the same unit. How many there are
/// now. A run of which it is not known how it was made is left out.
pub fn record_runs(recorded: &Path, scenario: &Scenario, backend: &dyn Backend, out: &Path) -> Result<usize, RunError> {
    let mut known = Recorded::of(recorded, scenario, backend)?;
    let before = known.clone();
    for id in units(scenario) {
        if let (Some(record), Some(made)) = (read_unit(out, id)?, read_made(out, id)?) {
            known.runs.insert(id, RecordedRun { algorithms: algorithms(&record), made, record });
        }
    }
    if known != before {
        known.write(recorded)?;
    }
    Ok(known.runs.len())
}

fn algorithms(record: &UnitRecord) -> BTreeMap<String, String> {
    let names = record.flows.iter().map(|flow| &flow.algorithm);
    names.filter_map(|name| Some((name.clone(), algorithm_sha256(name)?))).collect()
}
