// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab list`

use ccctl_console::{arguments::Output, output, Exit};
use ccctl_lab::shipped::shipped;
use schemars::JsonSchema;
use serde::Serialize;

use super::{effort, load};

/// A scenario that is part of ccctl.
#[derive(Serialize, JsonSchema)]
struct Row {
    name: &'static str,
    title: String,
    papers: String,
    points: usize,
    repeats: u32,
    runs: usize,
    statement_count: usize,
    /// If links are always busy.
    packets: f64,
    /// Roughly, on one processor.
    processor_s: f64,
}

/// What there is.
#[derive(Serialize, JsonSchema)]
pub struct Answer {
    scenarios: Vec<Row>,
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let scenarios = shipped().iter().map(row).collect::<anyhow::Result<Vec<_>>>()?;
    let answer = Answer { scenarios };
    if arguments.json {
        output::json(&answer)?;
        return Ok(Exit::Done);
    }
    let cells = |row: Row| {
        let runs = format!("{} x {}", row.points, row.repeats);
        let time = rough(row.processor_s);
        vec![row.name.to_owned(), runs, row.statement_count.to_string(), time, row.title, paper(&row.papers)]
    };
    let rows = answer.scenarios.into_iter().map(cells).collect();
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
        statement_count: scenario.statements.len(),
        packets,
        processor_s: effort::processor_s(packets),
        title: scenario.title,
        papers: scenario.source,
    })
}

/// No more digits than are known: "0.5 s", "12 s", "4 min", "1.9 h".
fn rough(seconds: f64) -> String {
    match seconds {
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        _ if seconds < 99.5 => format!("{seconds:.0} s"),
        _ if seconds < 99.5 * 60.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// "S4" of "S4: Weigle, ...", or the beginning.
fn paper(source: &str) -> String {
    source.split([':', ',']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::rough;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let cases =
            [(0.34, "0.3 s"), (12.3, "12 s"), (95.0, "95 s"), (100.0, "2 min"), (3600.0, "60 min"), (6840.0, "1.9 h")];
        for (seconds, text) in cases {
            assert_eq!(rough(seconds), text);
        }
    }
}
