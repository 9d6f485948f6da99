// SPDX-License-Identifier: GPL-2.0-only
//! Whether a statement holds, by our numbers.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::form::{Check, Claim, Course, Form, Tolerance};
use crate::experiment::file::{Monotone, Order, Relation};
use crate::experiment::{label, Axis, Position, Region};
use crate::measures::{Estimate, Reference};

/// What became of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Our results bear it out.
    Holds,
    /// They contradict it.
    DoesNotHold,
    /// Some of what it needs was not run, or has no value.
    NotEnoughData,
}

/// A statement and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// "S4-W4"
    pub id: String,
    /// In words.
    pub text: String,
    /// Where it stands.
    #[serde(rename = "where")]
    pub stands: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Of so many checks at least so many had to hold.
    pub at_least: usize,
    /// Its checks.
    pub checks: Vec<JudgedCheck>,
}

/// A check and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedCheck {
    /// What became of it.
    pub verdict: Verdict,
    /// At so many places it had to hold; none: at all.
    pub at_least: Option<usize>,
    /// Each place, with our numbers.
    pub places: Vec<JudgedPlace>,
}

/// A place and what was found there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedPlace {
    /// "algorithm = cubic"; empty without a sweep.
    pub place: String,
    /// Does it hold there?
    pub verdict: Verdict,
    /// Our numbers: "jain 0.98 > 0.5".
    pub found: String,
    /// Of a course some values are unknown, and the others bear it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_so_far: bool,
}

/// Where values come from.
pub trait Results {
    /// The axes of the sweep.
    fn axes(&self) -> &[Axis];
    /// All points that statements are about.
    fn points(&self) -> Vec<&[usize]>;
    /// A measure at a point, if it is known.
    fn value(&self, position: &[usize], reference: &Reference) -> Option<Estimate>;
}

/// Judges all of them.
pub fn judge(statements: &[Claim], results: &dyn Results) -> Vec<Judged> {
    statements.iter().map(|statement| judge_one(statement, results)).collect()
}

fn judge_one(statement: &Claim, results: &dyn Results) -> Judged {
    let checks: Vec<JudgedCheck> = statement.checks.iter().map(|check| judge_check(check, results)).collect();
    let verdicts: Vec<Verdict> = checks.iter().map(|check| check.verdict).collect();
    Judged {
        id: statement.id.clone(),
        text: statement.text.clone(),
        stands: statement.stands.clone(),
        verdict: together(&verdicts, statement.at_least),
        at_least: statement.at_least,
        checks,
    }
}

/// At least so many hold, do not, or it depends on what is unknown.
fn together(verdicts: &[Verdict], at_least: usize) -> Verdict {
    let count = |meant: Verdict| verdicts.iter().filter(|verdict| **verdict == meant).count();
    let (holding, unknown) = (count(Verdict::Holds), count(Verdict::NotEnoughData));
    if holding >= at_least {
        Verdict::Holds
    } else if holding + unknown >= at_least {
        Verdict::NotEnoughData
    } else {
        Verdict::DoesNotHold
    }
}

fn judge_check(check: &Check, results: &dyn Results) -> JudgedCheck {
    let judge = Judge { check, results };
    let places = match &check.form {
        Form::Axis { measure, axis, along, course } => judge.courses(measure, *axis, along, *course),
        Form::Places { measure, relation, than, than_at, times, tolerance } => {
            let right = Right { than, than_at, times: *times };
            judge.comparisons(measure, *relation, &right, *tolerance)
        }
        _ => judge.points(&check.at).into_iter().map(|at| judge.alone(at)).collect(),
    };
    let verdicts: Vec<Verdict> = places.iter().map(|place| place.verdict).collect();
    // Nothing to judge is no proof.
    let at_least = check.at_least.unwrap_or(verdicts.len().max(1));
    let verdict = if verdicts.is_empty() { Verdict::NotEnoughData } else { together(&verdicts, at_least) };
    JudgedCheck { verdict, at_least: check.at_least, places }
}

/// The right side of a comparison with a place.
struct Right<'a> {
    than: &'a Reference,
    than_at: &'a Region,
    times: f64,
}

struct Judge<'a> {
    check: &'a Check,
    results: &'a dyn Results,
}

