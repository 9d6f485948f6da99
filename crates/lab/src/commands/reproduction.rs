// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab reproduction`

use std::collections::BTreeMap;
use std::io::Write as _;

use ccctl_console::{output, Exit, UsageError};
use ccctl_lab::report::{read_notes, reproduction, reproduction_answer, statement_ids, Record, Reproduced};

use schemars::JsonSchema;
use serde::Serialize;

use super::fault;
use crate::arguments::Reproduction as Arguments;

/// What papers state and what came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// By the name of the scenario.
    reproduction: Vec<Reproduced>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let notes = match &arguments.notes {
        None => BTreeMap::new(),
        Some(file) => read_notes(file, &statement_ids()).map_err(|error| {
            let text = error.to_string();
            let (cause, remedy) = text.rsplit_once("; ").unwrap_or((&text, "configs/reproduction-notes.toml"));
            UsageError::new(cause, remedy)
        })?,
    };
    let mut record = match &arguments.record {
        None => Record::default(),
        Some(file) => Record::read(file).map_err(fault::of_run)?,
    };
    if arguments.check {
        return check(&record, arguments);
    }
    record.take(&arguments.folders, arguments.figures.as_deref()).map_err(fault::of_run)?;
    if let Some(file) = &arguments.record {
        record.write(file).map_err(fault::of_run)?;
    }
    if arguments.output.json {
        output::json(&Answer { reproduction: reproduction_answer(record) })?;
        return Ok(Exit::Done);
    }
    std::io::stdout().lock().write_all(reproduction(&record, &notes, arguments.figures.as_deref()).as_bytes())?;
    Ok(Exit::Done)
}

/// Do the folders bear out what is recorded?
fn check(record: &Record, arguments: &Arguments) -> anyhow::Result<Exit> {
    let contradictions = record.contradictions(&arguments.folders).map_err(fault::of_run)?;
    for one in &contradictions {
        output::line(&format!("contradicts: {one}"))?;
    }
    if contradictions.is_empty() {
        output::line("no verdict contradicts the recorded ones")?;
        return Ok(Exit::Done);
    }
    Ok(Exit::Partial)
}
