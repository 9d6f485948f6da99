// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where experiments are kept: a folder each, with the frozen plan, how far it is, and its blocks. What runs at a moment is
//! read from here, so a daemon that was killed or upgraded goes on where it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use ccctl_catalog::did_you_mean;
use ccctl_console::{Exit, Fault};
use ccctl_inference::schedule::{Arm, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::completion::Completions;
use super::hold_out::ClusterSums;
use super::lines;
use super::metric::Sums;
use super::plan::{Plan, FORMAT};

/// Where state goes that outlives the host's boot: the unit's `StateDirectory=`.
const FOLDER: &str = "/var/lib/ccctl";
/// Another folder. Not systemd's own variable: in another service that names the folder of that service, where a command
/// would find no experiments and set the file's rule in the place of their arm.
const FOLDER_VARIABLE: &str = "CCCTL_STATE";

const PLAN: &str = "plan.json";
const PROGRESS: &str = "progress.json";
const BLOCKS: &str = "blocks.jsonl";

/// How an experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// It has as many pairs as the plan wants.
    Complete,
    /// A person has stopped it, or the file has it no more.
    Stopped,
    /// A guard-rail has ended it: arm A stays in force until it is stopped.
    Harmful,
    /// Something has made its numbers meaningless.
    Void,
}

/// The end of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// When, RFC 3339.
    pub at: String,
    /// How.
    pub outcome: Ended,
    /// Why.
    pub why: String,
}

/// How far an experiment is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// When it was started, RFC 3339.
    pub started_at: String,
    /// Number of its first pair of blocks, counted from the epoch.
    pub first_pair: u64,
    /// Its end.
    pub ending: Option<End>,
    /// Has the configuration file started it?
    pub is_of_file: bool,
    /// Its rule is not in force any more.
    pub is_settled: bool,
}

