// SPDX-License-Identifier: GPL-2.0-only
//! The axes of a sweep, and the places that they span.

use std::collections::BTreeMap;

use super::document::{Document, Path};
use super::file::{self, Selection, Word};
use super::source_text::{did_you_mean, ScenarioError, SourceText};

/// At most so many points.
const MAX_POINTS: usize = 100_000;
/// What can be swept, by the first word of the path.
const SWEPT_SECTIONS: [&str; 4] = ["link", "flows", "tcp", "run"];
/// What belongs to all points together.
const NOT_SWEPT: [&str; 4] = ["run.repeats", "run.seed", "run.only", "run.exclude"];

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// How places call it.
    pub name: String,
    /// Its values, as text.
    pub values: Vec<String>,
    /// Unit of the values, where they are numbers without one; may be empty.
    pub unit: String,
    /// Figures over it are logarithmic.
    pub logarithmic: bool,
}

impl Axis {
    /// The leading number of a value: 40 of "40 ms".
    #[must_use]
    pub fn number(&self, position: usize) -> Option<f64> {
        let text = self.values.get(position)?;
        text.split_whitespace().next()?.parse().ok()
    }

    /// The position of a value.
    #[must_use]
    pub fn position(&self, value: &str) -> Option<usize> {
        self.values.iter().position(|known| known == value)
    }
}

/// A place in the sweep: for each axis the position of its value.
pub type Position = Vec<usize>;

/// A set of places: for each axis the positions that are meant; none: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Region {
    /// By the number of the axis.
    pub positions: BTreeMap<usize, Vec<usize>>,
}

impl Region {
    /// Is the place one of these?
    #[must_use]
    pub fn contains(&self, position: &[usize]) -> bool {
        self.positions.iter().all(|(axis, meant)| position.get(*axis).is_some_and(|at| meant.contains(at)))
    }

    /// The places that a place becomes when its axes are changed to these values.
    #[must_use]
    pub fn applied_to(&self, position: &[usize]) -> Vec<Position> {
        let mut places = vec![position.to_vec()];
        for (axis, meant) in &self.positions {
            places = places
                .iter()
                .flat_map(|place| {
                    meant.iter().map(|value| {
                        let mut changed = place.clone();
                        changed[*axis] = *value;
                        changed
                    })
                })
                .collect();
        }
        places
    }
}

/// What an axis replaces.
struct Replacement {
    axis: usize,
    path: Path,
    is_value: bool,
}

/// All axes.
pub(crate) struct Sweep {
    pub(crate) axes: Vec<Axis>,
    replacements: Vec<Replacement>,
}

impl Sweep {
    /// Reads and checks the axes.
    pub(crate) fn of_document(document: &Document<'_>) -> Result<Self, ScenarioError> {
        let axes: Vec<file::Axis> = document.section("sweep")?;
        let mut sweep = Self { axes: Vec::new(), replacements: Vec::new() };
        for axis in &axes {
            sweep.add(&document.source, axis)?;
        }
        let points = sweep.axes.iter().try_fold(1_usize, |points, axis| points.checked_mul(axis.values.len()));
        if points.is_none_or(|points| points > MAX_POINTS) {
            let span = axes[0].name.span();
            return Err(document.source.wrong(&span, format!("more than {MAX_POINTS} points"), "several scenarios"));
        }
        Ok(sweep)
    }

