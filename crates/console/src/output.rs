// SPDX-License-Identifier: MIT OR Apache-2.0
//! Printing: tables for people, JSON for programs.
//!
//! What is printed passes through here: names that others choose must not reach a terminal as they are.

mod fit;
mod printable;
mod tone;

use std::io::{self, Write as _};
use std::time::SystemTime;

use comfy_table::{presets, Table};
use serde::Serialize;

pub use fit::{cut, narrow, terminal_columns};
pub use printable::{printable, JsonWriter};
pub use tone::{set_colour, Tone};

use tone::painted;

/// Columns between those of a table.
pub const GAP: usize = 2;

/// Version of the JSON documents. Within it keys keep their meaning, and none goes; it is raised before that changes.
pub const JSON_VERSION: u32 = 1;

/// What is printed, and the version of its form.
#[derive(Serialize)]
struct Document<'a, T> {
    json_version: u32,
    #[serde(flatten)]
    answer: &'a T,
}

/// Prints an answer as a JSON object.
///
/// # Errors
/// Where stdout cannot be written, or the answer is not an object.
pub fn json(answer: &impl Serialize) -> anyhow::Result<()> {
    let mut stdout = JsonWriter(io::stdout().lock());
    serde_json::to_writer_pretty(&mut stdout, &Document { json_version: JSON_VERSION, answer })?;
    writeln!(stdout)?;
    Ok(())
}

/// Prints an answer as a JSON object in one line, for streams of them.
///
/// # Errors
/// As of [`json`].
pub fn json_line(answer: &impl Serialize) -> anyhow::Result<()> {
    let mut stdout = JsonWriter(io::stdout().lock());
    serde_json::to_writer(&mut stdout, &Document { json_version: JSON_VERSION, answer })?;
    writeln!(stdout)?;
    Ok(())
}

/// Prints one line, whatever names are in it.
pub fn line(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{}", printable(text))?;
    Ok(())
}

/// Prints one line that begins with a word in colour.
pub fn toned_line(word: &str, tone: Tone, text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{}{}", painted(word, tone), printable(text))?;
    Ok(())
}

/// Prints a text of several lines, none of which ends inside a name.
pub fn lines(text: &str) -> anyhow::Result<()> {
    text.lines().try_for_each(line)
}

/// Writes to stderr what went wrong in this program and what to try. With stderr closed nothing is written.
pub fn failure(program: &str, cause: &str, remedy: Option<&str>) {
    let stderr = io::stderr();
    let paint = |text: &str, tone| tone::painted_for(&stderr, text, tone).into_owned();
    let _ = writeln!(stderr.lock(), "{} {}", paint(&format!("{program}:"), Tone::Bad), printable(cause));
    if let Some(remedy) = remedy {
        let _ = writeln!(stderr.lock(), "  {} {}", paint("try:", Tone::Good), printable(remedy));
    }
}

/// Prints rows under a header, without borders, so that it can be cut and pasted. On a terminal no line is longer than
/// it is wide.
pub fn table(header: &[&str], mut rows: Vec<Vec<String>>) -> anyhow::Result<()> {
    for cell in rows.iter_mut().flatten() {
        *cell = printable(cell).into_owned();
    }
    let room = terminal_columns();
    if let Some(room) = room {
        shorten(header, &mut rows, room);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    for row in table.lines() {
        let row = row.trim_end().strip_prefix(' ').unwrap_or_default();
        line(&room.map_or(row.into(), |room| cut(row, room)))?;
    }
    Ok(())
}

fn shorten(header: &[&str], rows: &mut [Vec<String>], room: usize) {
    let headers: Vec<usize> = header.iter().map(|title| title.len()).collect();
    let mut widths = headers.clone();
    for row in rows.iter() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    narrow(&mut widths, &headers, GAP, room);
    for row in rows {
        for (width, cell) in widths.iter().zip(row) {
            *cell = cut(cell, *width).into_owned();
        }
    }
}

/// A time as RFC 3339 in UTC, to the second.
#[must_use]
pub fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

/// How long ago such a time was, in the two largest units.
#[must_use]
pub fn age(since: &str) -> String {
    let since = humantime::parse_rfc3339(since).unwrap_or_else(|_| SystemTime::now());
    let seconds = since.elapsed().map_or(0, |age| age.as_secs());
    let text = humantime::format_duration(std::time::Duration::from_secs(seconds)).to_string();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// A span of time as one says it: "5s", "1m 30s"
#[must_use]
pub fn span(span: std::time::Duration) -> String {
    humantime::format_duration(span).to_string()
}

/// "1 socket", "2 sockets"
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}
