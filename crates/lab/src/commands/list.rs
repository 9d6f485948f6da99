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
    /// `--testbed` runs it with the noise of its testbed.
    has_testbed_noise: bool,
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
        let time = effort::rough(row.processor_s);
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
        has_testbed_noise: scenario.testbed.is_some_and(|testbed| !testbed.set.is_empty()),
        packets,
        processor_s: effort::processor_s(packets),
        title: scenario.title,
        papers: scenario.source,
    })
}

/// "S4" of "S4: Weigle, ...", or the beginning.
fn paper(source: &str) -> String {
    source.split([':', ',']).next().unwrap_or_default().to_owned()
}