/// A block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Its number, counted from the epoch.
    pub block: u64,
    /// When it began, RFC 3339.
    pub began_at: String,
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`, of its arm.
    pub congestion_control: String,
    /// Is it a block of arm B?
    pub is_treated: bool,
    /// Why it does not count.
    pub problem: Option<String>,
    /// What the sockets of the scope did in it, without the burn-in.
    pub sums: Sums,
    /// The same without twice the burn-in.
    pub later: Option<Sums>,
    /// Of `sums`, what sockets on the other arm did; null without a hold-out.
    #[serde(default)]
    pub held_out: Option<Sums>,
    /// The same by cluster of peers; empty without a hold-out.
    #[serde(default)]
    pub clusters: Vec<ClusterSums>,
    /// Connections on the block's arm that were opened and closed in it, by size and time.
    #[serde(default)]
    pub completions: Completions,
    /// Of its segments, those of sockets on the block's arm, or on one of both with a hold-out.
    pub segments_on_arm: u64,
    /// Bytes acknowledged of all sockets of the host.
    pub host_acked_bytes: u64,
}

/// An experiment as it is kept.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The frozen plan.
    pub plan: Plan,
    /// None: planned only.
    pub progress: Option<Progress>,
}

impl Kept {
    /// Is it under way?
    #[must_use]
    pub fn runs(&self) -> bool {
        self.progress.as_ref().is_some_and(|progress| progress.ending.is_none())
    }

    /// Does its rule have to be in force?
    #[must_use]
    pub fn is_in_force(&self) -> bool {
        self.progress.as_ref().is_some_and(|progress| !progress.is_settled)
    }

    /// Where a moment lies; None before its first pair.
    pub fn place(&self, now: SystemTime) -> anyhow::Result<Option<Place>> {
        let Some(progress) = &self.progress else { return Ok(None) };
        let place = self.plan.schedule()?.place(since_epoch(now));
        Ok((place.pair >= progress.first_pair).then_some(place))
    }

    /// The arm at a moment: A before the first pair, and after the end.
    pub fn arm(&self, now: SystemTime) -> anyhow::Result<Arm> {
        let place = if self.runs() { self.place(now)? } else { None };
        Ok(place.map_or(Arm::Control, |place| place.arm))
    }
}

/// Time since the epoch.
#[must_use]
pub fn since_epoch(now: SystemTime) -> Duration {
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The folder of ccctl's state.
#[must_use]
pub fn folder() -> PathBuf {
    std::env::var_os(FOLDER_VARIABLE).map_or_else(|| FOLDER.into(), PathBuf::from)
}

fn folder_of(name: &str) -> PathBuf {
    folder().join("experiments").join(name)
}

/// All experiments, by name. One whose files are damaged is none: it must not keep the host from the rest of its file.
pub fn all() -> anyhow::Result<Vec<Kept>> {
    let folder = folder().join("experiments");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("read {}", folder.display())),
    };
    let mut found = Vec::new();
    for entry in entries {
        match read(&entry?.path()) {
            Ok(kept) => found.extend(kept),
            Err(error) => tracing::error!("experiments: {}", ccctl_console::cause(&error)),
        }
    }
    found.sort_by(|a, b| a.plan.name.cmp(&b.plan.name));
    Ok(found)
}

/// One, if there is one of this name.
pub fn find(name: &str) -> anyhow::Result<Option<Kept>> {
    if ccctl_loader::check_name(name).is_err() {
        return Ok(None); // no experiment has it, and it could be a path
    }
    read(&folder_of(name))
}

/// One, by name.
pub fn named(name: &str) -> anyhow::Result<Kept> {
    match find(name)? {
        Some(kept) => Ok(kept),
        None => Err(unknown(name)?.into()),
    }
}

fn unknown(name: &str) -> anyhow::Result<Fault> {
    let names: Vec<String> = all()?.into_iter().map(|kept| kept.plan.name).collect();
    let remedy = did_you_mean(name, names.iter().map(String::as_str), || match names.join(", ") {
        all if all.is_empty() => format!("ccctl experiment plan {name} --b NAME --unit UNIT"),
        all => format!("there are {all}"),
    });
    Ok(Fault::new(Exit::Usage, format!("there is no experiment {name:?}"), remedy))
}

/// A folder without a whole plan is of a `plan` that was killed: nothing was promised.
fn read(folder: &Path) -> anyhow::Result<Option<Kept>> {
    let text = |name: &str| match fs::read_to_string(folder.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {}", folder.join(name).display())),
    };
    let Some(plan) = text(PLAN)? else { return Ok(None) };
    let wrong = || format!("{} is not a plan of format {FORMAT} as it was frozen", folder.join(PLAN).display());
    let plan_text = plan;
    let plan: Plan = serde_json::from_str(&plan_text).with_context(wrong)?;
    anyhow::ensure!(plan.plan_format == FORMAT && plan.text()? == plan_text, wrong());
    let progress = text(PROGRESS)?.map(|text| serde_json::from_str(&text)).transpose();
    Ok(Some(Kept { plan, progress: progress.with_context(|| format!("read {}", folder.display()))? }))
}

/// The blocks of an experiment.
pub fn blocks(name: &str) -> anyhow::Result<Vec<Block>> {
    let path = folder_of(name).join(BLOCKS);
    lines::read(&path).with_context(|| format!("read {}", path.display()))
}

/// Adds a block.
pub fn add_block(name: &str, block: &Block) -> anyhow::Result<()> {
    let path = folder_of(name).join(BLOCKS);
    lines::append(&path, block).with_context(|| format!("write {}", path.display()))
}

/// Keeps a plan; one of the name that was never started is replaced.
pub fn freeze(plan: &Plan) -> anyhow::Result<()> {
    put(&plan.name, PLAN, plan.text()?.as_bytes())
}

/// Notes how far an experiment is.
pub fn note(name: &str, progress: &Progress) -> anyhow::Result<()> {
    put(name, PROGRESS, (serde_json::to_string_pretty(progress)? + "\n").as_bytes())
}

fn put(name: &str, file: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = folder_of(name);
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(ccctl_runfiles::write(&folder.join(file), bytes).map_err(ccctl_loader::Error::from)?)
}

/// Forgets an experiment.
pub fn remove(name: &str) -> anyhow::Result<()> {
    let folder = folder_of(name);
    fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))
}
