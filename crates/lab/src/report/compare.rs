// SPDX-License-Identifier: GPL-2.0-only
//! Two folders of one scenario side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ccctl_series::{Cell, Grid, Page, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::{estimate, number, unit};
use super::tolerance::Tolerances;
use super::{evolution, sweep};
use crate::measures::Estimate;
use crate::run::{PointSummary, RunError, Summary, Versions};

/// What two folders say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What the first was made with,
    pub first_versions: Versions,
    /// and the second.
    pub second_versions: Versions,
    /// Each measure at each point that both have.
    pub differences: Vec<Difference>,
    /// Points and measures that only one of them has.
    pub only_in_one: Vec<String>,
}

/// A measure at a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Values of the axes.
    pub place: BTreeMap<String, String>,
    /// Which.
    pub measure: String,
    /// Its unit.
    pub unit: String,
    /// There
    pub first: Estimate,
    /// and there.
    pub second: Estimate,
    /// Second minus first.
    pub difference: f64,
    /// In percent of the first, where that is not 0.
    pub difference_pct: Option<f64>,
    /// By so many percent of the first they may differ in any case.
    pub tolerance_pct: f64,
    /// What it means.
    pub verdict: Verdict,
}

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The same number.
    Equal,
    /// Within the tolerance.
    WithinTolerance,
    /// The confidence intervals overlap.
    WithinIntervals,
    /// More than chance.
    Differs,
}

impl Comparison {
    /// Rows that differ.
    #[must_use]
    pub fn differing(&self) -> usize {
        self.differences.iter().filter(|row| row.verdict == Verdict::Differs).count()
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(match self {
            Self::Equal => "equal",
            Self::WithinTolerance => "within the tolerance",
            Self::WithinIntervals => "within the intervals",
            Self::Differs => "differs",
        })
    }
}

/// Compares these measures, or those that both pages show; between backends also what always is.
#[must_use]
pub fn compare(first: &Summary, second: &Summary, measures: &[String], tolerances: &Tolerances) -> Comparison {
    let measures = compared(first, second, measures, tolerances);
    let mut comparison = Comparison {
        first_versions: first.versions.clone(),
        second_versions: second.versions.clone(),
        differences: Vec::new(),
        only_in_one: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    let places = first.points.iter().chain(&second.points).map(|point| &point.place);
    for place in places.filter(|place| seen.insert(*place)) {
        let find = |summary: &'_ Summary| -> Option<PointSummary> {
            summary.points.iter().find(|point| point.place == *place).cloned()
        };
        let (left, right) = (find(first), find(second));
        let has_runs = |point: &Option<PointSummary>| point.as_ref().is_some_and(|point| point.repeats > 0);
        if has_runs(&left) != has_runs(&right) {
            let which = if has_runs(&left) { "first" } else { "second" };
            comparison.only_in_one.push(format!("{}: only in the {which}", words(place)));
            continue;
        }
        for name in &measures {
            let value = |point: &Option<PointSummary>| point.as_ref()?.measures.get(*name).cloned();
            match (value(&left), value(&right)) {
                (Some(left), Some(right)) => {
                    let unit = first.measures.get(*name).map_or_else(String::new, |info| info.unit.clone());
                    comparison.differences.push(difference(place, name, unit, (left, right), tolerances));
                }
                (None, None) => {}
                (left, _) => {
                    let which = if left.is_some() { "first" } else { "second" };
                    comparison.only_in_one.push(format!("{name} at {}: only in the {which}", words(place)));
                }
            }
        }
    }
    comparison
}

/// Names of these measures, or of those that are compared anyway.
fn compared<'a>(
    first: &'a Summary,
    second: &'a Summary,
    measures: &'a [String],
    tolerances: &Tolerances,
) -> Vec<&'a String> {
    if !measures.is_empty() {
        return measures.iter().collect();
    }
    let is_there = |name: &&String| second.measures.contains_key(*name);
    let groups = first.measures.keys().filter(|name| is_of_group(name, "goodput")).count();
    let others = first.measures.keys().filter(is_there);
    let others = others.filter(|name| tolerances.is_always_compared(name) && !first.wanted.contains(name));
    // Those of the only group are those of all flows.
    let others = others.filter(|name| groups > 1 || !name.contains(':'));
    first.wanted.iter().filter(|name| second.wanted.contains(name)).chain(others).collect()
}

