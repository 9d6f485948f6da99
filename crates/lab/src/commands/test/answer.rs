// SPDX-License-Identifier: GPL-2.0-only
//! What the checks of an algorithm have come to.

use std::path::PathBuf;

use ccctl_console::output;
use ccctl_series::{Cell, Grid, Part};
use schemars::JsonSchema;
use serde::Serialize;

use super::judge::{PropertyResult, Step, VectorResult};
use super::process::Ended;

/// Of one algorithm.
#[derive(Serialize, JsonSchema)]
pub struct Answer {
    /// Its name.
    algorithm: String,
    /// As the command line names it.
    file: String,
    /// Everything that was checked holds, and nothing crashed.
    pub passed: bool,
    /// The file with its vectors; null where it has none.
    vectors_file: Option<PathBuf>,
    /// In the order of the file.
    vectors: Vec<VectorResult>,
    /// What holds for every algorithm.
    properties: Vec<PropertyResult>,
    /// How many random histories were tried besides.
    histories: u64,
    /// Why there were no sanitizers; null where there were.
    unsanitized: Option<String>,
    /// What ended the process of the checks before they were complete; null: nothing.
    pub crash: Option<Crash>,
    /// The page of the five standard paths; null where it was not asked for, or where the algorithm crashed.
    pub page: Option<PathBuf>,
}

/// What ended the checks.
#[derive(Serialize, JsonSchema)]
pub struct Crash {
    /// The check during which it was seen.
    during: String,
    /// Where in the C file, and what.
    finding: String,
}

impl Answer {
    pub fn of(
        algorithm: &str,
        file: &str,
        vectors_file: Option<PathBuf>,
        unsanitized: Option<&str>,
        ended: Ended,
    ) -> Self {
        let (mut vectors, mut properties, mut histories) = (Vec::new(), Vec::new(), 0);
        for step in ended.steps {
            match step {
                Step::Vector(vector) => vectors.push(vector),
                Step::Property(property) => properties.push(property),
                Step::Fuzzed(tried) => histories = tried,
                Step::Begun(_) | Step::Done => {}
            }
        }
        let crash = ended.crash.map(|(during, finding)| Crash { during, finding });
        let holds = vectors.iter().all(|vector| vector.mismatches.is_empty())
            && properties.iter().all(|property| property.counterexample.is_none());
        Self {
            algorithm: algorithm.to_owned(),
            file: file.to_owned(),
            passed: holds && crash.is_none(),
            vectors_file,
            vectors,
            properties,
            histories,
            unsanitized: unsanitized.map(str::to_owned),
            crash,
            page: None,
        }
    }

    /// For people.
    pub fn print(&self) -> anyhow::Result<()> {
        output::line(&format!("{}: {}", self.algorithm, if self.passed { "passed" } else { "failed" }))?;
        for (what, result) in self.summary() {
            output::line(&format!("  {what:<11}{result}"))?;
        }
        for vector in &self.vectors {
            for mismatch in &vector.mismatches {
                output::line(&format!("  vector {}: {mismatch}", vector.vector))?;
            }
        }
        for property in &self.properties {
            if let Some(counterexample) = &property.counterexample {
                output::line(&format!("  property {}: {}: {counterexample}", property.property, property.meaning))?;
            }
        }
        if let Some(crash) = &self.crash {
            output::line(&format!("  {}: {}", crash.during, crash.finding))?;
        }
        self.page.as_ref().map_or(Ok(()), |page| output::line(&format!("  {}", page.display())))
    }

    /// What was checked, and how much of it holds.
    fn summary(&self) -> [(&'static str, String); 3] {
        let vectors = match &self.vectors_file {
            None => "none; ccctl new NAME shows what a file of vectors looks like".to_owned(),
            Some(_) => held(self.vectors.iter().map(|vector| vector.mismatches.is_empty())),
        };
        let properties = held(self.properties.iter().map(|property| property.counterexample.is_none()));
        let sanitizers = match &self.unsanitized {
            None => "with sanitizers for addresses, undefined behaviour and overflow".to_owned(),
            Some(why) => format!("without sanitizers: {why}"),
        };
        let found = if self.crash.is_some() { "stopped by a crash" } else { "nothing found" };
        let histories = match self.histories {
            1.. => format!("{} {sanitizers}: {found}", self.histories),
            0 => format!("none {sanitizers}: {found}"),
        };
        [("vectors", vectors), ("properties", properties), ("histories", histories)]
    }

    /// For the page.
    pub fn parts(&self) -> Vec<Part> {
        let facts = self.summary().into_iter().map(|(what, result)| (what.to_owned(), result));
        let row = |kind: &str, name: &str, meaning: &str, found: Option<String>| {
            let verdict = Cell::verdict(if found.is_none() { "holds" } else { "does not hold" }, found.is_none());
            vec![kind.into(), name.into(), found.unwrap_or_else(|| meaning.to_owned()).into(), verdict]
        };
        let vectors = self.vectors.iter().map(|it| {
            let found = (!it.mismatches.is_empty()).then(|| it.mismatches.join("; "));
            row("vector", &it.vector, "", found)
        });
        let properties = self.properties.iter().map(|it| {
            let found = it.counterexample.as_ref().map(|found| format!("{}: {found}", it.meaning));
            row("property", &it.property, &it.meaning, found)
        });
        let grid = Grid {
            caption: String::new(),
            head: ["check", "name", "what", "verdict"].map(str::to_owned).to_vec(),
            rows: vectors.chain(properties).collect(),
        };
        vec![Part::Heading("Checks".to_owned()), Part::Facts(facts.collect()), Part::Grid(grid)]
    }
}

/// "3 of 3 hold"
fn held(verdicts: impl Iterator<Item = bool>) -> String {
    let verdicts: Vec<bool> = verdicts.collect();
    let held = verdicts.iter().filter(|holds| **holds).count();
    format!("{held} of {} hold", verdicts.len())
}
