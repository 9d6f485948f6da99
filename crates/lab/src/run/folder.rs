// SPDX-License-Identifier: GPL-2.0-only
//! The output folder: what of it is there, and how files get there whole or not at all.
//!
//! ```text
//! scenario.toml     as it was run, values of the command line included; traces beside it
//! versions.json     what it was run with, and the identity of its runs
//! units/NAME.json   a finished run each; written last, so that it vouches for the series
//! series/NAME/      its time series
//! made/NAME.json    what it took, and what made it
//! invalid/NAME.json a run that came to no result, and why; gone when it has one
//! summary.json      means over the repeats, the paper's values, statements; written at the end
//! ```

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ccctl_series::{read_regular, Table};
use nix::fcntl::{Flock, FlockArg, OFlag};
use serde::de::DeserializeOwned;
use serde::Serialize;

use super::error::RunError;
use super::identity::Versions;
use super::invalid::InvalidRun;
use super::made::Made;
use super::trial::{units, Renumber, UnitId, UnitRecord};
use crate::backend::Backend;
use crate::experiment::TRACE_BYTES_MAX;
use crate::scenario::Scenario;

/// Folders of results, of time series, of runs without result.
const UNITS: &str = "units";
pub(crate) const SERIES: &str = "series";
const INVALID: &str = "invalid";
const MADE: &str = "made";

/// A file of results is at most this long: a record of 100,000 flows has 50 MB.
const RECORD_BYTES_MAX: u64 = 1 << 28;

/// A folder that this process writes to.
pub(crate) struct Folder {
    root: PathBuf,
    _lock: Flock<File>,
}

impl Folder {
    /// Makes it, or takes up one of the same experiment.
    pub(crate) fn open(root: &Path, scenario: &Scenario, versions: &Versions) -> Result<Self, RunError> {
        let is_there = check(root, versions)?;
        fs::create_dir_all(root).map_err(RunError::io("create", root))?;
        for folder in [UNITS, SERIES] {
            make_folder(&root.join(folder))?;
        }
        let folder = Self { _lock: lock(root)?, root: root.to_owned() };
        folder.write("scenario.toml", scenario.text.as_bytes())?;
        for trace in &scenario.traces {
            folder.copy_trace(scenario, trace)?;
        }
        if !is_there {
            folder.write_json("versions.json", versions)?;
        }
        Ok(folder)
    }

    fn copy_trace(&self, scenario: &Scenario, trace: &str) -> Result<(), RunError> {
        let from = scenario.folder.join(trace);
        let data = read_regular(&from, TRACE_BYTES_MAX).map_err(RunError::io("read", &from))?;
        let mut folder = self.root.clone();
        for part in Path::new(trace).parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            make_folder(&folder)?;
        }
        self.write(trace, &data)
    }

    /// Is this unit's result there, with all these measures?
    pub(crate) fn has(&self, id: UnitId, measures: &[String]) -> Result<bool, RunError> {
        let record = read_unit(&self.root, id)?;
        Ok(record.is_some_and(|record| measures.iter().all(|name| record.measures.contains_key(name))))
    }

    /// Keeps a unit: its series, how it was made, then its record.
    pub(crate) fn keep(
        &self,
        id: UnitId,
        record: &UnitRecord,
        made: &Made,
        series: impl Iterator<Item = (String, Table)>,
    ) -> Result<(), RunError> {
        let mut series = series.peekable();
        if series.peek().is_some() {
            let folder = self.root.join(SERIES).join(id.name());
            make_folder(&folder)?;
            for (name, table) in series {
                ccctl_series::write(&table, &folder.join(name))?;
            }
        }
        self.keep_made(id, made)?;
        self.write_json(&unit_file(id), record)?;
        for name in [id.name(), id.old_name()] {
            let invalid = self.root.join(file_in(INVALID, &name));
            match fs::remove_file(&invalid) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(RunError::io("remove", &invalid)(error))
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps how a unit was made.
    pub(crate) fn keep_made(&self, id: UnitId, made: &Made) -> Result<(), RunError> {
        make_folder(&self.root.join(MADE))?;
        self.write_json(&file_in(MADE, &id.name()), made)
    }

    /// Notes that a unit has come to no result.
    pub(crate) fn note_invalid(&self, id: UnitId, invalid: &InvalidRun) -> Result<(), RunError> {
        make_folder(&self.root.join(INVALID))?;
        self.write_json(&file_in(INVALID, &id.name()), invalid)
    }

    /// Writes a file as JSON.
    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        let mut data = serde_json::to_vec_pretty(value)
            .map_err(|error| RunError::Damaged { file: self.root.join(name), what: error.to_string() })?;
        data.push(b'\n');
        self.write(name, &data)
    }

    /// Writes a file: it has its name when all of it is on the disk.
    pub(crate) fn write(&self, name: &str, data: &[u8]) -> Result<(), RunError> {
        write_whole(&self.root.join(name), data)
    }
}

/// Writes a file: it has its name when all of it is on the disk.
pub(super) fn write_whole(path: &Path, data: &[u8]) -> Result<(), RunError> {
    let until_then = path.with_extension("part");
    let written = create_anew(&until_then).and_then(|mut file| {
        file.write_all(data)?;
        file.sync_all()
    });
    written.map_err(RunError::io("write", &until_then))?;
    fs::rename(&until_then, path).map_err(RunError::io("write", path))?;
    let parent = path.parent().unwrap_or(path);
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(RunError::io("write", parent))
}

