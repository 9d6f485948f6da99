//! `ccctl lab list`

use std::time::Duration;

use ccctl_lab::shipped::shipped;
use serde::Serialize;

use super::{effort, load};
use crate::arguments::Output;
use crate::exit::Exit;
use crate::output;

/// As much of a title as a table has room for.
const TITLE_LETTERS: usize = 70;

/// A scenario that is part of ccctl.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    title: String,
    source: String,
    points: usize,
    repeats: u32,
    runs: usize,
    statements: usize,
    /// If links are always busy.
    packets: f64,
    /// Roughly, on one processor.
    processor_s: f64,
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let rows = shipped().iter().map(row).collect::<anyhow::Result<Vec<_>>>()?;
    if arguments.json {
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    let cells = |row: Row| {
        let runs = format!("{} x {}", row.points, row.repeats);
        let time = rough(row.processor_s);
        vec![row.name.to_owned(), runs, row.statements.to_string(), time, short(&row.title), paper(&row.source)]
    };
    let rows = rows.into_iter().map(cells).collect();
    output::table(&["NAME", "RUNS", "STATEMENTS", "TIME", "TITLE", "SOURCE"], rows)?;
    Ok(Exit::Done)
}

fn row(shipped: &ccctl_lab::shipped::Shipped) -> anyhow::Result<Row> {
    let scenario = load::read_shipped(shipped)?.scenario;
    let packets = effort::packets_of_all(&scenario);
    Ok(Row {
        name: shipped.name,
        points: scenario.points.len(),
        repeats: scenario.repeats,
        runs: scenario.points.len() * scenario.repeats as usize,
        statements: scenario.statements.len(),
        packets,
        processor_s: effort::processor_s(packets),
        title: scenario.title,
        source: scenario.source,
    })
}

/// One digit is as much as is known.
fn rough(seconds: f64) -> String {
    let unit = if seconds >= 3600.0 { 3600.0 } else { 60.0 };
    let rounded = (seconds / unit).ceil() * unit;
    output::span(Duration::from_secs(rounded as u64))
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(TITLE_LETTERS).collect();
    if short.len() < text.len() {
        short.push_str(" ...");
    }
    short
}

/// "S4" of "S4: Weigle, ...", or the beginning.
fn paper(source: &str) -> String {
    source.split([':', ',']).next().unwrap_or_default().to_owned()
}
