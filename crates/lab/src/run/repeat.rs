// SPDX-License-Identifier: GPL-2.0-only
//! Makes a random part of recorded runs again, and compares what they give, byte for byte.

use std::sync::atomic::AtomicBool;

use ccctl_sim::splitmix64;

use super::error::RunError;
use super::recorded::{line_of, Recorded};
use super::trial::{UnitId, UnitRecord};
use crate::backend::{Backend, Watch};
use crate::scenario::Scenario;
use crate::seed;

/// A recorded run, by the numbers of its scenario and of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Which of the scenarios.
    pub scenario: usize,
    /// Its run.
    pub id: UnitId,
}

/// How many runs are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// Share of all recorded runs, rounded up.
    pub share: f64,
    /// Seconds of one processor, as recorded, that they take together at most.
    pub budget_s: Option<f64>,
    /// Decides which.
    pub seed: u64,
}

/// Draws runs, each with the same chance. With a budget, one that no longer fits in is passed over.
#[must_use]
pub fn draw(recorded: &[Recorded], draw: Draw) -> Vec<Drawn> {
    let of_one = |(scenario, recorded): (usize, &Recorded)| {
        recorded.runs.iter().map(move |(id, run)| (Drawn { scenario, id: *id }, run.made.processor_s)).collect()
    };
    let mut left: Vec<(Drawn, f64)> = recorded.iter().enumerate().flat_map(|it| -> Vec<_> { of_one(it) }).collect();
    let wanted = (draw.share * left.len() as f64).ceil() as usize;
    let (mut state, mut budget_s, mut drawn) = (draw.seed, draw.budget_s.unwrap_or(f64::INFINITY), Vec::new());
    while drawn.len() < wanted && !left.is_empty() {
        let at = ((u128::from(splitmix64(&mut state)) * left.len() as u128) >> 64) as usize;
        let (run, processor_s) = left.swap_remove(at);
        if processor_s <= budget_s {
            budget_s -= processor_s;
            drawn.push(run);
        }
    }
    drawn
}

/// Makes a run again; where its result differs from the recorded one, in what.
pub fn repeat(
    scenario: &Scenario,
    backend: &dyn Backend,
    recorded: &Recorded,
    id: UnitId,
    cancel: &AtomicBool,
) -> Result<Option<String>, RunError> {
    let Some(known) = recorded.runs.get(&id) else { return Ok(Some("it was not recorded".to_owned())) };
    let Some(point) = scenario.points.iter().find(|point| point.index == id.point) else {
        return Ok(Some("the scenario has no such point".to_owned()));
    };
    let seed = seed::of_repeat(scenario.seed, id.repeat);
    let watch = Watch { cancel, progress: &|_| () };
    let outcome = backend.run(&point.setup, seed, &watch).map_err(|cause| RunError::Unit {
        at: format!("{} (repeat {})", scenario.place_text(&point.position), id.repeat + 1),
        cause,
    })?;
    let mut now = UnitRecord::of(scenario, point, id, seed, &outcome);
    // A measure that is asked for since then is no difference.
    now.measures.retain(|name, _| known.record.measures.contains_key(name));
    Ok((line_of(&now) != known.line()).then(|| difference(&known.record, &now)))
}

/// The first of what differs.
fn difference(known: &UnitRecord, now: &UnitRecord) -> String {
    let shown = |value: Option<&Option<f64>>| match value {
        Some(Some(value)) => value.to_string(),
        _ => "none".to_owned(),
    };
    let other = known.measures.iter().find(|(name, value)| now.measures.get(*name) != Some(value));
    match other {
        Some((name, value)) => {
            format!("{name} is {} instead of {}", shown(now.measures.get(name)), shown(Some(value)))
        }
        None if known.seed != now.seed => format!("the seed is {} instead of {}", now.seed, known.seed),
        None if known.place != now.place => "it is of another place of the sweep".to_owned(),
        None if known.flows != now.flows => "the counters of flows differ".to_owned(),
        None if known.links != now.links => "the counters of links differ".to_owned(),
        None => "the number of transfers differs".to_owned(),
    }
}
