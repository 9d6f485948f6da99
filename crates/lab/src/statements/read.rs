// SPDX-License-Identifier: GPL-2.0-only
//! Reads statements: which keys make which form.

use toml::Spanned;

use super::form::{Check, Claim, Course, Form, Tolerance};
use crate::experiment::file::{self, Relation};
use crate::experiment::{did_you_mean, label, Region, ScenarioError};
use crate::measures::Reference;
use crate::statements::Reader;

/// The forms, for messages.
const FORMS: &str =
    "use is with value, than or than_at; between; order; or monotone: docs/reference/scenarios.md shows each";

/// All statements of a file.
pub(crate) fn statements(reader: &Reader<'_>, all: &[file::Claim]) -> Result<Vec<Claim>, ScenarioError> {
    let mut statements: Vec<Claim> = Vec::new();
    for statement in all {
        let (id, span) = (statement.id.get_ref(), statement.id.span());
        if id.is_empty() || statements.iter().any(|known| known.id == *id) {
            return Err(reader.source.wrong(&span, format!("the id {id:?} is empty or used twice"), "use another id"));
        }
        let checks = statement.check.get_ref().iter().map(|check| CheckReader { reader, check }.read());
        let checks = checks.collect::<Result<Vec<Check>, ScenarioError>>()?;
        let at_least = statement.at_least.as_ref().map_or(checks.len(), |count| *count.get_ref());
        if checks.is_empty() || at_least == 0 || at_least > checks.len() {
            let span = statement.at_least.as_ref().map_or(statement.check.span(), Spanned::span);
            let cause = format!("at_least is {at_least} of {} checks", checks.len());
            return Err(reader.source.wrong(&span, cause, "write at least one check, and at_least up to their number"));
        }
        let (text, stands) = (statement.text.clone(), statement.stands.clone());
        statements.push(Claim { id: id.clone(), text, stands, checks, at_least });
    }
    Ok(statements)
}

struct CheckReader<'a> {
    reader: &'a Reader<'a>,
    check: &'a Spanned<file::Check>,
}

