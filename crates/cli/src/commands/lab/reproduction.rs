//! `ccctl lab reproduction`

use std::collections::BTreeMap;
use std::io::Write as _;

use ccctl_lab::report::{read_notes, reproduction, statement_ids};

use super::fault;
use crate::arguments::LabReproduction as Arguments;
use crate::exit::{Exit, UsageError};

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let notes = match &arguments.notes {
        None => BTreeMap::new(),
        Some(file) => read_notes(file, &statement_ids()).map_err(|error| {
            let text = error.to_string();
            let (cause, remedy) = text.rsplit_once("; ").unwrap_or((&text, "configs/reproduction-notes.toml"));
            UsageError::new(cause, remedy)
        })?,
    };
    let text = reproduction(&arguments.folders, &notes).map_err(fault::of_run)?;
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Exit::Done)
}
