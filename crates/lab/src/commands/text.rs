// SPDX-License-Identifier: GPL-2.0-only
//! What a run has come to, for people and for programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ccctl_console::output;
use ccctl_lab::run::{InvalidRun, Report, Shard, Summary};
use ccctl_lab::statements::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

use super::measures::MeasureTable;

/// What every reason of lateness says.
const LATE: &str = " late by more than ";

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
    #[serde(skip)]
    measures: MeasureTable,
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
        for (ids, what) in [(&self.do_not_hold, "not supported"), (&self.not_enough_data, "not decided yet")] {
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
            measures: MeasureTable::new(&report.summary, output::terminal_columns()),
        }
    }

    /// What was run, the measures, and where the rest is.
    pub fn print(&self) -> anyhow::Result<()> {
        output::lines(&self.text())?;
        if self.cancelled || self.shard.is_some() {
            return Ok(());
        }
        self.measures.print()?;
        let result = self.page.clone().unwrap_or_else(|| self.folder.join("summary.json"));
        output::line(&format!("  {}", result.display()))
    }

    fn text(&self) -> String {
        let mut text =
            format!("{}: {} made, {} existed already", self.scenario, output::count(self.ran, "run"), self.kept);
        if !self.invalid.is_empty() {
            let _ = write!(text, ", {} invalid", self.invalid.len());
        }
        if self.cancelled {
            let _ = write!(text, "; stopped: repeat the command to continue in {}", self.folder.display());
            return text;
        }
        if let Some(shard) = self.shard {
            let _ = write!(text, ", of {}\n  shard {} of {}: ", self.runs, shard.number, shard.of);
            let _ = write!(text, "ccctl lab merge OUT DIR... joins {} with the others", self.folder.display());
            return text;
        }
        for run in &self.invalid {
            let _ = write!(text, "\n  {}", invalid(run));
        }
        if self.invalid.iter().flat_map(|run| &run.reasons).any(|reason| reason.contains(LATE)) {
            let _ = write!(
                text,
                "\n  try: --late 10ms, fewer other processes and --jobs 1, or virtual time: scripts/lab-in-guests {}",
                self.scenario
            );
        }
        let statements = self.statements.text();
        if !statements.is_empty() {
            let _ = write!(text, "\n  {statements}");
        }
        text
    }
}

fn invalid(run: &InvalidRun) -> String {
    let place = run.place.iter().map(|(axis, value)| format!("{axis} = {value}"));
    let place: Vec<String> = place.chain([format!("repeat {}", run.repeat)]).collect();
    let tries = output::count(run.tries as usize, "try").replace("trys", "tries");
    format!("invalid after {tries}: {}: {}", place.join(", "), run.reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use ccctl_path::Fault;

    use super::*;

    fn outcome(reason: String) -> Outcome {
        let place = BTreeMap::from([("buffer".to_owned(), "20 % BDP".to_owned())]);
        Outcome {
            scenario: "demo".to_owned(),
            folder: PathBuf::from("ccctl-lab/demo-netns"),
            ran: 0,
            kept: 0,
            runs: 1,
            invalid: vec![InvalidRun { point: 1, repeat: 1, place, tries: 3, reasons: vec![reason] }],
            cancelled: false,
            statements: Statements { hold: 0, do_not_hold: vec![], not_enough_data: vec![] },
            page: None,
            shard: None,
            measures: MeasureTable::default(),
        }
    }

    /// What the path says of lateness has a remedy; a window that no algorithm asks for has another cause.
    #[test]
    fn late_runs_name_what_to_try() {
        let ms = Duration::from_millis;
        let late = Fault::Late { what: "echoes came", bound: ms(2), late: 72, windows: 204, median: ms(1), max: ms(9) };
        let text = outcome(late.to_string()).text();
        assert!(text.contains("invalid after 3 tries: buffer = 20 % BDP, repeat 1: echoes came late by more than 2ms"));
        for remedy in ["--late 10ms", "--jobs 1", "scripts/lab-in-guests demo"] {
            assert!(text.contains(remedy), "{text}");
        }
        assert!(!outcome("a window above 2^20 packets".to_owned()).text().contains("--late"));
    }
}
