//! Printing: tables for people, JSON for programs.

use std::io::{self, Write as _};
use std::time::SystemTime;

use ccctl_catalog::{Parameter, ParameterSet};
use comfy_table::{presets, Table};
use serde::Serialize;
use serde_json::{json, Value};

/// Prints a value as JSON.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, value)?;
    writeln!(stdout)?;
    Ok(())
}

/// Prints one line.
pub fn line(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Prints rows under a header, without borders, so that it can be cut and pasted.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    for row in table.lines() {
        line(row.trim_end().strip_prefix(' ').unwrap_or_default())?;
    }
    Ok(())
}

/// A time as RFC 3339 in UTC, to the second.
pub fn time(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

/// How long ago, in the two largest units.
pub fn age(since: SystemTime) -> String {
    let seconds = since.elapsed().map_or(0, |age| age.as_secs());
    let text = humantime::format_duration(std::time::Duration::from_secs(seconds)).to_string();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// A parameter's value: a number, or the word for it.
pub fn value(parameter: &Parameter, value: u32) -> Value {
    if parameter.words.is_empty() {
        json!(value)
    } else {
        json!(parameter.format(value))
    }
}

/// A parameter's range as text.
pub fn range(parameter: &Parameter) -> String {
    if parameter.words.is_empty() {
        format!("{} .. {}", parameter.minimum, parameter.maximum)
    } else {
        parameter.words.join(" | ")
    }
}

/// Parameters that differ from their defaults, as one would set them.
pub fn changed_parameters(set: &ParameterSet) -> String {
    let changed = set.iter().filter(|(parameter, value)| parameter.default != *value);
    changed
        .map(|(parameter, value)| format!("{}={}", parameter.name, parameter.format(value)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// "1 socket", "2 sockets"
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}
