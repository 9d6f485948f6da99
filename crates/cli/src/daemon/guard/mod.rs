// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard: monitors the connections of each instance and disables an instance that harms them.

mod verdict;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use ccctl_console::output;
use ccctl_loader::canary;
use ccctl_loader::guard::{divert, set, Diverted, Trip};
use ccctl_loader::{AlgorithmInterval, Instance, IntervalScanner, IntervalStats};

use ccctl_core::configuration::{Configuration, Guard as Guarding};
use ccctl_core::counters::COUNTERS;
use ccctl_core::daemon::{EventKind, GuardEvent, GuardReport, GuardedInstance, News};
use ccctl_core::plan::sort_trips;
use ccctl_core::request;

use crate::events::Journal;
use verdict::{complaints, judge, of_few, Measures, Verdict, Window};

/// So many of the latest are told.
const EVENTS: usize = 50;

/// One that watches as a file has it.
pub struct Guard {
    guarding: Guarding,
    windows: IntervalScanner,
    histories: BTreeMap<String, VecDeque<Window>>,
    events: VecDeque<GuardEvent>,
    due: Instant,
    ended: u64,
    journal: Arc<Journal>,
}

impl Guard {
    /// Begins to watch: the first window starts now.
    pub fn begin(guarding: &Guarding, journal: Arc<Journal>) -> anyhow::Result<Self> {
        let mut windows = IntervalScanner::new()?;
        windows.look()?;
        let due = Instant::now() + guarding.limits.every();
        let guarding = guarding.clone();
        Ok(Self { guarding, windows, histories: BTreeMap::new(), events: VecDeque::new(), due, ended: 0, journal })
    }

    /// Does it watch just this?
    pub fn is_of(&self, guarding: &Guarding) -> bool {
        self.guarding == *guarding
    }

    /// When the window ends.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Watches an instance as if for the first time.
    pub fn forget(&mut self, name: &str) {
        self.histories.remove(name);
        self.note(EventKind::Enabled, name, "enabled again".to_owned());
    }

    /// Ends a window; true where an instance was disabled.
    pub fn look(&mut self, configuration: &Configuration) -> anyhow::Result<bool> {
        self.due = Instant::now() + self.guarding.limits.every();
        let (trips, _) = sort_trips(configuration)?;
        for trip in &trips {
            self.hold(trip)?;
        }
        let Some(now) = self.windows.look()? else { return Ok(false) };
        let limits = &self.guarding.limits;
        let none = AlgorithmInterval::default();
        let fallback = Measures::of(limits, now.get(&limits.fallback).unwrap_or(&none));
        let mut names = Instance::names()?;
        let canaries = canary::all()?; // whoever watches them ends them
        names.retain(|name| self.guarding.watches(name) && trips.iter().all(|trip| trip.name != *name));
        names.retain(|name| canaries.iter().all(|canary| canary.candidate != *name));
        self.histories.retain(|name, _| names.contains(name));
        let mut has_tripped = false;
        for name in names {
            let own = Measures::of(&self.guarding.limits, now.get(&name).unwrap_or(&none));
            has_tripped |= self.judge(&name, &Window { own, fallback })?;
        }
        self.ended += 1;
        Ok(has_tripped)
    }

    fn judge(&mut self, name: &str, window: &Window) -> anyhow::Result<bool> {
        let limits = &self.guarding.limits;
        let history = self.histories.entry(name.to_owned()).or_default();
        if history.len() >= limits.windows as usize {
            history.pop_front();
        }
        history.push_back(*window);
        if window.own.all.impossible > 0 {
            // without numbers: the log leaves out what it has said within the last minute
            tracing::warn!(
                "guard: {name}: connections with impossible windows are not counted: ccctl guard shows how many"
            );
        }
        match judge(limits, history.make_contiguous()) {
            Verdict::TooFew => Ok(false),
            Verdict::Good => {
                let of_few = of_few(limits, window).join(", ");
                if !of_few.is_empty() {
                    let text = format!("not counted, since it comes from few peers, one user or one cgroup: {of_few}");
                    tracing::warn!("guard: {name}: {text}");
                    self.note(EventKind::Guard, name, text);
                }
                Ok(false)
            }
            Verdict::Bad(in_a_row) => {
                COUNTERS.guard_bad_windows.add(1);
                let why = complaints(limits, window).join(", ");
                let text = format!("bad interval {in_a_row} of {}: {why}", limits.windows);
                tracing::warn!("guard: {name}: {text}");
                self.note(EventKind::Guard, name, text);
                Ok(false)
            }
            Verdict::Trip(complaints) => {
                COUNTERS.guard_bad_windows.add(1);
                self.trip(name, &complaints.join(", ")).map(|()| true)
            }
        }
    }