    fn add(&mut self, source: &SourceText<'_>, axis: &file::Axis) -> Result<(), ScenarioError> {
        let name = axis.name.get_ref();
        if self.axes.iter().any(|known| known.name == *name) {
            return Err(source.wrong(&axis.name.span(), format!("two axes are named {name:?}"), "use another name"));
        }
        let mut values: Vec<String> = Vec::new();
        for value in axis.values.get_ref() {
            let text = value.get_ref().to_string();
            if values.contains(&text) {
                return Err(source.wrong(
                    &value.span(),
                    format!("{name} has the value {text:?} twice"),
                    "write each value once",
                ));
            }
            values.push(text);
        }
        if values.is_empty() {
            return Err(source.wrong(
                &axis.values.span(),
                format!("{name} has no values"),
                "values = [\"16 ms\", \"40 ms\"]",
            ));
        }
        if axis.set.is_empty() && axis.with.is_empty() {
            let remedy = "set = [\"flows.*.algorithm\"], or with = { PATH = [...] }";
            return Err(source.wrong(&axis.name.span(), format!("the axis {name:?} changes nothing"), remedy));
        }
        for (path, list) in &axis.with {
            let (found, expected) = (list.get_ref().len(), values.len());
            if found != expected {
                let cause = format!("{} has {found} values, the axis {name:?} has {expected}", path.get_ref());
                return Err(source.wrong(&list.span(), cause, "write one value for each value of the axis"));
            }
        }
        let number = self.axes.len();
        let set = axis.set.iter().map(|path| (path, true));
        for (path, is_value) in set.chain(axis.with.keys().map(|path| (path, false))) {
            let path = Path { text: path.get_ref().clone(), span: path.span() };
            self.check_path(source, &path)?;
            self.replacements.push(Replacement { axis: number, path, is_value });
        }
        self.axes.push(Axis { name: name.clone(), values, unit: axis.unit.clone(), logarithmic: axis.logarithmic });
        Ok(())
    }

    fn check_path(&self, source: &SourceText<'_>, path: &Path) -> Result<(), ScenarioError> {
        let first = path.text.split('.').next().unwrap_or_default();
        if !SWEPT_SECTIONS.contains(&first) {
            let cause = format!("the path {:?} does not exist: paths begin with link, flows, tcp or run", path.text);
            return Err(source.wrong(&path.span, cause, did_you_mean(first, SWEPT_SECTIONS)));
        }
        if NOT_SWEPT.contains(&path.text.as_str()) || path.text.rsplit('.').next() == Some("name") {
            let cause = format!("{} cannot be swept", path.text);
            return Err(source.wrong(&path.span, cause, "it applies to all points: set it in the file"));
        }
        if self.replacements.iter().any(|known| known.path.text == path.text) {
            let cause = format!("{} is set twice by the sweep", path.text);
            return Err(source.wrong(&path.span, cause, "set each path by one axis only"));
        }
        Ok(())
    }

    /// All places, the last axis running fastest.
    pub(crate) fn positions(&self) -> Vec<Position> {
        let mut positions: Vec<Position> = vec![Vec::new()];
        for axis in &self.axes {
            positions = positions
                .iter()
                .flat_map(|position| (0..axis.values.len()).map(|at| [position.as_slice(), &[at]].concat()))
                .collect();
        }
        positions
    }

    /// The document at a place.
    pub(crate) fn document_at<'t>(
        &self,
        document: &Document<'t>,
        position: &[usize],
    ) -> Result<Document<'t>, ScenarioError> {
        let mut changed = document.clone();
        for replacement in &self.replacements {
            let (axis, path) = (replacement.axis, &replacement.path);
            let value = if replacement.is_value {
                document.value(axis, position[axis])
            } else {
                document.value_of_axis(axis, &path.text, position[axis])
            };
            changed.set(path, &value.expect("the lists' lengths were checked"))?;
        }
        Ok(changed)
    }
}

/// What a selection means.
pub(crate) fn region(source: &SourceText<'_>, axes: &[Axis], selection: &Selection) -> Result<Region, ScenarioError> {
    let mut region = Region::default();
    for (name, choice) in selection {
        let Some(number) = axes.iter().position(|axis| axis.name == *name.get_ref()) else {
            let remedy = did_you_mean(name.get_ref(), axes.iter().map(|axis| axis.name.as_str()));
            return Err(source.wrong(&name.span(), format!("the sweep has no axis {:?}", name.get_ref()), remedy));
        };
        let known = &axes[number];
        let position = |word: &Word| {
            known.position(&word.to_string()).ok_or_else(|| {
                let cause = format!("the axis {:?} has no value {:?}", known.name, word.to_string());
                let remedy = did_you_mean(&word.to_string(), known.values.iter().map(String::as_str));
                source.wrong(&choice.span(), cause, remedy)
            })
        };
        let positions = choice.get_ref().words().iter().map(position).collect::<Result<Vec<usize>, _>>()?;
        if positions.is_empty() {
            return Err(source.wrong(
                &choice.span(),
                "an empty list selects nothing",
                "leave the axis out to select all its values",
            ));
        }
        region.positions.insert(number, positions);
    }
    Ok(region)
}