/// "goodput:early" and the like.
fn is_of_group(measure: &str, name: &str) -> bool {
    measure.strip_prefix(name).is_some_and(|rest| rest.starts_with(':') && !rest.contains(['+', '/', '@']))
}

fn difference(
    place: &BTreeMap<String, String>,
    measure: &str,
    unit: String,
    (first, second): (Estimate, Estimate),
    tolerances: &Tolerances,
) -> Difference {
    let difference = second.mean - first.mean;
    let intervals = first.half_width_95.zip(second.half_width_95).map(|(a, b)| a + b);
    let verdict = if first.values == second.values {
        Verdict::Equal
    } else if tolerances.allows(measure, first.mean, second.mean) {
        Verdict::WithinTolerance
    } else if intervals.is_some_and(|both| difference.abs() <= both) {
        Verdict::WithinIntervals
    } else {
        Verdict::Differs
    };
    let difference_pct = Some(100.0 * difference / first.mean.abs()).filter(|pct| pct.is_finite());
    let tolerance_pct = tolerances.pct(measure);
    let (place, measure) = (place.clone(), measure.to_owned());
    Difference { place, measure, unit, first, second, difference, difference_pct, tolerance_pct, verdict }
}

fn words(place: &BTreeMap<String, String>) -> String {
    let words: Vec<String> = place.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if words.is_empty() {
        "the only point".to_owned()
    } else {
        words.join(", ")
    }
}

/// A folder of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Where it is.
    pub folder: &'a Path,
    /// What it says.
    pub summary: &'a Summary,
}

impl Side<'_> {
    fn name(&self) -> String {
        self.folder.display().to_string()
    }
}

/// Both on one set of axes, and the table.
pub fn compare_page(comparison: &Comparison, first: &Side<'_>, second: &Side<'_>) -> Result<Page, RunError> {
    let facts = vec![
        ("first".to_owned(), described(first, &comparison.first_versions)),
        ("second".to_owned(), described(second, &comparison.second_versions)),
        ("differing".to_owned(), format!("{} of {}", comparison.differing(), comparison.differences.len())),
    ];
    let mut parts = vec![Part::Facts(facts), Part::Heading("Differences".to_owned()), Part::Grid(grid(comparison))];
    if !comparison.only_in_one.is_empty() {
        parts.push(Part::Text(comparison.only_in_one.join("\n\n")));
    }
    let labels = labels(comparison);
    let pictures = sweep::both(first.summary, second.summary, labels.1);
    if !pictures.is_empty() {
        parts.push(Part::Heading("Both".to_owned()));
        parts.extend(pictures.into_iter().map(super::Picture::part));
    }
    let runs = evolution::both((first.folder, labels.0), (second.folder, labels.1))?;
    if !runs.shown.is_empty() {
        parts.push(Part::Heading("Runs over time".to_owned()));
        let is_open = runs.shown.len() == 1;
        let group =
            |(title, picture): (String, super::Picture)| Part::Group { title, is_open, parts: vec![picture.part()] };
        parts.extend(runs.shown.into_iter().map(group));
    }
    let title = format!("{}: two folders", first.summary.title);
    Ok(Page { title, subtitle: format!("{} and {}", first.name(), second.name()), parts })
}

/// How lines are called.
fn labels(comparison: &Comparison) -> (&str, &str) {
    match (comparison.first_versions.backend.as_str(), comparison.second_versions.backend.as_str()) {
        (first, second) if first == second => ("first", "second"),
        backends => backends,
    }
}

fn described(side: &Side<'_>, versions: &Versions) -> String {
    format!("{}: ccctl {}, {} backend, seed {}", side.name(), versions.ccctl, versions.backend, versions.seed)
}

fn grid(comparison: &Comparison) -> Grid {
    let row = |row: &Difference| -> Vec<Cell> {
        let pct = row.difference_pct.map_or_else(|| "-".to_owned(), |pct| format!("{pct:+.2}"));
        vec![
            words(&row.place).into(),
            row.measure.as_str().into(),
            unit(&row.unit).into(),
            estimate(&row.first).into(),
            estimate(&row.second).into(),
            number(row.difference).into(),
            pct.into(),
            number(row.tolerance_pct).into(),
            Cell::verdict(row.verdict.to_string(), row.verdict != Verdict::Differs),
        ]
    };
    let head =
        ["place", "measure", "unit", "first", "second", "difference", "difference, %", "tolerance, %", "verdict"];
    Grid {
        caption: "mean ± half of the 95 % confidence interval".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: comparison.differences.iter().map(row).collect(),
    }
}
