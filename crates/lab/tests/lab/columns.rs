// SPDX-License-Identifier: GPL-2.0-only
//! Series of the simulator have the columns of traces.

use std::mem::discriminant;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ccctl_core::operations::trace;
use ccctl_lab::backend::Sim;
use ccctl_lab::run::{flow_series, link_series, run, units, Options};
use ccctl_lab::scenario::Scenario;
use ccctl_series::columns::{self, Definition};
use ccctl_series::{svg, unit_of, Axis, Column, Figure, Line, Panel, Point, Scale, Style, Table, Value, Values};

use crate::running::TEN_RUNS;
use crate::scratch::Scratch;

/// Series of a flow and of a link, read from their files.
fn series(scratch: &Scratch) -> (Table, Table) {
    let only = ("run.only".to_owned(), "[{ algorithm = \"cubic\", buffer = \"1 BDP\" }]".to_owned());
    let scenario = Scenario::of_text(Path::new("small.toml"), TEN_RUNS, &[only]).unwrap();
    let out = scratch.path("out");
    let options = Options { out: out.clone(), jobs: 1, shard: None, series: true, retries: 0, commit: None };
    run(&scenario, &Sim, &options, &|_| (), &AtomicBool::new(false)).unwrap();
    let id = units(&scenario)[0];
    let read = |path: Option<PathBuf>| ccctl_series::read(&path.unwrap()).unwrap();
    (read(flow_series(&out, id, "a", 1)), read(link_series(&out, id, "l")))
}

fn is_defined(column: &Column, known: &[Definition]) -> bool {
    if let Some(field) = column.name.strip_prefix(columns::STATE_PREFIX) {
        return column.unit == unit_of(field);
    }
    let known = known.iter().find(|known| known.name == column.name).map(Definition::empty);
    known.is_some_and(|known| known.unit == column.unit && discriminant(&known.values) == discriminant(&column.values))
}

/// A trace file of one socket: windows of 10, 20 and 40 packets, a second apart.
fn traced(scratch: &Scratch) -> Table {
    let mut table = Table::default();
    for column in trace::fixed_columns(false).unwrap().columns() {
        let values = match (column.name.as_str(), &column.values) {
            ("time_s", _) => Values::Float([0.0, 1.0, 2.0].map(Some).to_vec()),
            ("cwnd_pkts", _) => Values::Integer([10, 20, 40].map(Some).to_vec()),
            (_, Values::Text(_)) => Values::Text(vec![Some("x".to_owned()); 3]),
            (_, Values::Float(_)) => Values::Float(vec![Some(1.0); 3]),
            (_, Values::Integer(_)) => Values::Integer(vec![Some(1); 3]),
        };
        table.add(Column { values, ..column.clone() }).unwrap();
    }
    let file = scratch.path("trace.jsonl");
    ccctl_series::write(&table, &file).unwrap();
    ccctl_series::read(&file).unwrap()
}

#[test]
fn columns_of_series_are_in_the_table() {
    let (flow, link) = series(&Scratch::new("columns"));
    let wrong = |table: &Table, known: &[Definition]| {
        let wrong = table.columns().iter().filter(|column| !is_defined(column, known));
        wrong.map(|column| column.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(wrong(&flow, columns::SOCKET), [""; 0]);
    assert_eq!(wrong(&link, &[&[columns::TIME_S], columns::LINK].concat()), [""; 0]);
    assert!(flow.column("state.w_max_pkts").is_some());
}

#[test]
fn a_simulated_flow_and_a_trace_share_an_axis() {
    let scratch = Scratch::new("overlay");
    let both = [("simulated", series(&scratch).0), ("traced", traced(&scratch))];
    let number = |table: &Table, name: &str, row| table.column(name)?.values.get(row).as_ref().and_then(Value::number);
    let line = |(label, table): &(&str, Table)| {
        let point = |row| Some(Point::at(number(table, "time_s", row)?, number(table, "cwnd_pkts", row)?));
        let points: Vec<Point> = (0..table.rows()).filter_map(point).collect();
        Line { label: (*label).to_owned(), style: Style::Straight, points }
    };
    let lines: Vec<Line> = both.iter().map(line).collect();
    // 2 s in both.
    assert!(lines.iter().all(|line| line.points.last().is_some_and(|last| (last.x - 2.0).abs() < 1e-9)), "{lines:?}");
    let axis = |label: &str, unit: &str| Axis { label: label.into(), unit: unit.into(), scale: Scale::Linear };
    let panel = Panel { y: axis("cwnd", "packets"), lines, marks: Vec::new() };
    let figure = Figure { title: String::new(), subtitle: String::new(), x: axis("time", "s"), panels: vec![panel] };
    let drawn = svg(&figure);
    assert!(drawn.contains(">simulated<") && drawn.contains(">traced<"), "{drawn}");
}
