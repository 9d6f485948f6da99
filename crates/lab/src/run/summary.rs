// SPDX-License-Identifier: GPL-2.0-only
//! `summary.json`: what the runs of a folder say together. The same runs make the same bytes.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::RunError;
use super::folder;
use super::identity::Versions;
use super::invalid::InvalidRun;
use super::trial::{asked, measured, units, UnitRecord};
use crate::experiment::Axis;
use crate::measures::{Estimate, Reference};
use crate::scenario::Scenario;
use crate::statements::{judge, Judged, Results};

/// The whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Of this file; 1.
    pub format: u32,
    /// What the runs were made with.
    pub versions: Versions,
    /// The scenario's title,
    pub title: String,
    /// source
    pub source: String,
    /// and notes.
    pub notes: String,
    /// Runs that are there,
    pub runs_done: usize,
    /// of so many.
    pub runs: usize,
    /// Runs that came to no result because every try was invalid; they are in no measure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<InvalidRun>,
    /// Axes of the sweep.
    pub axes: Vec<AxisInfo>,
    /// All measures of this file, by name.
    pub measures: BTreeMap<String, MeasureInfo>,
    /// Those that pages show.
    pub wanted: Vec<String>,
    /// Those of them that the source has figures of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<String>,
    /// All points, in the order of the sweep.
    pub points: Vec<PointSummary>,
    /// The paper's values and ours.
    pub paper: Vec<PaperRow>,
    /// What the results must show, and whether they do.
    pub statements: Vec<Judged>,
}

/// An axis of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AxisInfo {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
    /// Their unit, where they are numbers without one.
    pub unit: String,
    /// Figures over it are logarithmic.
    pub logarithmic: bool,
}

/// A measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasureInfo {
    /// "1" for a pure number.
    pub unit: String,
    /// In words: "Goodput of the early flow".
    pub title: String,
}

/// A point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointSummary {
    /// Its number in the sweep, from 1.
    pub index: usize,
    /// Values of the axes.
    pub place: BTreeMap<String, String>,
    /// Repeats that are there.
    pub repeats: usize,
    /// Measures that have a value, by name.
    pub measures: BTreeMap<String, Estimate>,
    /// Each flow.
    pub flows: Vec<FlowSummary>,
}

/// A flow over the repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSummary {
    /// Its group.
    pub group: String,
    /// Number in it, from 1.
    pub number: usize,
    /// Its algorithm.
    pub algorithm: String,
    /// Mean over the window of averages, in Mbit/s.
    pub goodput_mbit_per_s: Estimate,
}

/// A value of the paper beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaperRow {
    /// Of what.
    pub measure: String,
    /// At which point.
    pub place: BTreeMap<String, String>,
    /// Unit of both.
    pub unit: String,
    /// The paper's.
    pub paper: f64,
    /// Its standard error, where it is given.
    pub error: Option<f64>,
    /// Where it stands.
    #[serde(rename = "where")]
    pub stands: String,
    /// Ours.
    pub ours: Option<Estimate>,
    /// How far ours is off, in percent of the paper's.
    pub off_pct: Option<f64>,
}

/// The JSON schema of `summary.json`.
#[must_use]
pub fn summary_schema() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}

/// Reads what a folder has, and sums it up.
pub fn summarise(root: &Path, scenario: &Scenario) -> Result<Summary, RunError> {
    let versions = folder::read_versions(root)?.ok_or_else(|| RunError::NoRuns(root.to_owned()))?;
    let mut records: BTreeMap<usize, Vec<Option<UnitRecord>>> = BTreeMap::new();
    let mut invalid = Vec::new();
    for id in units(scenario) {
        let record = folder::read_unit(root, id)?;
        if record.is_none() {
            invalid.extend(folder::read_invalid(root, id)?);
        }
        records.entry(id.point).or_default().push(record);
    }
    Ok(Summary { invalid, ..of_records(scenario, versions, &records) })
}

fn of_records(scenario: &Scenario, versions: Versions, records: &Records) -> Summary {
    let found = RecordedRuns { scenario, records };
    let references = references(scenario);
    let runs_done = records.values().flatten().flatten().count();
    Summary {
        format: 1,
        versions,
        title: scenario.title.clone(),
        source: scenario.source.clone(),
        notes: scenario.notes.clone(),
        runs_done,
        runs: units(scenario).len(),
        invalid: Vec::new(),
        axes: scenario.axes.iter().map(axis_info).collect(),
        measures: references
            .iter()
            .map(|(name, reference)| (name.clone(), measure_info(scenario, reference)))
            .collect(),
        wanted: scenario.wanted.iter().map(Reference::to_string).collect(),
        figures: scenario.figures.iter().map(Reference::to_string).collect(),
        points: found.points(&references),
        paper: found.paper(),
        statements: judge(&scenario.statements, &found),
    }
}

fn axis_info(axis: &Axis) -> AxisInfo {
    let (name, values, unit) = (axis.name.clone(), axis.values.clone(), axis.unit.clone());
    AxisInfo { name, values, unit, logarithmic: axis.logarithmic }
}

