// SPDX-License-Identifier: GPL-2.0-only
//! Measures as tables for other programs.

use std::path::Path;

use ccctl_series::{Column, Table, Values};

use crate::measures::Estimate;
use crate::run::{PointSummary, RunError, Summary};

/// Writes both tables.
pub fn write(root: &Path, summary: &Summary) -> Result<(), RunError> {
    for (name, table) in [("measures", measures(summary)), ("runs", runs(summary))] {
        ccctl_series::write(&table, &root.join(name).with_extension("csv"))?;
    }
    Ok(())
}

/// A measure at a point.
struct Row<'a> {
    point: &'a PointSummary,
    measure: &'a str,
    unit: &'a str,
    estimate: &'a Estimate,
}

fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let of_point = |point| {
        move |(measure, estimate)| {
            let measure: &String = measure;
            let unit = summary.measures.get(measure).map_or("", |info| info.unit.as_str());
            Row { point, measure, unit, estimate }
        }
    };
    summary.points.iter().flat_map(|point| point.measures.iter().map(of_point(point))).collect()
}

fn measures(summary: &Summary) -> Table {
    let rows = rows(summary);
    let mut table = begin(summary, rows.iter());
    let count = |row: &Row<'_>| row.estimate.values.iter().flatten().count() as i64;
    add(&mut table, "repeats", Values::Integer(rows.iter().map(|row| Some(count(row))).collect()));
    add(&mut table, "mean", Values::Float(rows.iter().map(|row| Some(row.estimate.mean)).collect()));
    let errors = rows.iter().map(|row| row.estimate.standard_error).collect();
    add(&mut table, "standard_error", Values::Float(errors));
    add(&mut table, "half_width_95", Values::Float(rows.iter().map(|row| row.estimate.half_width_95).collect()));
    table
}

fn runs(summary: &Summary) -> Table {
    let rows = rows(summary);
    let of_row = |row| {
        let row: &Row<'_> = row;
        row.estimate.values.iter().enumerate().map(move |(repeat, value)| (row, repeat + 1, *value))
    };
    let runs: Vec<(&Row<'_>, usize, Option<f64>)> = rows.iter().flat_map(of_row).collect();
    let mut table = begin(summary, runs.iter().map(|(row, _, _)| *row));
    add(&mut table, "repeat", Values::Integer(runs.iter().map(|(_, repeat, _)| Some(*repeat as i64)).collect()));
    add(&mut table, "value", Values::Float(runs.iter().map(|(_, _, value)| *value).collect()));
    table
}

/// Names of columns that both tables may have.
const OWN: [&str; 9] =
    ["point", "measure", "unit", "repeats", "mean", "standard_error", "half_width_95", "repeat", "value"];

/// Where each row belongs.
fn begin<'a>(summary: &Summary, rows: impl Iterator<Item = &'a Row<'a>> + Clone) -> Table {
    let mut table = Table::default();
    let versions = &summary.versions;
    let facts = [
        ("scenario", versions.scenario.clone()),
        ("ccctl", versions.ccctl.clone()),
        ("backend", versions.backend.clone()),
        ("seed", versions.seed.to_string()),
        ("identity", versions.identity.clone()),
    ];
    table.facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    add(&mut table, "point", Values::Integer(rows.clone().map(|row| Some(row.point.index as i64)).collect()));
    for axis in &summary.axes {
        let values = rows.clone().map(|row| row.point.place.get(&axis.name).cloned()).collect();
        let name = if OWN.contains(&axis.name.as_str()) { format!("axis.{}", axis.name) } else { axis.name.clone() };
        add(&mut table, &name, Values::Text(values));
    }
    add(&mut table, "measure", Values::Text(rows.clone().map(|row| Some(row.measure.to_owned())).collect()));
    add(&mut table, "unit", Values::Text(rows.map(|row| Some(row.unit.to_owned())).collect()));
    table
}

fn add(table: &mut Table, name: &str, values: Values) {
    let column = Column { name: name.to_owned(), unit: String::new(), values };
    table.add(column).expect("columns have a value per row, and axes have different names");
}