impl<'a> Judge<'a> {
    fn points(&self, region: &Region) -> Vec<&'a [usize]> {
        self.results.points().into_iter().filter(|point| region.contains(point)).collect()
    }

    fn value(&self, position: &[usize], reference: &Reference) -> Option<Estimate> {
        let mut estimate = self.results.value(position, reference)?;
        if self.check.abs {
            estimate.mean = estimate.mean.abs();
        }
        Some(estimate)
    }

    fn name(&self, reference: &Reference) -> String {
        if self.check.abs {
            format!("|{reference}|")
        } else {
            reference.to_string()
        }
    }

    fn judged(&self, position: &[usize], holds: Option<bool>, found: String) -> JudgedPlace {
        let verdict = match holds {
            Some(true) => Verdict::Holds,
            Some(false) => Verdict::DoesNotHold,
            None => Verdict::NotEnoughData,
        };
        JudgedPlace { place: label(self.results.axes(), position), verdict, found, holds_so_far: false }
    }

    fn judged_course(&self, position: &[usize], followed: Followed, found: String) -> JudgedPlace {
        let holds = match followed {
            Followed::Wholly => Some(true),
            Followed::Not => Some(false),
            Followed::SoFar | Followed::Unknown => None,
        };
        JudgedPlace { holds_so_far: followed == Followed::SoFar, ..self.judged(position, holds, found) }
    }

    /// What needs no other place.
    fn alone(&self, at: &[usize]) -> JudgedPlace {
        match &self.check.form {
            Form::Number { measure, relation, value, tolerance } => {
                let left = self.value(at, measure);
                let right =
                    Some(Estimate { mean: *value, standard_error: Some(0.0), half_width_95: None, values: Vec::new() });
                let found = format!("{} {} {} {value}", self.name(measure), shown(left.as_ref()), sign(*relation));
                self.judged(at, compare(left.as_ref(), *relation, right.as_ref(), *tolerance), found)
            }
            Form::Between { measure, low, high } => {
                let value = self.value(at, measure);
                let holds = value.as_ref().map(|value| (*low..=*high).contains(&value.mean));
                let found = format!("{} {} in {low} to {high}", self.name(measure), shown(value.as_ref()));
                self.judged(at, holds, found)
            }
            Form::Measures { measures, order } => {
                let values: Vec<Option<Estimate>> = measures.iter().map(|measure| self.value(at, measure)).collect();
                let names = measures.iter().zip(&values);
                let found = names.map(|(measure, value)| format!("{} {}", self.name(measure), shown(value.as_ref())));
                let found = found.collect::<Vec<_>>().join(", ");
                self.judged_course(at, follows(&values, Course::Strict(*order)), found)
            }
            Form::Places { .. } | Form::Axis { .. } => unreachable!("judged with other places"),
        }
    }

    fn comparisons(
        &self,
        measure: &Reference,
        relation: Relation,
        right: &Right<'_>,
        tolerance: Tolerance,
    ) -> Vec<JudgedPlace> {
        let mut judged = Vec::new();
        for at in self.points(&self.check.at) {
            for place in right.than_at.applied_to(at) {
                if place == at && measure == right.than {
                    continue; // with itself
                }
                judged.push(self.comparison((measure, at), relation, (right, &place), tolerance));
            }
        }
        judged
    }

    fn comparison(
        &self,
        (measure, at): (&Reference, &[usize]),
        relation: Relation,
        (right, place): (&Right<'_>, &Position),
        tolerance: Tolerance,
    ) -> JudgedPlace {
        let left = self.value(at, measure);
        let value = self.value(place, right.than);
        let scaled = value.as_ref().map(|value| Estimate {
            mean: value.mean * right.times,
            standard_error: value.standard_error.map(|error| error * right.times.abs()),
            ..value.clone()
        });
        let times =
            if (right.times - 1.0).abs() < f64::EPSILON { String::new() } else { format!("{} times ", right.times) };
        let there = if place == at { String::new() } else { format!(" at {}", label(self.results.axes(), place)) };
        let found = format!(
            "{} {} {} {times}{} {}{there}",
            self.name(measure),
            shown(left.as_ref()),
            sign(relation),
            self.name(right.than),
            shown(value.as_ref())
        );
        self.judged(at, compare(left.as_ref(), relation, scaled.as_ref(), tolerance), found)
    }

    /// One course for each combination of the other axes.
    fn courses(&self, measure: &Reference, axis: usize, along: &[usize], course: Course) -> Vec<JudgedPlace> {
        let mut region = self.check.at.clone();
        region.positions.remove(&axis);
        let first = |point: &[usize]| {
            let mut place = point.to_vec();
            place[axis] = along[0];
            place
        };
        let starts: BTreeSet<Position> = self.points(&region).into_iter().map(first).collect();
        let values_of = |start: &Position| -> Vec<Option<Estimate>> {
            let place = |at: &usize| {
                let mut place = start.clone();
                place[axis] = *at;
                place
            };
            along.iter().map(|at| self.value(&place(at), measure)).collect()
        };
        let judge = |start: Position| {
            let values = values_of(&start);
            let names = along.iter().map(|at| self.results.axes()[axis].values[*at].as_str()).zip(&values);
            let known = names.filter(|(_, value)| value.is_some());
            let mut found: Vec<String> =
                known.map(|(name, value)| format!("{name} {}", shown(value.as_ref()))).collect();
            if found.len() < values.len() {
                found.push(format!("{} unknown", values.len() - found.len()));
            }
            let found = format!("{}: {}", self.name(measure), found.join(", "));
            self.judged_course(&start, follows(&values, course), found)
        };
        starts.into_iter().map(judge).collect()
    }
}

