// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as a Markdown table: a row for each place, and three columns for each measure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::compare::{Comparison, Difference, Verdict};
use super::number::{number, with_unit};

/// The table, and what only one folder has.
#[must_use]
pub fn side_by_side(comparison: &Comparison) -> String {
    let mut measures: Vec<(&str, &str)> = Vec::new();
    let mut places: Vec<(&BTreeMap<String, String>, Vec<&Difference>)> = Vec::new();
    for row in &comparison.differences {
        if !measures.iter().any(|(name, _)| *name == row.measure) {
            measures.push((&row.measure, &row.unit));
        }
        match places.iter_mut().find(|(place, _)| **place == row.place) {
            Some((_, rows)) => rows.push(row),
            None => places.push((&row.place, vec![row])),
        }
    }
    let mut text = head(comparison, &measures, places.first().map(|(place, _)| *place));
    for (place, rows) in &places {
        let values = place.values().cloned();
        let cells = measures.iter().flat_map(|(name, _)| cells(rows.iter().find(|row| row.measure == *name)));
        let line: Vec<String> = values.chain(cells).chain([verdict(rows)]).collect();
        let _ = writeln!(text, "| {} |", line.join(" | "));
    }
    let lines = comparison.only_in_one.iter().map(|missing| format!("\n- {missing}"));
    text + &lines.collect::<String>() + if comparison.only_in_one.is_empty() { "" } else { "\n" }
}

fn head(comparison: &Comparison, measures: &[(&str, &str)], place: Option<&BTreeMap<String, String>>) -> String {
    let sides = [&comparison.first_versions.backend, &comparison.second_versions.backend];
    let of_measure = |(name, unit): &(&str, &str)| {
        [format!("{}, {}", with_unit(name, unit), sides[0]), sides[1].clone(), "%".to_owned()]
    };
    let axes = place.into_iter().flat_map(BTreeMap::keys).cloned();
    let columns: Vec<String> = axes.chain(measures.iter().flat_map(of_measure)).chain(["verdict".to_owned()]).collect();
    format!("| {} |\n|{}\n", columns.join(" | "), " --- |".repeat(columns.len()))
}

fn cells(row: Option<&&Difference>) -> [String; 3] {
    let Some(row) = row else { return ["-", "-", "-"].map(str::to_owned) };
    let pct = row.difference_pct.map_or_else(|| "-".to_owned(), |pct| format!("{pct:+.1}"));
    [number(row.first.mean), number(row.second.mean), pct]
}

/// "agrees", or what does not.
fn verdict(rows: &[&Difference]) -> String {
    let differing = rows.iter().filter(|row| row.verdict == Verdict::Differs).map(|row| row.measure.as_str());
    let differing: Vec<&str> = differing.collect();
    if differing.is_empty() {
        "agrees".to_owned()
    } else {
        format!("**{}**", differing.join(", "))
    }
}
