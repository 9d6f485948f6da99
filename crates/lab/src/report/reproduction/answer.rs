// SPDX-License-Identifier: GPL-2.0-only
//! A record as the answer of a command: its content under keys that have one shape in all answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::known::{ClaimResult, Known, PaperValue, Side, Stated};
use super::record::Record;

/// What papers claim of a scenario, and what came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reproduced {
    /// Its name, as `ccctl lab list` has it.
    scenario: String,
    title: String,
    /// Paper, section and figure.
    papers: String,
    notes: String,
    claims: Vec<Stated>,
    /// Numbers that the paper gives.
    paper_values: Vec<ValueOfPaper>,
    /// The simulator first, exact and then with noise, then the running kernel's settings; those nearest to the simulator's come first.
    backends: Vec<BackendResults>,
}

/// A number of a paper.
#[derive(Debug, Serialize, JsonSchema)]
struct ValueOfPaper {
    /// By which `paper_results` names it.
    value_key: String,
    measure: String,
    /// `AXIS = VALUE`, separated by commas.
    grid_point: String,
    /// Section, figure or table.
    #[serde(rename = "where")]
    stands: String,
    unit: String,
    /// With its standard error where the paper has one.
    paper_value: String,
}

/// What came out on one backend.
#[derive(Debug, Serialize, JsonSchema)]
struct BackendResults {
    /// `sim`, `sim-testbed` (with the noise of the testbed) or `netns`.
    backend: String,
    /// What was run, where, and how.
    description: String,
    /// Settings that differ from the simulator's.
    changes_from_simulator: Vec<String>,
    /// Runs with a window that no algorithm can mean were made invalid.
    windows_checked: bool,
    runs_done: usize,
    runs: usize,
    /// By the id of the claim; missing where nothing of it was run.
    claim_results: BTreeMap<String, ClaimResult>,
    /// By the `value_key`: ours, and by how many percent it is off; missing where it was not run.
    paper_results: BTreeMap<String, [String; 2]>,
}

/// Of every scenario of a record, by name.
#[must_use]
pub fn answer(record: Record) -> Vec<Reproduced> {
    record.scenarios.into_iter().map(|(scenario, known)| reproduced(scenario, known)).collect()
}

fn reproduced(scenario: String, known: Known) -> Reproduced {
    let testbed = known.testbed.into_iter().map(|side| results("sim-testbed", side));
    let kernel = known.kernel.into_iter().map(|side| results("netns", side));
    Reproduced {
        scenario,
        title: known.title,
        papers: known.source,
        notes: known.notes,
        claims: known.statements,
        paper_values: known.paper.into_iter().map(value_of_paper).collect(),
        backends: std::iter::once(results("sim", known.sim)).chain(testbed).chain(kernel).collect(),
    }
}

fn value_of_paper(value: PaperValue) -> ValueOfPaper {
    let value_key = value.key();
    let PaperValue { measure, place, stands, unit, value } = value;
    ValueOfPaper { value_key, measure, grid_point: place, stands, unit, paper_value: value }
}

fn results(backend: &str, side: Side) -> BackendResults {
    BackendResults {
        backend: backend.to_owned(),
        description: side.description,
        changes_from_simulator: side.changes,
        windows_checked: side.windows_checked,
        runs_done: side.runs_done,
        runs: side.runs,
        claim_results: side.found,
        paper_results: side.paper,
    }
}
