// SPDX-License-Identifier: GPL-2.0-only
//! Files of time series, as `plot` and the laboratory read them. The first byte chooses the format. What was read is written and
//! read again, and must be the same; its picture must be well-formed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ccctl_series::{Axis, Figure, Line, Panel, Point, Scale, Style, Table, Value, Values};

/// By the first byte of the input.
pub(crate) const EXTENSIONS: [&str; 2] = ["jsonl", "csv"];
/// Larger tables are read and not written again: a small file may stand for four million missing values.
const WRITTEN_CELLS_MAX: usize = 10_000;

/// Where an input is written, without its ending.
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("ccctl-fuzz-{}", std::process::id())));

/// Reads a file, writes what was read, and reads it again.
///
/// # Panics
/// Where the second table is not the first.
pub(crate) fn run(bytes: &[u8]) {
    let [format, content @ ..] = bytes else { return };
    let extension = EXTENSIONS[usize::from(*format) % EXTENSIONS.len()];
    let path = FILE.with_extension(extension);
    fs::write(&path, content).expect("there is room");
    if let Ok(table) = ccctl_series::read(&path) {
        check(&table, &path);
    }
    fs::remove_file(&path).expect("it was written");
}

fn check(table: &Table, path: &Path) {
    if table.rows() * table.columns().len() > WRITTEN_CELLS_MAX {
        return;
    }
    draw(table);
    ccctl_series::write(table, path).expect("what was read can be written");
    let again = ccctl_series::read(path).expect("what was written can be read");
    assert!(is_same(table, &again), "{table:?}\nbecame {again:?}");
}

fn is_same(one: &Table, other: &Table) -> bool {
    let columns = one.columns().iter().zip(other.columns());
    one.facts == other.facts
        && one.columns().len() == other.columns().len()
        && columns.into_iter().all(|(one, other)| {
            (&one.name, &one.unit) == (&other.name, &other.unit) && is_same_values(&one.values, &other.values)
        })
}

/// Any NaN is as good as another.
fn is_same_values(one: &Values, other: &Values) -> bool {
    let canonical = |value: &f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    match (one, other) {
        (Values::Float(one), Values::Float(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| one.as_ref().map(canonical) == other.as_ref().map(canonical))
        }
        _ => one == other,
    }
}

/// All columns of numbers over the first of them.
fn draw(table: &Table) {
    let numbers = |column: &ccctl_series::Column| -> Vec<Option<f64>> {
        (0..table.rows()).map(|row| column.values.get(row).as_ref().and_then(Value::number)).collect()
    };
    let Some(times) = table.columns().first().map(numbers) else { return };
    let panels = table.columns().iter().map(|column| Panel {
        y: Axis { label: column.name.clone(), unit: column.unit.clone(), scale: Scale::Linear },
        lines: vec![Line {
            label: column.name.clone(),
            style: Style::Steps,
            points: times.iter().zip(numbers(column)).filter_map(|(x, y)| Some(Point::at((*x)?, y?))).collect(),
        }],
        marks: Vec::new(),
    });
    let facts = table.facts.iter().map(|(name, value)| format!("{name}: {value}"));
    let figure = Figure {
        title: "fuzzed".to_owned(),
        subtitle: facts.collect::<Vec<_>>().join("; "),
        x: Axis { label: "time".to_owned(), unit: "s".to_owned(), scale: Scale::Linear },
        panels: panels.take(8).collect(),
    };
    let picture = ccctl_series::svg(&figure);
    if let Err(error) = roxmltree::Document::parse(&picture) {
        panic!("the picture is not well-formed: {error}");
    }
}
