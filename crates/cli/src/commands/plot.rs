// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl plot`

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ccctl_console::{output, Exit, UsageError};
use ccctl_series::{FileError, Table};
use schemars::JsonSchema;
use serde::Serialize;

use crate::arguments::Plot as Arguments;
use ccctl_core::operations::plot::{figure, Choice, Drawn};

/// What was drawn.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    file: String,
    plot: String,
    rows: usize,
    lost_events: Option<u64>,
    #[serde(flatten)]
    drawn: Drawn,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let picture = arguments.output.clone().unwrap_or_else(|| arguments.file.with_extension("svg"));
    check_picture(&picture)?;
    let table = read(&arguments.file)?;
    let choice =
        Choice { socket: arguments.socket.clone(), fields: arguments.fields.clone(), backlog: arguments.backlog };
    let drawn = draw(&table, &choice, &picture)?;
    let lost_events = table.facts.get("lost_events").and_then(|lost| lost.parse().ok());
    if arguments.print.json {
        let (file, plot) = (shown(&arguments.file), shown(&picture));
        output::json(&Answer { file, plot, rows: table.rows(), lost_events, drawn })?;
        return Ok(Exit::Done);
    }
    if drawn.socket_count > 1 {
        output::line(&format!(
            "{}: socket {} of {}; --socket NUMBER draws another",
            drawn.connection, drawn.socket_number, drawn.socket_count
        ))?;
    }
    if !drawn.left_out.is_empty() {
        output::line(&format!(
            "not drawn (they do not change, or are clocks or sequence numbers): {}",
            drawn.left_out.join(", ")
        ))?;
    }
    output::line(&shown(&picture))?;
    Ok(Exit::Done)
}

/// Its name ends in .svg, and its folder can be written to.
pub fn check_picture(path: &Path) -> Result<(), UsageError> {
    if path.extension().and_then(|extension| extension.to_str()) != Some("svg") {
        return Err(UsageError::new(format!("{}: pictures are .svg", path.display()), "a name that ends in .svg"));
    }
    let is_new = !path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| {
        UsageError::new(
            format!("cannot write {}: {error}", path.display()),
            "a folder that exists and may be written to",
        )
    })?;
    if is_new {
        let _ = std::fs::remove_file(path); // it was empty, and is made again
    }
    Ok(())
}

/// Reads a trace.
pub fn read(file: &Path) -> anyhow::Result<Table> {
    ccctl_series::read(file).map_err(|error| wrong_file(error).into())
}

/// Draws a trace into a file.
pub fn draw(table: &Table, choice: &Choice, picture: &Path) -> anyhow::Result<Drawn> {
    let (figure, drawn) = figure(table, choice)?;
    let written =
        std::fs::File::create(picture).and_then(|mut file| file.write_all(ccctl_series::svg(&figure).as_bytes()));
    written.map_err(|error| {
        UsageError::new(format!("cannot write {}: {error}", picture.display()), "another place for the picture")
    })?;
    Ok(drawn)
}

/// A table's file that is not as it should be.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn wrong_file(error: FileError) -> UsageError {
    let remedy = match &error {
        FileError::Extension(path) if path.extension().is_some_and(|end| end == "parquet") => {
            format!("{}: what reads Parquet reads CSV, too", path.with_extension("csv").display())
        }
        FileError::Extension(path) => format!("{}", with_jsonl(path).display()),
        FileError::Io { step: "read", .. } => "the file that ccctl trace -o has written".to_owned(),
        FileError::Io { .. } => "a folder that exists, may be written to and has room".to_owned(),
        _ => "a file that ccctl trace -o has written".to_owned(),
    };
    let cause = std::error::Error::source(&error).map_or(error.to_string(), |source| {
        let text = error.to_string();
        let source = source.to_string();
        if text.ends_with(&source) {
            text
        } else {
            format!("{text}: {source}")
        }
    });
    UsageError::new(cause, remedy)
}

fn with_jsonl(path: &Path) -> PathBuf {
    path.with_extension("jsonl")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
