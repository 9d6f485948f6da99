// SPDX-License-Identifier: GPL-2.0-only
//! Runs what of a scenario is not yet in its folder: one run a thread, no threads in a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ccctl_series::Table;

use super::error::RunError;
use super::folder::{Folder, SERIES};
use super::identity::Versions;
use super::invalid::InvalidRun;
use super::made::Making;
use super::room;
use super::summary::{summarise, Summary};
use super::trial::{measured, units, UnitId, UnitRecord};
use crate::backend::{impossible_windows, Backend, BackendError, Outcome, Watch};
use crate::experiment::{Point, PointSpec};
use crate::scenario::Scenario;
use crate::seed;

/// How a scenario is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where results go.
    pub out: PathBuf,
    /// Runs at once.
    pub jobs: usize,
    /// Only every N-th run.
    pub shard: Option<Shard>,
    /// Whether time series are kept, as CSV.
    pub series: bool,
    /// How often a run that its backend calls invalid is tried again.
    pub retries: u32,
    /// Commit of the source tree, kept with each result.
    pub commit: Option<String>,
}

/// One of `of` parts of all runs, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

impl std::str::FromStr for Shard {
    type Err = RunError;

    /// Reads "1/4".
    fn from_str(text: &str) -> Result<Self, RunError> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(RunError::Shard(text.to_owned())),
        }
    }
}

/// Told while it runs, from any thread.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The run that has come on.
    pub unit: UnitId,
    /// How much of it is done, 0 to 1.
    pub share: f64,
    /// Runs whose result is kept, those of earlier calls included,
    pub done: usize,
    /// of so many in this shard.
    pub of: usize,
    /// A try of this run was invalid, and it is made again: which, and the first reason.
    pub invalid_try: Option<String>,
}

/// What a call has come to.
#[derive(Debug, Clone)]
pub struct Report {
    /// What the folder says now.
    pub summary: Summary,
    /// Runs that were made by this call.
    pub ran: usize,
    /// Runs that were there already.
    pub kept: usize,
    /// Runs that came to no result, because every try was invalid; the summary has them with their reasons.
    pub invalid: usize,
    /// It was stopped; what was finished is kept, and the same call goes on from there.
    pub cancelled: bool,
}

/// Can the backend run all points?
pub fn check(scenario: &Scenario, backend: &dyn Backend) -> Result<(), RunError> {
    for point in &scenario.points {
        let at = || scenario.place_text(&point.position);
        backend.check(&point.setup).map_err(|cause| RunError::Unit { at: at(), cause })?;
    }
    Ok(())
}

/// Runs what is missing, and sums up what is there.
pub fn run(
    scenario: &Scenario,
    backend: &dyn Backend,
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &AtomicBool,
) -> Result<Report, RunError> {
    check(scenario, backend)?;
    room::check(scenario, options.jobs.min(scenario.points.len() * scenario.repeats as usize))?;
    let versions = Versions::of(scenario, backend)?;
    let folder = Folder::open(&options.out, scenario, &versions)?;
    let shard = options.shard.unwrap_or(Shard { number: 1, of: 1 });
    let all: Vec<UnitId> = units(scenario).into_iter().skip(shard.number - 1).step_by(shard.of).collect();
    let names: Vec<String> = measured(scenario).into_keys().collect();
    let mut missing = Vec::new();
    for id in &all {
        if !folder.has(*id, &names)? {
            missing.push(*id);
        }
    }
    let kept = all.len() - missing.len();
    let work = Work {
        scenario,
        backend,
        folder: &folder,
        versions: &versions,
        series: options.series,
        retries: options.retries,
        commit: options.commit.as_deref(),
        missing: &missing,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(kept),
        invalid: AtomicUsize::new(0),
        of: all.len(),
        progress,
        cancel,
        stop: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    let jobs = options.jobs.clamp(1, missing.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| work.go());
        }
    });
    let (ran, invalid) = (work.done.load(Ordering::SeqCst) - kept, work.invalid.load(Ordering::SeqCst));
    if let Some(error) = work.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let summary = summarise(&options.out, scenario)?;
    folder.write_json("summary.json", &summary)?;
    Ok(Report { summary, ran, kept, invalid, cancelled: kept + ran + invalid < all.len() })
}

/// What the threads share.
struct Work<'a> {
    scenario: &'a Scenario,
    backend: &'a dyn Backend,
    folder: &'a Folder,
    versions: &'a Versions,
    series: bool,
    retries: u32,
    commit: Option<&'a str>,
    missing: &'a [UnitId],
    next: AtomicUsize,
    done: AtomicUsize,
    invalid: AtomicUsize,
    of: usize,
    progress: &'a (dyn Fn(Progress) + Sync),
    cancel: &'a AtomicBool,
    stop: AtomicBool, // after an error
    error: Mutex<Option<RunError>>,
}

