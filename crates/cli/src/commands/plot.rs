// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl plot`

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use ccctl_console::{output, Exit, Fault, UsageError};
use ccctl_series::{FileError, Table};
use schemars::JsonSchema;
use serde::Serialize;

use super::lab;
use crate::arguments::Plot as Arguments;
use ccctl_core::operations::plot::{check, figure, traced_sockets, Choice, Drawn, TracedSocket};

/// Formats of pictures. All but the first are made of it by `ccctl-lab`, which has what that needs.
const FORMATS: [&str; 3] = ["svg", "png", "pdf"];

/// What was drawn, or with `--list` could be.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The first of `files`.
    file: String,
    files: Vec<String>,
    /// None with `--list`.
    plot: Option<String>,
    rows: usize,
    lost_events: Option<u64>,
    #[serde(flatten)]
    drawn: Drawn,
}

/// How a picture is written.
pub struct Picture<'a> {
    pub path: &'a Path,
    pub width_px: f64,
    /// Replaces a file that shows something else.
    pub force: bool,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let path = arguments.output.clone().unwrap_or_else(|| arguments.files[0].with_extension("svg"));
    if !arguments.list {
        check_picture(&path)?;
    }
    let tables = arguments.files.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let drawn = if arguments.list {
        tables.iter().try_for_each(check)?;
        Drawn { traced_sockets: traced_sockets(&tables), ..Drawn::default() }
    } else {
        let picture = Picture { path: &path, width_px: arguments.width.px, force: arguments.force };
        draw(&tables, &arguments.choice(), &picture)?
    };
    if arguments.print.json {
        let plot = (!arguments.list).then(|| shown(&path));
        let files: Vec<String> = arguments.files.iter().map(|file| shown(file)).collect();
        let rows = tables.iter().map(Table::rows).sum();
        output::json(&Answer { file: files[0].clone(), files, plot, rows, lost_events: lost_events(&tables), drawn })?;
    } else if arguments.list {
        list(drawn.traced_sockets)?;
    } else {
        report(&drawn, &path)?;
    }
    Ok(Exit::Done)
}

/// Of all traces; none where no file says so.
fn lost_events(tables: &[Table]) -> Option<u64> {
    let lost = tables.iter().filter_map(|table| table.facts.get("lost_events")?.parse().ok());
    lost.reduce(|sum: u64, lost| sum.saturating_add(lost))
}

/// Which number is which flow.
fn list(sockets: Vec<TracedSocket>) -> anyhow::Result<()> {
    let or_dash = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let cells = |it: TracedSocket| {
        let (acked, retransmits) = (or_dash(it.acked_bytes), or_dash(it.retransmits_pkts));
        let algorithms = it.algorithms();
        let command = it.command.unwrap_or_else(|| "-".to_owned());
        let numbers = [it.socket_number.to_string(), or_dash(it.cookie)];
        let rest = [algorithms, acked, retransmits, it.row_count.to_string(), command, it.connection];
        numbers.into_iter().chain(rest).collect()
    };
    let head = ["NUMBER", "COOKIE", "ALGORITHM", "ACKED BYTES", "RETRANS PKTS", "ROWS", "PROCESS", "CONNECTION"];
    output::table(&head, sockets.into_iter().map(cells).collect())
}

fn report(drawn: &Drawn, path: &Path) -> anyhow::Result<()> {
    let (shown_sockets, count) =
        (drawn.traced_sockets.iter().filter(|socket| socket.is_drawn), drawn.traced_sockets.len());
    let shown_sockets: Vec<&TracedSocket> = shown_sockets.collect();
    if count > 1 {
        let others = if shown_sockets.len() < count { "; --list shows all, --sockets 1,2 draws others" } else { "" };
        for (place, it) in shown_sockets.iter().enumerate() {
            let others = if place + 1 == shown_sockets.len() { others } else { "" };
            let text = format!("socket {} of {count}: {}, {}", it.socket_number, it.algorithms(), it.connection);
            output::line(&format!("{text}{others}"))?;
        }
    }
    if !drawn.left_out.is_empty() {
        output::line(&format!(
            "not drawn (they do not change, or are clocks, sequence numbers or for undoing; --draw draws them): {}",
            drawn.left_out.join(", ")
        ))?;
    }
    output::line(&shown(path))
}

/// Its name ends in a format that can be made here, and its folder can be written to.
pub fn check_picture(path: &Path) -> anyhow::Result<()> {
    if !FORMATS.contains(&format_of(path)) {
        let cause = format!("{}: the name of a picture must end in .svg, .png or .pdf", path.display());
        return Err(UsageError::new(cause, "use a name that ends in .svg, .png or .pdf").into());
    }
    if format_of(path) != FORMATS[0] {
        lab::require(&format!("to write .{}", format_of(path)), "or a name that ends in .svg")?;
    }
    let is_new = !path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| {
        UsageError::new(
            format!("cannot write {}: {error}", path.display()),
            "choose an existing folder that you may write to",
        )
    })?;
    if is_new {
        let _ = std::fs::remove_file(path); // it was empty, and is made again
    }
    Ok(())
}

fn format_of(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// Reads a trace.
pub fn read(file: &Path) -> anyhow::Result<Table> {
    ccctl_series::read(file).map_err(|error| wrong_file(error).into())
}

/// Draws traces into a file.
pub fn draw(tables: &[Table], choice: &Choice, picture: &Picture<'_>) -> anyhow::Result<Drawn> {
    let (figure, drawn) = figure(tables, choice)?;
    let svg = ccctl_series::svg_of_width(&figure, picture.width_px).into_bytes();
    let data = match format_of(picture.path) {
        "svg" => svg,
        format => lab::convert(svg, format)?,
    };
    if !picture.force && shows_something_else(picture.path, &data) {
        let cause = format!("{} exists and shows something else", picture.path.display());
        return Err(Fault::new(Exit::Refused, cause, "use -o FILE with another name, or --force to replace it").into());
    }
    std::fs::write(picture.path, data).map_err(|error| {
        UsageError::new(
            format!("cannot write {}: {error}", picture.path.display()),
            "choose another folder for the picture",
        )
    })?;
    Ok(drawn)
}

/// The same picture may be drawn again. The objects of a PDF have no fixed order, so its bytes do not tell.
fn shows_something_else(path: &Path, data: &[u8]) -> bool {
    match std::fs::metadata(path) {
        Ok(known) if known.len() == data.len() as u64 && format_of(path) != "pdf" => {
            !std::fs::read(path).is_ok_and(|known| known == data)
        }
        Ok(known) => known.len() > 0,
        Err(_) => false,
    }
}

/// A table's file that is not as it should be.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn wrong_file(error: FileError) -> UsageError {
    let remedy = match &error {
        FileError::Extension(path) if path.extension().is_some_and(|end| end == "parquet") => {
            format!(
                "{}: Parquet is not supported; programs that read it also read CSV",
                path.with_extension("csv").display()
            )
        }
        FileError::Extension(path) => format!("{}", with_jsonl(path).display()),
        FileError::Io { step: "read", .. } => "name the file that ccctl trace -o has written".to_owned(),
        FileError::Io { .. } => "choose an existing folder that you may write to, on a disk with free space".to_owned(),
        _ => "name a file that ccctl trace -o has written".to_owned(),
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