fn measure_info(scenario: &Scenario, reference: &Reference) -> MeasureInfo {
    let groups = scenario.points.first().map_or(&[][..], |point| &point.setup.groups);
    let count = |name: &str| groups.iter().find(|group| group.name == name).map_or(0, |group| group.schedule.len());
    MeasureInfo { unit: reference.definition.unit.to_owned(), title: reference.heading(count) }
}

/// All measures of a summary, by name.
fn references(scenario: &Scenario) -> BTreeMap<String, Reference> {
    let asked = asked(scenario).into_iter().map(|reference| (reference.to_string(), reference));
    measured(scenario).into_iter().chain(asked).collect()
}

/// By point, then by repeat; none: not run yet.
type Records = BTreeMap<usize, Vec<Option<UnitRecord>>>;

struct RecordedRuns<'a> {
    scenario: &'a Scenario,
    records: &'a Records,
}

impl RecordedRuns<'_> {
    fn of_point(&self, index: usize) -> &[Option<UnitRecord>] {
        self.records.get(&index).map_or(&[], Vec::as_slice)
    }

    /// A measure that needs nothing but its point, by repeat.
    fn values(&self, position: &[usize], reference: &Reference) -> Option<Vec<Option<f64>>> {
        let point = self.scenario.point_at(position)?;
        let name = reference.at_each_point().to_string();
        let value = |record: &Option<UnitRecord>| record.as_ref()?.measures.get(&name).copied().flatten();
        Some(self.of_point(point.index).iter().map(value).collect())
    }

    /// A measure that compares with the baseline, repeat by repeat.
    fn against_baseline(&self, position: &[usize], reference: &Reference) -> Option<Vec<Option<f64>>> {
        let baseline = self.scenario.baseline.as_ref()?.applied_to(position);
        let (here, there) = (self.values(position, reference)?, self.values(baseline.first()?, reference)?);
        let compared = |(here, there): (&Option<f64>, &Option<f64>)| {
            let (here, there) = ((*here)?, (*there)?);
            let value = if reference.name == "impact" { 100.0 * (here / there - 1.0) } else { there / here };
            value.is_finite().then_some(value)
        };
        Some(here.iter().zip(&there).map(compared).collect())
    }

    fn points(&self, references: &BTreeMap<String, Reference>) -> Vec<PointSummary> {
        let point = |point: &crate::experiment::Point| {
            let value = |(name, reference): (&String, &Reference)| {
                self.value(&point.position, reference).map(|estimate| (name.clone(), estimate))
            };
            PointSummary {
                index: point.index + 1,
                place: self.scenario.place(&point.position),
                repeats: self.of_point(point.index).iter().flatten().count(),
                measures: references.iter().filter_map(value).collect(),
                flows: self.flows(point.index),
            }
        };
        self.scenario.points.iter().map(point).collect()
    }

    fn flows(&self, point: usize) -> Vec<FlowSummary> {
        let records = self.of_point(point);
        let Some(first) = records.iter().flatten().next() else { return Vec::new() };
        let flow = |(number, flow): (usize, &super::trial::FlowRecord)| {
            let goodput = |record: &Option<UnitRecord>| Some(record.as_ref()?.flows.get(number)?.goodput_mbit_per_s);
            let goodputs: Vec<Option<f64>> = records.iter().map(goodput).collect();
            Some(FlowSummary {
                group: flow.group.clone(),
                number: flow.number,
                algorithm: flow.algorithm.clone(),
                goodput_mbit_per_s: Estimate::of(&goodputs)?,
            })
        };
        first.flows.iter().enumerate().filter_map(flow).collect()
    }

    fn paper(&self) -> Vec<PaperRow> {
        let row = |value: &crate::statements::PaperValue| {
            let ours = self.value(&value.position, &value.measure);
            let off = ours.as_ref().map(|ours| 100.0 * (ours.mean - value.value) / value.value.abs());
            PaperRow {
                measure: value.measure.to_string(),
                place: self.scenario.place(&value.position),
                unit: value.measure.definition.unit.to_owned(),
                paper: value.value,
                error: value.error,
                stands: value.stands.clone(),
                off_pct: off.filter(|off| off.is_finite()),
                ours,
            }
        };
        let is_run = |value: &&crate::statements::PaperValue| self.scenario.point_at(&value.position).is_some();
        self.scenario.paper.iter().filter(is_run).map(row).collect()
    }
}

impl Results for RecordedRuns<'_> {
    fn axes(&self) -> &[Axis] {
        &self.scenario.axes
    }

    fn points(&self) -> Vec<&[usize]> {
        self.scenario.meant.iter().map(Vec::as_slice).collect()
    }

    fn value(&self, position: &[usize], reference: &Reference) -> Option<Estimate> {
        let values = if reference.definition.needs_baseline {
            self.against_baseline(position, reference)
        } else {
            self.values(position, reference)
        };
        Estimate::of(&values?)
    }
}
