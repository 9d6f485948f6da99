//! Two folders of one scenario side by side.

use std::collections::{BTreeMap, BTreeSet};

use ccctl_series::{Cell, Grid, Page, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::{estimate, number, unit};
use super::sweep;
use crate::measures::Estimate;
use crate::run::{PointSummary, Summary, Versions};

/// What two folders say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What the first was made with,
    pub first: Versions,
    /// and the second.
    pub second: Versions,
    /// Percent of the first's value by which values may differ in any case.
    pub tolerance_pct: f64,
    /// Each measure at each point that both have.
    pub rows: Vec<Difference>,
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
        self.rows.iter().filter(|row| row.verdict == Verdict::Differs).count()
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

/// Compares these measures, or those that both pages show.
#[must_use]
pub fn compare(first: &Summary, second: &Summary, measures: &[String], tolerance_pct: f64) -> Comparison {
    let wanted = first.wanted.iter().filter(|name| second.wanted.contains(name));
    let measures: Vec<&String> = if measures.is_empty() { wanted.collect() } else { measures.iter().collect() };
    let mut comparison = Comparison {
        first: first.versions.clone(),
        second: second.versions.clone(),
        tolerance_pct,
        rows: Vec::new(),
        only_in_one: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    let places = first.points.iter().chain(&second.points).map(|point| &point.place);
    for place in places.filter(|place| seen.insert(*place)) {
        let find = |summary: &'_ Summary| -> Option<PointSummary> {
            summary.points.iter().find(|point| point.place == *place).cloned()
        };
        let (left, right) = (find(first), find(second));
        for name in &measures {
            let value = |point: &Option<PointSummary>| point.as_ref()?.measures.get(*name).cloned();
            match (value(&left), value(&right)) {
                (Some(left), Some(right)) => {
                    let unit = first.measures.get(*name).map_or_else(String::new, |info| info.unit.clone());
                    comparison.rows.push(difference(place, name, unit, (left, right), tolerance_pct));
                }
                (None, None) => {}
                (left, _) => {
                    let which = if left.is_some() { "first" } else { "second" };
                    comparison.only_in_one.push(format!("{name} at {}: only the {which}", words(place)));
                }
            }
        }
    }
    comparison
}

fn difference(
    place: &BTreeMap<String, String>,
    measure: &str,
    unit: String,
    (first, second): (Estimate, Estimate),
    tolerance_pct: f64,
) -> Difference {
    let difference = second.mean - first.mean;
    let intervals = first.half_width_95.zip(second.half_width_95).map(|(a, b)| a + b);
    let verdict = if first.values == second.values {
        Verdict::Equal
    } else if 100.0 * difference.abs() <= tolerance_pct * first.mean.abs() {
        Verdict::WithinTolerance
    } else if intervals.is_some_and(|both| difference.abs() <= both) {
        Verdict::WithinIntervals
    } else {
        Verdict::Differs
    };
    let difference_pct = Some(100.0 * difference / first.mean.abs()).filter(|pct| pct.is_finite());
    let (place, measure) = (place.clone(), measure.to_owned());
    Difference { place, measure, unit, first, second, difference, difference_pct, verdict }
}

fn words(place: &BTreeMap<String, String>) -> String {
    let words: Vec<String> = place.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if words.is_empty() {
        "the only point".to_owned()
    } else {
        words.join(", ")
    }
}

/// Both on one set of axes, and the table.
#[must_use]
pub fn compare_page(comparison: &Comparison, first: &Summary, second: &Summary, names: (&str, &str)) -> Page {
    let facts = vec![
        ("first".to_owned(), described(names.0, &comparison.first)),
        ("second".to_owned(), described(names.1, &comparison.second)),
        ("differing".to_owned(), format!("{} of {}", comparison.differing(), comparison.rows.len())),
        ("tolerance".to_owned(), format!("{} %", comparison.tolerance_pct)),
    ];
    let mut parts = vec![Part::Facts(facts), Part::Heading("Differences".to_owned()), Part::Grid(grid(comparison))];
    if !comparison.only_in_one.is_empty() {
        parts.push(Part::Text(comparison.only_in_one.join("\n\n")));
    }
    let pictures = sweep::both(first, second);
    if !pictures.is_empty() {
        parts.push(Part::Heading("Both".to_owned()));
        parts.extend(pictures.into_iter().map(super::Picture::part));
    }
    Page { title: format!("{}: two folders", first.title), subtitle: format!("{} and {}", names.0, names.1), parts }
}

fn described(name: &str, versions: &Versions) -> String {
    format!("{name}: ccctl {}, {} backend, seed {}", versions.ccctl, versions.backend, versions.seed)
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
            Cell::verdict(row.verdict.to_string(), row.verdict != Verdict::Differs),
        ]
    };
    let head = ["place", "measure", "unit", "first", "second", "difference", "difference, %", "verdict"];
    Grid {
        caption: "mean ± half of the 95 % confidence interval".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: comparison.rows.iter().map(row).collect(),
    }
}