/// Is there a folder of this experiment? One of something else is an error.
fn check(root: &Path, versions: &Versions) -> Result<bool, RunError> {
    let foreign = |what: String| RunError::Foreign { folder: root.to_owned(), what };
    match read_versions(root)? {
        Some(known) if known.agrees_with(versions) => Ok(true),
        Some(known) => Err(foreign(format!(
            "runs of {} (seed {}, ccctl {}, backend {}) with other settings or algorithms, or on another kernel",
            known.scenario, known.seed, known.ccctl, known.backend
        ))),
        None => match fs::read_dir(root) {
            Err(_) => Ok(false),
            Ok(entries) => {
                let is_ours =
                    |name: &str| [".lock", "units", "series", "scenario.toml", "scenario.part"].contains(&name);
                let stranger = entries.flatten().find(|entry| !is_ours(&entry.file_name().to_string_lossy()));
                stranger.map_or(Ok(false), |entry| {
                    Err(foreign(format!("{} and no runs of ccctl", entry.file_name().display())))
                })
            }
        },
    }
}

fn lock(root: &Path) -> Result<Flock<File>, RunError> {
    let path = root.join(".lock");
    let opened =
        File::options().write(true).create(true).truncate(false).custom_flags(OFlag::O_NOFOLLOW.bits()).open(&path);
    let file = opened.map_err(RunError::io("create", &path))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| RunError::Locked(root.to_owned()))
}

/// Makes a folder in an output folder, or takes the one that is there. A link in its place leads elsewhere.
pub(crate) fn make_folder(path: &Path) -> Result<(), RunError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let metadata = fs::symlink_metadata(path).map_err(RunError::io("read", path))?;
            metadata.is_dir().then_some(()).ok_or_else(|| RunError::NotAFolder(path.to_owned()))
        }
        other => other.map_err(RunError::io("create", path)),
    }
}

/// A new file in the place of whatever is there; a link is not followed.
pub(crate) fn create_anew(path: &Path) -> std::io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().write(true).create_new(true).open(path)
}

/// Name of a unit's file.
pub(crate) fn unit_file(id: UnitId) -> String {
    file_in(UNITS, &id.name())
}

fn file_in(folder: &str, name: &str) -> String {
    format!("{folder}/{name}.json")
}

/// What a folder's runs were made with; none where there are none. Everything that reads a folder begins here: a link in
/// the place of one of its folders is refused.
pub(crate) fn read_versions(root: &Path) -> Result<Option<Versions>, RunError> {
    for folder in [UNITS, SERIES, INVALID, MADE].map(|name| root.join(name)) {
        if fs::symlink_metadata(&folder).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(RunError::NotAFolder(folder));
        }
    }
    read_json(&root.join("versions.json"))
}

/// A unit's result; none where it was not finished.
pub(crate) fn read_unit(root: &Path, id: UnitId) -> Result<Option<UnitRecord>, RunError> {
    read_numbered(root, UNITS, id)
}

/// How a unit was made; none where that was not kept.
pub fn read_made(root: &Path, id: UnitId) -> Result<Option<Made>, RunError> {
    read_json(&root.join(file_in(MADE, &id.name())))
}

/// Kernels that the runs of a folder were made on, as far as that was kept.
pub(crate) fn kernels_of(root: &Path, scenario: &Scenario) -> Result<BTreeSet<String>, RunError> {
    let made = units(scenario).into_iter().map(|id| read_made(root, id));
    made.filter_map(|made| made.map(|made| Some(made?.kernel)).transpose()).collect()
}

/// Does a folder hold runs of this experiment?
pub fn holds_runs_of(root: &Path, scenario: &Scenario, backend: &dyn Backend) -> Result<bool, RunError> {
    let Some(known) = read_versions(root)? else { return Ok(false) };
    Ok(known.agrees_with(&Versions::of(scenario, backend)?))
}

/// Is a unit's result there?
#[must_use]
pub fn is_done(root: &Path, id: UnitId) -> bool {
    [id.name(), id.old_name()].iter().any(|name| root.join(file_in(UNITS, name)).exists())
}

/// Why a unit has no result, where it was tried.
pub(crate) fn read_invalid(root: &Path, id: UnitId) -> Result<Option<InvalidRun>, RunError> {
    read_numbered(root, INVALID, id)
}

/// A file of a unit, or the one that ccctl 0.1.0 made of it.
fn read_numbered<T: DeserializeOwned + Renumber>(root: &Path, folder: &str, id: UnitId) -> Result<Option<T>, RunError> {
    if let Some(found) = read_json(&root.join(file_in(folder, &id.name())))? {
        return Ok(Some(found));
    }
    let mut old: Option<T> = read_json(&root.join(file_in(folder, &id.old_name())))?;
    old.iter_mut().for_each(Renumber::count_from_one);
    Ok(old)
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RunError> {
    let data = match read_regular(path, RECORD_BYTES_MAX) {
        Ok(data) => data,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RunError::io("read", path)(error)),
    };
    let damaged = |error: serde_json::Error| RunError::Damaged { file: path.to_owned(), what: error.to_string() };
    serde_json::from_slice(&data).map(Some).map_err(damaged)
}
