// SPDX-License-Identifier: GPL-2.0-only
//! The page of a test: the checks, and the algorithm beside others on five standard paths.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ccctl_console::{Exit, Fault};
use ccctl_lab::backend::{Backend as _, Sim};
use ccctl_lab::report::{keep_command, report_of_test};
use ccctl_lab::run::Options;
use ccctl_series::read_regular_text;
use tempfile::TempDir;

use super::super::runner::Runner;
use super::super::task::{Own, Task};
use super::super::{fault, load};
use super::answer::Answer;
use crate::arguments::{Part, Test};

/// The scenario with the standard paths.
const SCENARIO: &str = "standard";
/// How the command in a folder of a test begins.
const COMMAND: &str = "ccctl lab test ";

/// Where the folder of a page goes, which may replace that of an earlier test.
pub struct Place {
    out: PathBuf,
    folder: PathBuf,
    algorithm: String,
}

impl Place {
    /// Refuses to replace what is no folder of a test.
    pub fn of(out: &Path, algorithm: &str) -> anyhow::Result<Self> {
        let folder = out.join(format!("{algorithm}-test"));
        let is_there = fs::symlink_metadata(&folder).is_ok();
        let command = read_regular_text(&folder.join("command.txt"), 1 << 20).unwrap_or_default();
        let is_of_test = folder.is_dir() && !folder.is_symlink() && command.starts_with(COMMAND);
        if is_there && !is_of_test {
            let cause = format!("{} is not the folder of an earlier test", folder.display());
            return Err(Fault::new(Exit::Refused, cause, "choose another folder: --out DIR").into());
        }
        Ok(Self { out: out.to_owned(), folder, algorithm: algorithm.to_owned() })
    }

    /// Runs the standard paths, and writes the page; None where it was stopped.
    pub fn fill(&self, arguments: &Test, answer: &Answer) -> anyhow::Result<Option<PathBuf>> {
        let own = [Own { name: self.algorithm.clone(), file: arguments.file.clone() }];
        let part = Part::default();
        let loaded = load::load(&Task { name: SCENARIO, axes: &[], own: &own, part: &part })?;
        fs::create_dir_all(&self.out).with_context(|| format!("create {}", self.out.display()))?;
        // Whole or not at all: it is written beside its place, and moved there.
        let until_then = TempDir::new_in(&self.out)?;
        let root = until_then.path().join("test");
        let options =
            Options { out: root.clone(), jobs: Sim.usual_jobs(), shard: None, series: true, retries: 0, commit: None };
        let report = Runner::new()?.carry_out(&loaded.scenario, &Sim, &options)?;
        if report.cancelled {
            return Ok(None);
        }
        keep_command(&root, &format!("{COMMAND}{}", arguments.file)).map_err(fault::of_run)?;
        report_of_test(&root, answer.parts()).map_err(fault::of_run)?;
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).with_context(|| format!("remove {}", self.folder.display()))?;
        }
        fs::rename(&root, &self.folder).with_context(|| format!("move {} there", self.folder.display()))?;
        Ok(Some(self.folder.join("index.html")))
    }
}
