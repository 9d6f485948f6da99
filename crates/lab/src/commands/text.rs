// SPDX-License-Identifier: GPL-2.0-only
//! What a run has come to, for people and for programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ccctl_console::output;
use ccctl_lab::run::{InvalidRun, Report, Shard, Summary};
use ccctl_lab::statements::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// Of one scenario.
#[derive(Serialize, JsonSchema)]
pub struct Outcome {
    pub scenario: String,
    pub folder: PathBuf,
    /// Runs that this call has made,
    pub ran: usize,
    /// that were there already,
    pub kept: usize,
    /// and that the scenario has.
    pub runs: usize,
    /// Runs that came to no result, and why.
    pub invalid: Vec<InvalidRun>,
    pub cancelled: bool,
    pub statements: Statements,
    pub page: Option<PathBuf>,
    #[serde(skip)]
    shard: Option<Shard>,
}

/// How many.
#[derive(Serialize, JsonSchema)]
pub struct Statements {
    pub hold: usize,
    pub do_not_hold: Vec<String>,
    pub not_enough_data: Vec<String>,
}

impl Statements {
    pub fn of(summary: &Summary) -> Self {
        let ids = |verdict: Verdict| {
            let those = summary.statements.iter().filter(move |judged| judged.verdict == verdict);
            those.map(|judged| judged.id.clone()).collect::<Vec<_>>()
        };
        Self {
            hold: ids(Verdict::Holds).len(),
            do_not_hold: ids(Verdict::DoesNotHold),
            not_enough_data: ids(Verdict::NotEnoughData),
        }
    }

    /// "12 statements hold, 2 do not (S4-B1, S4-W3)"; empty where there are none.
    pub fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.hold > 0 {
            parts.push(format!(
                "{} {}",
                output::count(self.hold, "statement"),
                if self.hold == 1 { "holds" } else { "hold" }
            ));
        }
        for (ids, what) in [(&self.do_not_hold, "not borne out"), (&self.not_enough_data, "not to be judged yet")] {
            if !ids.is_empty() {
                parts.push(format!("{} {what} ({})", ids.len(), ids.join(", ")));
            }
        }
        parts.join(", ")
    }
}

impl Outcome {
    pub fn new(report: &Report, folder: &Path, page: Option<PathBuf>, shard: Option<Shard>) -> Self {
        Self {
            scenario: report.summary.versions.scenario.clone(),
            folder: folder.to_owned(),
            ran: report.ran,
            kept: report.kept,
            runs: report.summary.runs,
            invalid: report.summary.invalid.clone(),
            cancelled: report.cancelled,
            statements: Statements::of(&report.summary),
            page,
            shard,
        }
    }

    pub fn text(&self) -> String {
        let mut text =
            format!("{}: {} made, {} there before", self.scenario, output::count(self.ran, "run"), self.kept);
        if !self.invalid.is_empty() {
            let _ = write!(text, ", {} invalid", self.invalid.len());
        }
        if self.cancelled {
            let _ = write!(text, "; stopped, the same command goes on in {}", self.folder.display());
            return text;
        }
        if let Some(shard) = self.shard {
            let _ = write!(text, ", of {}\n  shard {} of {}: ", self.runs, shard.number, shard.of);
            let _ = write!(text, "ccctl lab merge OUT DIR... puts {} together with the others", self.folder.display());
            return text;
        }
        for run in &self.invalid {
            let _ = write!(text, "\n  {}", invalid(run));
        }
        let statements = self.statements.text();
        if !statements.is_empty() {
            let _ = write!(text, "\n  {statements}");
        }
        let result = self.page.clone().unwrap_or_else(|| self.folder.join("summary.json"));
        let _ = write!(text, "\n  {}", result.display());
        text
    }
}

fn invalid(run: &InvalidRun) -> String {
    let place = run.place.iter().map(|(axis, value)| format!("{axis} = {value}"));
    let place: Vec<String> = place.chain([format!("repeat {}", run.repeat + 1)]).collect();
    let tries = output::count(run.tries as usize, "try").replace("trys", "tries");
    format!("invalid after {tries}: {}: {}", place.join(", "), run.reasons.join("; "))
}
