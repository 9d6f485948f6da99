// SPDX-License-Identifier: GPL-2.0-only
//! What is done of a scenario's runs, and how long the rest takes.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ccctl_console::output;
use ccctl_lab::run::{is_done, units, Progress as Step, Shard, UnitId};
use ccctl_lab::scenario::Scenario;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::effort::Effort;

/// Of the bar.
const STEPS: u64 = 1000;
/// Between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(60);

/// Told by the threads that run, asked by the one that shows.
pub struct Progress {
    name: String,
    effort: Effort,
    weights: BTreeMap<UnitId, f64>, // of what is missing
    state: Mutex<State>,
    started: Instant,
    bar: Option<ProgressBar>,
}

struct State {
    shares: BTreeMap<UnitId, f64>,
    done: usize,
    of: usize,
    said: Instant,
}

impl Progress {
    pub fn new(scenario: &Scenario, shard: Option<Shard>, out: &Path, effort: Effort, bars: &MultiProgress) -> Self {
        let shard = shard.unwrap_or(Shard { number: 1, of: 1 });
        let mine: Vec<UnitId> = units(scenario).into_iter().skip(shard.number - 1).step_by(shard.of).collect();
        let of_point: BTreeMap<usize, f64> =
            scenario.points.iter().map(|point| (point.index, effort.of(&point.setup))).collect();
        let is_missing = |id: &&UnitId| !is_done(out, **id);
        let weights: BTreeMap<UnitId, f64> = mine
            .iter()
            .filter(is_missing)
            .map(|id| (*id, of_point.get(&id.point).copied().unwrap_or_default()))
            .collect();
        let (done, of) = (mine.len() - weights.len(), mine.len());
        let state = State { shares: BTreeMap::new(), done, of, said: Instant::now() };
        Self {
            name: scenario.name.clone(),
            effort,
            weights,
            state: Mutex::new(state),
            started: Instant::now(),
            bar: bar(&scenario.name).map(|bar| bars.add(bar)),
        }
    }

    /// A run has come on.
    pub fn step(&self, step: &Step) {
        if let Some(invalid_try) = &step.invalid_try {
            self.say(invalid_try);
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.shares.insert(step.unit, step.share);
        (state.done, state.of) = (step.done.max(state.done), step.of);
    }

    /// Shows where it is.
    pub fn show(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let share = self.share(&state);
        let text = format!("{} of {} runs{}", state.done, state.of, self.time_left(share));
        if let Some(bar) = &self.bar {
            bar.set_position((share * STEPS as f64) as u64);
            bar.set_message(text);
        } else if state.said.elapsed() >= LINE_EVERY {
            state.said = Instant::now();
            self.say(&format!("{}: {:.0} %, {text}", self.name, 100.0 * share));
        }
    }

    /// A line above the bar, if there is one.
    fn say(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.println(line);
        } else {
            let _ = writeln!(std::io::stderr(), "{line}"); // with stderr closed there is nobody to tell
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// What is done of what was missing.
    fn share(&self, state: &State) -> f64 {
        let all: f64 = self.weights.values().sum();
        let done: f64 = self.weights.iter().map(|(id, weight)| weight * state.shares.get(id).unwrap_or(&0.0)).sum();
        if all > 0.0 {
            done / all
        } else {
            1.0
        }
    }

    fn time_left(&self, share: f64) -> String {
        let elapsed = self.started.elapsed();
        let left = match self.effort {
            Effort::Time { jobs } => {
                let seconds = self.weights.values().sum::<f64>() * (1.0 - share).max(0.0);
                Duration::from_secs_f64(seconds / jobs.clamp(1, self.weights.len().max(1)) as f64)
            }
            Effort::Work if share < 0.001 || elapsed < Duration::from_secs(2) => return String::new(),
            Effort::Work => elapsed.mul_f64((1.0 - share) / share),
        };
        let text = output::span(Duration::from_secs(left.as_secs()));
        let largest: Vec<&str> = text.split(' ').take(2).collect();
        format!(", {} left", largest.join(" "))
    }
}

fn bar(name: &str) -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let style =
        ProgressStyle::with_template("{prefix} {bar:30} {percent} %, {msg}; Ctrl-C stops and keeps finished runs");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    Some(ProgressBar::new(STEPS).with_style(style).with_prefix(name.to_owned()))
}