    fn trip(&mut self, name: &str, why: &str) -> anyhow::Result<()> {
        let limits = &self.guarding.limits;
        let why = format!("{why} in interval {} of {}", limits.windows, output::span(limits.every()));
        let trip = Trip {
            name: name.to_owned(),
            fallback: limits.fallback.clone(),
            since: SystemTime::now(),
            why: why.clone(),
        };
        let lock = request::lock()?;
        set(&lock, &trip)?;
        self.histories.remove(name);
        COUNTERS.guard_trips.add(1);
        let done = divert(&lock, &trip);
        if let Ok(done) = &done {
            COUNTERS.moved(&done.migration);
        }
        drop(lock);
        let what = done.as_ref().map_or_else(|error| format!("not everything was moved: {error}"), told);
        tracing::error!("guard: {name} is disabled, failed over to {}: {why}; {what}", trip.fallback);
        self.note(EventKind::Disabled, name, format!("disabled, failed over to {}: {why}; {what}", trip.fallback));
        Ok(())
    }

    /// Applications may name the instance themselves, and a kill may have come before all was moved.
    fn hold(&mut self, trip: &Trip) -> anyhow::Result<()> {
        let done = divert(&request::lock()?, trip)?;
        if done.rules + done.defaults + done.migration.moved > 0 {
            COUNTERS.moved(&done.migration);
            let what = told(&done);
            tracing::info!("guard: {} is still disabled: {what}", trip.name);
            self.note(EventKind::Guard, &trip.name, format!("still disabled: {what}"));
        }
        Ok(())
    }

    fn note(&mut self, kind: EventKind, name: &str, text: String) {
        self.journal.note(News::new(kind, name, &text));
        if self.events.len() >= EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(GuardEvent { at: super::state::now(), name: name.to_owned(), text });
    }

    /// For `ccctl guard`.
    pub fn report(&self) -> GuardReport {
        let limits = &self.guarding.limits;
        let fallback = self.histories.values().find_map(|history| history.back()).map(|window| window.fallback.all);
        let one = |(name, history): (&String, &VecDeque<Window>)| {
            let windows: Vec<Window> = history.iter().copied().collect();
            let last = windows.last().map(|window| window.own.all).unwrap_or_default();
            let bad = match judge(limits, &windows) {
                Verdict::Bad(in_a_row) => in_a_row,
                Verdict::Trip(_) => limits.windows,
                Verdict::TooFew | Verdict::Good => 0,
            };
            GuardedInstance {
                name: name.clone(),
                is_judged: has_enough(last, limits.min_connections),
                bad_windows: bad,
                window: last,
            }
        };
        GuardReport {
            limits: limits.clone(),
            left_out: self.guarding.left_out.clone(),
            window_count: self.ended,
            fallback_window: fallback,
            watched: self.histories.iter().map(one).collect(),
            events: self.events.iter().cloned().collect(),
        }
    }
}

fn has_enough(window: IntervalStats, min_connections: u32) -> bool {
    window.active >= min_connections.into()
}

fn told(done: &Diverted) -> String {
    let migration = &done.migration;
    let mut parts = vec![format!("moved {} of {}", migration.moved, output::count(migration.found, "socket"))];
    if done.rules > 0 {
        parts.push(format!("changed {}", output::count(done.rules, "rule")));
    }
    if done.defaults > 0 {
        parts.push(format!("changed {}", output::count(done.defaults, "default")));
    }
    parts.join(", ")
}
