// SPDX-License-Identifier: GPL-2.0-only
//! Reads the parts of a scenario that speak of measures and places: what pages show, the paper's values, statements.

use std::collections::BTreeSet;

use toml::Spanned;

use crate::experiment::file::{self, File, Selection};
use crate::experiment::{self, did_you_mean, layout, Axis, Point, Position, Region, ScenarioError, SourceText};
use crate::measures::{conversion, Names, Reference, Subject};

/// A value of a paper.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperValue {
    /// Of what.
    pub measure: Reference,
    /// At which point.
    pub position: Position,
    /// In the measure's unit.
    pub value: f64,
    /// Standard error, in the same unit.
    pub error: Option<f64>,
    /// "Table 5"
    pub stands: String,
}

/// What is needed to read those parts.
pub(crate) struct Reader<'a> {
    pub(crate) source: SourceText<'a>,
    pub(crate) axes: &'a [Axis],
    pub(crate) points: Vec<&'a [usize]>,
    names: Names,
    fields: BTreeSet<(String, String)>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: SourceText<'a>, axes: &'a [Axis], points: &'a [Point]) -> Self {
        let setup = &points[0].setup;
        let names = Names {
            groups: setup.groups.iter().map(|group| group.name.clone()).collect(),
            links: setup.links.iter().map(|link| link.name.clone()).collect(),
            duration: points.iter().map(|point| point.setup.duration).min().unwrap_or_default(),
        };
        let mut fields = BTreeSet::new();
        let algorithms: BTreeSet<(&str, &str)> = points
            .iter()
            .flat_map(|point| point.setup.groups.iter().map(|group| (group.name.as_str(), group.algorithm.as_str())))
            .collect();
        for (group, name) in algorithms {
            let layout = ccctl_catalog::algorithm(name).map(layout);
            let state = layout.iter().flat_map(|layout| &layout.state);
            fields.extend(state.map(|field| (group.to_owned(), field.name.clone())));
        }
        let points = points.iter().map(|point| point.position.as_slice()).collect();
        Self { source, axes, points, names, fields }
    }

    /// A measure.
    pub(crate) fn reference(&self, text: &Spanned<String>) -> Result<Reference, ScenarioError> {
        let wrong = |(cause, remedy): (String, String)| self.source.wrong(&text.span(), cause, remedy);
        let reference = Reference::parse(text.get_ref(), &self.names).map_err(wrong)?;
        if let (Some(field), Subject::Flows(groups)) = (reference.state_field(), &reference.subject) {
            let is_theirs =
                |(group, name): &&(String, String)| name == field && (groups.is_empty() || groups.contains(group));
            if !self.fields.iter().any(|known| is_theirs(&known)) {
                let cause = format!("no algorithm of these flows has a state field {field:?}");
                let known = self.fields.iter().filter(|(group, _)| groups.is_empty() || groups.contains(group));
                let remedy = did_you_mean(field, known.map(|(_, name)| name.as_str()));
                return Err(wrong((cause, remedy)));
            }
        }
        Ok(reference)
    }

    /// Measures that the source has figures of: of those that pages show.
    pub(crate) fn figures(&self, file: &File) -> Result<Vec<Reference>, ScenarioError> {
        let is_wanted = |text: &str| file.measures.wanted.iter().any(|wanted| wanted.get_ref() == text);
        let one = |text: &Spanned<String>| {
            if is_wanted(text.get_ref()) {
                return self.reference(text);
            }
            let cause = format!("{:?} is not in `wanted`, which pages show", text.get_ref());
            Err(self.source.wrong(&text.span(), cause, "add it there"))
        };
        file.measures.figures.iter().map(one).collect()
    }

    /// A set of places.
    pub(crate) fn region(&self, selection: &Spanned<Selection>) -> Result<Region, ScenarioError> {
        experiment::region(&self.source, self.axes, selection.get_ref())
    }

    /// The place of the baseline; that it is there wherever it is asked for.
    pub(crate) fn baseline(&self, file: &File) -> Result<Option<Region>, ScenarioError> {
        let baseline = file.measures.baseline.as_ref();
        let region = baseline.map(|baseline| self.region(baseline)).transpose()?;
        if let (Some(region), Some(baseline)) = (&region, baseline) {
            if region.positions.is_empty() || region.positions.values().any(|positions| positions.len() != 1) {
                let remedy = "give one value for each axis that it changes: baseline = { newcomer = \"reno\" }";
                return Err(self.source.wrong(&baseline.span(), "the baseline is not a single point", remedy));
            }
        }
        let texts = file.measures.wanted.iter().chain(file.paper.iter().map(|paper| &paper.measure));
        let checks = file.statement.iter().flat_map(|statement| statement.check.get_ref()).map(Spanned::get_ref);
        let texts = texts.chain(checks.flat_map(|it| it.measure.iter().chain(&it.than).chain(&it.measures)));
        for text in texts {
            let reference = self.reference(text)?;
            if reference.definition.needs_baseline && region.is_none() {
                let cause = format!("{} compares with a baseline, but the scenario has none", reference.name);
                return Err(self.source.wrong(&text.span(), cause, "add [measures] baseline = { AXIS = VALUE }"));
            }
        }
        Ok(region)
    }

    /// The paper's values at points that are run.
    pub(crate) fn paper(&self, values: &[file::PaperValue]) -> Result<Vec<PaperValue>, ScenarioError> {
        values.iter().filter_map(|value| self.paper_value(value).transpose()).collect()
    }

    /// Is it one place of the sweep?
    fn is_one_place(&self, region: &Region) -> bool {
        (0..self.axes.len()).all(|axis| region.positions.get(&axis).map_or(self.axes[axis].values.len(), Vec::len) == 1)
    }

    fn paper_value(&self, value: &file::PaperValue) -> Result<Option<PaperValue>, ScenarioError> {
        let measure = self.reference(&value.measure)?;
        let region = self.region(&value.at)?;
        let places: Vec<&&[usize]> = self.points.iter().filter(|point| region.contains(point)).collect();
        if places.is_empty() && self.is_one_place(&region) {
            return Ok(None); // left out by `only` or `exclude`
        }
        let [position] = places[..] else {
            let cause = format!("the paper's value matches {} points of the sweep", places.len());
            let span = if value.at.get_ref().is_empty() { value.measure.span() } else { value.at.span() };
            return Err(self.source.wrong(&span, cause, "write at = { ... } with one value for each axis"));
        };
        let unit = measure.definition.unit;
        let factor = if measure.state_field().is_some() { Some(1.0) } else { conversion(value.unit.get_ref(), unit) };
        let factor = factor.ok_or_else(|| {
            let cause = format!("{measure} is not measured in {:?}", value.unit.get_ref());
            self.source.wrong(&value.unit.span(), cause, format!("unit = {unit:?}"))
        })?;
        Ok(Some(PaperValue {
            measure,
            position: position.to_vec(),
            value: value.value * factor,
            error: value.error.map(|error| error * factor),
            stands: value.stands.clone(),
        }))
    }
}