impl Work<'_> {
    /// Takes one run after the other.
    fn go(&self) {
        while !self.cancel.load(Ordering::SeqCst) && !self.stop.load(Ordering::SeqCst) {
            let Some(id) = self.missing.get(self.next.fetch_add(1, Ordering::SeqCst)) else { return };
            match self.run_one(*id) {
                Ok(has_result) => {
                    let counter = if has_result { &self.done } else { &self.invalid };
                    counter.fetch_add(1, Ordering::SeqCst);
                    self.report(*id, 1.0);
                }
                Err(RunError::Unit { cause: BackendError::Cancelled, .. }) => return,
                Err(error) => {
                    self.stop.store(true, Ordering::SeqCst);
                    self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
            }
        }
    }

    fn report(&self, unit: UnitId, share: f64) {
        let done = self.done.load(Ordering::SeqCst);
        (self.progress)(Progress { unit, share, done, of: self.of, invalid_try: None });
    }

    /// A try is made again: this may take long, and who waits should know why.
    fn report_invalid(&self, unit: UnitId, point: &Point, number: u32, reasons: &[String]) {
        let (place, tries) = (self.scenario.place_text(&point.position), self.retries + 1);
        let reason = reasons.first().map_or("", String::as_str);
        let invalid_try =
            Some(format!("{place}, repeat {}: try {number} of {tries} is invalid: {reason}", unit.repeat + 1));
        let done = self.done.load(Ordering::SeqCst);
        (self.progress)(Progress { unit, share: 0.0, done, of: self.of, invalid_try });
    }

    /// Whether it has come to a result.
    fn run_one(&self, id: UnitId) -> Result<bool, RunError> {
        let point = self.scenario.points.iter().find(|point| point.index == id.point).expect("units are of points");
        let seed = seed::of_repeat(self.scenario.seed, id.repeat);
        let making = Making::begin();
        let outcome = match self.try_often(point, id, seed) {
            Ok(outcome) => outcome,
            Err(BackendError::Invalid { reasons }) => {
                let place = self.scenario.place(&point.position);
                let (point, repeat, tries) = (id.point + 1, id.repeat + 1, self.retries + 1);
                self.folder.note_invalid(id, &InvalidRun { point, repeat, place, tries, reasons })?;
                return Ok(false);
            }
            Err(cause) => {
                let at = format!("{} (repeat {})", self.scenario.place_text(&point.position), id.repeat + 1);
                return Err(RunError::Unit { at, cause });
            }
        };
        let record = UnitRecord::of(self.scenario, point, id, seed, &outcome);
        let made = making.end(self.commit);
        // One table at a time: together they are several times as large as the outcome.
        let series = self.tables(point, id, &outcome).filter(|_| self.series);
        self.folder.keep(id, &record, &made, series)?;
        Ok(true)
    }

    /// Until a try is valid, but not more often than was asked for.
    fn try_often(&self, point: &Point, id: UnitId, seed: u64) -> Result<Outcome, BackendError> {
        let report = |share: f64| self.report(id, share);
        let watch = Watch { cancel: self.cancel, progress: &report };
        let try_it = || believed(&point.setup, self.backend.run(&point.setup, seed, &watch)?);
        let mut result = try_it();
        for number in 1..=self.retries {
            let Err(BackendError::Invalid { reasons }) = &result else { break };
            self.report_invalid(id, point, number, reasons);
            result = try_it();
        }
        result
    }

    /// All time series by the names of their files.
    fn tables<'a>(
        &'a self,
        point: &'a Point,
        id: UnitId,
        outcome: &'a Outcome,
    ) -> impl Iterator<Item = (String, Table)> + 'a {
        let facts = move |of: &[(&str, String)]| -> BTreeMap<String, String> {
            let known = [
                ("scenario", self.versions.scenario.clone()),
                ("ccctl", self.versions.ccctl.clone()),
                ("identity", self.versions.identity.clone()),
                ("place", self.scenario.label(&point.position)),
                ("repeat", (id.repeat + 1).to_string()),
            ];
            known.iter().chain(of).map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
        };
        let flows = outcome.flows.iter().map(move |flow| {
            let group = &point.setup.groups[flow.group];
            let facts = facts(&[
                ("group", group.name.clone()),
                ("flow", (flow.number + 1).to_string()),
                ("algorithm", group.algorithm.clone()),
            ]);
            (flow_file(&group.name, flow.number + 1), outcome.flow_table(flow, facts))
        });
        let links = point.setup.links.iter().enumerate().map(move |(number, link)| {
            let facts = facts(&[("link", link.name.clone())]);
            (link_file(&link.name), outcome.link_table(number, facts))
        });
        flows.chain(links)
    }
}

/// An outcome that no algorithm can have brought about is none, whichever backend it is of.
fn believed(setup: &PointSpec, outcome: Outcome) -> Result<Outcome, BackendError> {
    let reasons = impossible_windows(setup, &outcome);
    if reasons.is_empty() {
        Ok(outcome)
    } else {
        Err(BackendError::Invalid { reasons })
    }
}

/// Flows of a group count from 1.
pub(super) fn flow_file(group: &str, number: usize) -> String {
    format!("flow-{group}-{number}.csv")
}

pub(super) fn link_file(link: &str) -> String {
    format!("link-{link}.csv")
}

/// The file of a flow's series in an output folder; none where none was kept.
#[must_use]
pub fn flow_series(root: &Path, id: UnitId, group: &str, number: usize) -> Option<PathBuf> {
    series(root, id, &flow_file(group, number), &flow_file(group, number - 1))
}

/// Likewise of a link.
#[must_use]
pub fn link_series(root: &Path, id: UnitId, link: &str) -> Option<PathBuf> {
    series(root, id, &link_file(link), &link_file(link))
}

/// The file, or the one that ccctl 0.1.0 made of it.
fn series(root: &Path, id: UnitId, file: &str, old_file: &str) -> Option<PathBuf> {
    let places = [(id.name(), file), (id.old_name(), old_file)];
    places.iter().map(|(folder, file)| root.join(SERIES).join(folder).join(file)).find(|path| path.exists())
}