fn compare(
    left: Option<&Estimate>,
    relation: Relation,
    right: Option<&Estimate>,
    tolerance: Tolerance,
) -> Option<bool> {
    let (a, b) = (left?.mean, right?.mean);
    match relation {
        Relation::Less => Some(a < b),
        Relation::AtMost => Some(a <= b),
        Relation::More => Some(a > b),
        Relation::AtLeast => Some(a >= b),
        Relation::Equal => match tolerance {
            Tolerance::Share(share) => Some((a - b).abs() <= share * a.abs().max(b.abs())),
            Tolerance::Errors(errors) => {
                let (error_a, error_b) = (left?.standard_error?, right?.standard_error?);
                Some((a - b).abs() <= errors * error_a.hypot(error_b))
            }
        },
    }
}

/// Whether values take a course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Followed {
    Wholly,
    /// Those that are known.
    SoFar,
    Not,
    /// Fewer than two are known.
    Unknown,
}

/// A step that is known to be wrong decides, whatever else is unknown. One over a gap has the slack of all steps there.
fn follows(values: &[Option<Estimate>], course: Course) -> Followed {
    let known = values.iter().enumerate().filter_map(|(at, value)| Some((at, value.as_ref()?.mean)));
    let known: Vec<(usize, f64)> = known.collect();
    let step = |pair: &[(usize, f64)]| {
        let [(from, a), (to, b)] = [pair[0], pair[1]];
        let slack_of = |slack: f64| slack * a.abs() * (to - from) as f64;
        match course {
            Course::Strict(Order::Ascending) => a < b,
            Course::Strict(Order::Descending) => a > b,
            Course::But(Monotone::NonDecreasing, slack) => b >= a - slack_of(slack),
            Course::But(Monotone::NonIncreasing, slack) => b <= a + slack_of(slack),
        }
    };
    if !known.windows(2).all(step) {
        Followed::Not
    } else if known.len() == values.len() {
        Followed::Wholly
    } else if known.len() > 1 {
        Followed::SoFar
    } else {
        Followed::Unknown
    }
}

fn sign(relation: Relation) -> &'static str {
    match relation {
        Relation::Less => "<",
        Relation::AtMost => "<=",
        Relation::More => ">",
        Relation::AtLeast => ">=",
        Relation::Equal => "=",
    }
}

/// Four digits, and the standard error where there is one.
fn shown(estimate: Option<&Estimate>) -> String {
    let Some(estimate) = estimate else { return "unknown".to_owned() };
    let error = estimate.standard_error.map_or_else(String::new, |error| format!(" ± {}", digits(error)));
    format!("{}{error}", digits(estimate.mean))
}

/// About four significant digits, without an exponent.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