impl CheckReader<'_> {
    fn read(&self) -> Result<Check, ScenarioError> {
        let check = self.check.get_ref();
        let at = self.reader.region(&check.at)?;
        let places = self.reader.points.iter().filter(|point| at.contains(point)).count();
        if places == 0 {
            return Err(self.wrong("no point of the sweep matches at", "change at, only or exclude"));
        }
        let at_least = check.at_least.as_ref().map(|count| *count.get_ref());
        if at_least == Some(0) {
            return Err(self.wrong("at_least = 0 always holds", "use at_least = 1 or more, or leave it out for all"));
        }
        let kinds = [check.is.is_some(), check.between.is_some(), check.order.is_some(), check.monotone.is_some()];
        if kinds.into_iter().filter(|is_there| *is_there).count() != 1 {
            return Err(self.wrong("a check needs exactly one of is, between, order, monotone", FORMS));
        }
        let form = if let Some(relation) = &check.is {
            self.comparison(*relation.get_ref())?
        } else if let Some(between) = &check.between {
            self.between(between)?
        } else {
            self.course()?
        };
        self.refuse_others(&form)?;
        self.check_right_side(&at, &form)?;
        Ok(Check { at, at_least, abs: check.abs, form })
    }

    /// What is compared with must be run, too.
    fn check_right_side(&self, at: &Region, form: &Form) -> Result<(), ScenarioError> {
        let Form::Places { than_at, .. } = form else { return Ok(()) };
        let left = self.reader.points.iter().filter(|point| at.contains(point));
        let right = left.flat_map(|point| than_at.applied_to(point));
        match right.into_iter().find(|place| !self.reader.points.contains(&place.as_slice())) {
            None => Ok(()),
            Some(place) => {
                let cause =
                    format!("the check compares with a point that is not run: {}", label(self.reader.axes, &place));
                Err(self.wrong(cause, "change at, than_at, only or exclude"))
            }
        }
    }

    fn wrong(&self, cause: impl std::fmt::Display, remedy: impl Into<String>) -> ScenarioError {
        self.reader.source.wrong(&self.check.span(), cause, remedy)
    }

    fn measure(&self) -> Result<Reference, ScenarioError> {
        let measure = self.check.get_ref().measure.as_ref();
        let measure =
            measure.ok_or_else(|| self.wrong("the check names no measure", "add measure = \"goodput:GROUP\""))?;
        self.reader.reference(measure)
    }

    fn tolerance(&self, relation: Relation) -> Result<Tolerance, ScenarioError> {
        let check = self.check.get_ref();
        let remedy = "add within = \"5 %\" or within_errors = 2, with is = \"=\"";
        match (relation, &check.within, &check.within_errors) {
            (Relation::Equal, Some(share), None) => Ok(Tolerance::Share(share.get_ref().0)),
            (Relation::Equal, None, Some(errors)) if *errors.get_ref() > 0.0 => {
                Ok(Tolerance::Errors(*errors.get_ref()))
            }
            (Relation::Equal, ..) => Err(self.wrong("a check for equality needs a tolerance", remedy)),
            (_, None, None) => Ok(Tolerance::Share(0.0)),
            _ => Err(self.wrong("only a check for equality takes a tolerance", remedy)),
        }
    }

    fn comparison(&self, relation: Relation) -> Result<Form, ScenarioError> {
        let check = self.check.get_ref();
        let (measure, tolerance) = (self.measure()?, self.tolerance(relation)?);
        if let Some(value) = &check.value {
            if check.than.is_some() || check.than_at.is_some() || check.times.is_some() {
                return Err(self.wrong("the check has both value and than", "use value alone, or than and than_at"));
            }
            return Ok(Form::Number { measure, relation, value: *value.get_ref(), tolerance });
        }
        if check.than.is_none() && check.than_at.is_none() {
            return Err(
                self.wrong("the check has no right side", "add value = 1, than = \"MEASURE\" or than_at = { ... }")
            );
        }
        let than = check.than.as_ref().map_or_else(|| Ok(measure.clone()), |than| self.reader.reference(than))?;
        if than.definition.unit != measure.definition.unit {
            let (left, right) = (measure.definition.unit, than.definition.unit);
            return Err(
                self.wrong(format!("{measure} is in {left}, {than} in {right}"), "compare measures of the same unit")
            );
        }
        let than_at = check.than_at.as_ref().map_or_else(|| Ok(<_>::default()), |at| self.reader.region(at))?;
        let times = check.times.as_ref().map_or(1.0, |times| *times.get_ref());
        Ok(Form::Places { measure, relation, than, than_at, times, tolerance })
    }

    fn between(&self, between: &Spanned<[f64; 2]>) -> Result<Form, ScenarioError> {
        let [low, high] = *between.get_ref();
        if low > high {
            return Err(self.reader.source.wrong(&between.span(), "the range is empty", "write between = [LOW, HIGH]"));
        }
        Ok(Form::Between { measure: self.measure()?, low, high })
    }

    fn course(&self) -> Result<Form, ScenarioError> {
        let check = self.check.get_ref();
        if !check.measures.is_empty() {
            let order = check
                .order
                .as_ref()
                .ok_or_else(|| self.wrong("a list of measures needs an order", "use order, not monotone"))?;
            let measures = check.measures.iter().map(|measure| self.reader.reference(measure));
            let measures = measures.collect::<Result<Vec<Reference>, ScenarioError>>()?;
            if measures.len() < 2 || check.measure.is_some() || check.over.is_some() {
                return Err(
                    self.wrong("an order of measures needs two or more measures, and neither measure nor over", FORMS)
                );
            }
            return Ok(Form::Measures { measures, order: *order.get_ref() });
        }
        let over = check
            .over
            .as_ref()
            .ok_or_else(|| self.wrong("the check names no axis", "add over = \"AXIS\", or measures = [...]"))?;
        let axis = self.reader.axes.iter().position(|axis| axis.name == *over.get_ref()).ok_or_else(|| {
            let remedy = did_you_mean(over.get_ref(), self.reader.axes.iter().map(|axis| axis.name.as_str()));
            self.reader.source.wrong(&over.span(), format!("the sweep has no axis {:?}", over.get_ref()), remedy)
        })?;
        let along = self.along(axis)?;
        let course = match (&check.order, &check.monotone) {
            (Some(order), _) => Course::Strict(*order.get_ref()),
            (None, Some(monotone)) => {
                Course::But(*monotone.get_ref(), check.slack.as_ref().map_or(0.0, |slack| slack.get_ref().0))
            }
            (None, None) => return Err(self.wrong("the check has neither order nor monotone", FORMS)),
        };
        Ok(Form::Axis { measure: self.measure()?, axis, along, course })
    }

    fn along(&self, axis: usize) -> Result<Vec<usize>, ScenarioError> {
        let (check, axis) = (self.check.get_ref(), &self.reader.axes[axis]);
        let position = |word: &Spanned<file::Word>| {
            axis.position(&word.get_ref().to_string()).ok_or_else(|| {
                let text = word.get_ref().to_string();
                let remedy = did_you_mean(&text, axis.values.iter().map(String::as_str));
                self.reader.source.wrong(
                    &word.span(),
                    format!("the axis {:?} has no value {text:?}", axis.name),
                    remedy,
                )
            })
        };
        let along = check.along.iter().map(position).collect::<Result<Vec<usize>, ScenarioError>>()?;
        let along = if along.is_empty() { (0..axis.values.len()).collect() } else { along };
        if along.len() < 2 {
            return Err(self.wrong("the check has one value on its axis", "use two values or more"));
        }
        Ok(along)
    }

    /// Keys that the form does not read would be lost without a word.
    fn refuse_others(&self, form: &Form) -> Result<(), ScenarioError> {
        let check = self.check.get_ref();
        let compares = matches!(form, Form::Number { .. } | Form::Places { .. });
        let has_axis = matches!(form, Form::Axis { .. });
        let is_monotone = matches!(form, Form::Axis { course: Course::But(..), .. });
        let unread = [
            ("value", check.value.is_some() && !compares),
            ("than", check.than.is_some() && !compares),
            ("than_at", check.than_at.is_some() && !compares),
            ("times", check.times.is_some() && !compares),
            ("within", check.within.is_some() && !compares),
            ("within_errors", check.within_errors.is_some() && !compares),
            ("over", check.over.is_some() && !has_axis),
            ("along", !check.along.is_empty() && !has_axis),
            ("slack", check.slack.is_some() && !is_monotone),
            ("measures", !check.measures.is_empty() && !matches!(form, Form::Measures { .. })),
        ];
        match unread.into_iter().find(|(_, is_there)| *is_there) {
            Some((key, _)) => Err(self.wrong(format!("this check does not use {key}"), FORMS)),
            None => Ok(()),
        }
    }
}
