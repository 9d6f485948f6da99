//! Printing: tables for people, JSON for programs.

use std::io::{self, Write as _};
use std::time::SystemTime;

use comfy_table::{presets, Table};
use serde::Serialize;

use crate::engine::Settings;

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

/// How long ago such a time was, in the two largest units.
pub fn age(since: &str) -> String {
    let since = humantime::parse_rfc3339(since).unwrap_or_else(|_| SystemTime::now());
    let seconds = since.elapsed().map_or(0, |age| age.as_secs());
    let text = humantime::format_duration(std::time::Duration::from_secs(seconds)).to_string();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// Parameters as one would set them.
pub fn settings(settings: &Settings) -> String {
    settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// A span of time as one says it: "5s", "1m 30s"
pub fn span(span: std::time::Duration) -> String {
    humantime::format_duration(span).to_string()
}

/// "1 socket", "2 sockets"
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}
