// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab plan`

use std::collections::BTreeMap;

use ccctl_console::{output, Exit};
use ccctl_lab::backend::{Backend as _, Sim};
use ccctl_lab::run::{holds_runs_of, is_done, made_of, units, Recorded, RunError, UnitId};
use ccctl_lab::scenario::Scenario;
use schemars::JsonSchema;
use serde::Serialize;

use super::effort::{self, rough};
use super::kernel_plan::{self, Places};
use super::{fault, load};
use crate::arguments::Plan as Arguments;

/// Which runs are there, and what the others take.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// A scenario each, exact or with the noise of its testbed, then those on the kernel.
    planned_scenarios: Vec<Row>,
    /// Processors of the times below.
    jobs: usize,
    /// For the simulated runs that are missing, on one processor,
    missing_s: f64,
    /// and on all.
    missing_parallel_s: f64,
    /// For all simulated runs, on one processor,
    all_s: f64,
    /// and on all.
    all_parallel_s: f64,
    /// For runs on the kernel that are missing: time on the wall,
    kernel_missing_s: f64,
    /// and for all of them.
    kernel_all_s: f64,
}

/// A scenario.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Row {
    pub(super) scenario: String,
    /// `exact`, `testbed` or `kernel`.
    pub(super) variant: String,
    /// Runs that it has,
    pub(super) runs: usize,
    /// that are there,
    pub(super) there: usize,
    /// and whose time was measured; that of the others is an estimate.
    pub(super) measured_runs: usize,
    /// All of them.
    pub(super) planned_runs: Vec<PlannedRun>,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlannedRun {
    /// `p00001-r1`
    pub(super) run_name: String,
    pub(super) grid_point: String,
    pub(super) is_there: bool,
    /// The time was measured, when it was made.
    pub(super) is_measured: bool,
    /// Of one processor; on the kernel, on the wall.
    pub(super) takes_s: f64,
}

impl Row {
    fn sum(&self, which: impl Fn(&PlannedRun) -> bool) -> f64 {
        // The sum of none would be -0.
        self.planned_runs.iter().filter(|run| which(run)).fold(0.0, |sum, run| sum + run.takes_s)
    }

    pub(super) fn missing_s(&self) -> f64 {
        self.sum(|run| !run.is_there)
    }

    pub(super) fn all_s(&self) -> f64 {
        self.sum(|_| true)
    }
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let jobs = arguments.jobs.map_or_else(|| Sim.usual_jobs(), usize::from);
    let mut plan = simulated(arguments)?;
    let on_processors = |which: fn(&PlannedRun) -> bool| parallel_s(&plan, which, jobs);
    let mut answer = Answer {
        jobs,
        missing_s: plan.iter().map(Row::missing_s).sum(),
        missing_parallel_s: on_processors(|run| !run.is_there),
        all_s: plan.iter().map(Row::all_s).sum(),
        all_parallel_s: on_processors(|_| true),
        planned_scenarios: Vec::new(),
        kernel_missing_s: 0.0,
        kernel_all_s: 0.0,
    };
    if let Some(list) = &arguments.kernel_list {
        let places = Places { recorded: &arguments.choice.recorded, out: &arguments.out };
        let rows = kernel_plan::rows(list, places, &arguments.choice.scenarios)?;
        answer.kernel_missing_s = rows.iter().map(Row::missing_s).sum();
        answer.kernel_all_s = rows.iter().map(Row::all_s).sum();
        plan.extend(rows);
    }
    answer.planned_scenarios = plan;
    if arguments.choice.output.json {
        output::json(&answer)?;
    } else if arguments.each {
        print_each(&answer)?;
    } else {
        print(&answer)?;
    }
    Ok(Exit::Done)
}

/// At least the longest run, and at least an even share of all.
fn parallel_s(plan: &[Row], which: fn(&PlannedRun) -> bool, jobs: usize) -> f64 {
    let runs = plan.iter().flat_map(|row| &row.planned_runs).filter(|run| which(run));
    let (sum_s, longest_s) =
        runs.fold((0.0, 0.0_f64), |(sum, longest), run| (sum + run.takes_s, longest.max(run.takes_s)));
    longest_s.max(sum_s / jobs as f64)
}

/// What is known of a run.
struct Known<'a> {
    scenario: &'a Scenario,
    there: BTreeMap<UnitId, bool>,
    measured_s: BTreeMap<UnitId, f64>,
    packets: BTreeMap<usize, f64>,
}

fn simulated(arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let loaded = load::variants(&arguments.choice.scenarios)?;
    let known = loaded.iter().map(|it| known(arguments, &it.scenario)).collect::<Result<Vec<_>, RunError>>();
    let known = known.map_err(fault::of_run)?;
    let of_all = s_per_packet(known.iter()).unwrap_or(effort::processor_s(1.0));
    Ok(known.iter().map(|it| row(it, s_per_packet(std::iter::once(it)).unwrap_or(of_all))).collect())
}

fn known<'a>(arguments: &Arguments, scenario: &'a Scenario) -> Result<Known<'a>, RunError> {
    let recorded = Recorded::of(&arguments.choice.recorded, scenario, &Sim)?;
    let out = arguments.out.join(scenario.folder_name());
    let has_folder = holds_runs_of(&out, scenario, &Sim)?;
    let (mut there, mut measured_s) = (BTreeMap::new(), BTreeMap::new());
    for id in units(scenario) {
        let run = recorded.usable(id);
        there.insert(id, run.is_some() || has_folder && is_done(&out, id));
        let made = match run {
            Some(run) => Some(run.made.clone()),
            None if has_folder => made_of(&out, id)?,
            None => None,
        };
        measured_s.extend(made.map(|made| (id, made.processor_s)));
    }
    let packets = scenario.points.iter().map(|point| (point.index, effort::packets(&point.setup))).collect();
    Ok(Known { scenario, there, measured_s, packets })
}

/// By the runs whose time was measured; none without one.
fn s_per_packet<'a>(known: impl Iterator<Item = &'a Known<'a>>) -> Option<f64> {
    let of_one = |it: &'a Known<'a>| it.measured_s.iter().map(|(id, time_s)| (*time_s, it.packets[&id.point]));
    let (time_s, packets) = known.flat_map(of_one).fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    (time_s > 0.0 && packets > 0.0).then(|| time_s / packets)
}

fn row(known: &Known<'_>, s_per_packet: f64) -> Row {
    let Known { scenario, there, measured_s, packets } = known;
    let position = |point: usize| &scenario.points.iter().find(|it| it.index == point).expect("of this").position;
    let run = |(id, is_there): (&UnitId, &bool)| PlannedRun {
        run_name: id.name(),
        grid_point: scenario.label(position(id.point)),
        is_there: *is_there,
        is_measured: measured_s.contains_key(id),
        takes_s: measured_s.get(id).copied().unwrap_or_else(|| packets[&id.point] * s_per_packet),
    };
    Row {
        scenario: scenario.name.clone(),
        variant: if scenario.is_testbed { "testbed" } else { "exact" }.to_owned(),
        runs: there.len(),
        there: there.values().filter(|it| **it).count(),
        measured_runs: measured_s.len(),
        planned_runs: there.iter().map(run).collect(),
    }
}

fn print_each(answer: &Answer) -> anyhow::Result<()> {
    let of_row = |row: &Row| {
        let run = |run: &PlannedRun| {
            let state = if run.is_there { "there" } else { "missing" };
            let by = if run.is_measured { "measured" } else { "estimate" };
            [&row.scenario, &row.variant, &run.run_name, state, &rough(run.takes_s), by, &run.grid_point]
                .map(str::to_owned)
                .to_vec()
        };
        row.planned_runs.iter().map(run).collect::<Vec<_>>()
    };
    let rows = answer.planned_scenarios.iter().flat_map(of_row).collect();
    output::table(&["SCENARIO", "VARIANT", "RUN", "STATE", "TIME", "BY", "PLACE"], rows)
}

fn print(answer: &Answer) -> anyhow::Result<()> {
    let cells = |row: &Row| {
        let missing = row.runs - row.there;
        let numbers = [row.runs, row.there, missing, row.measured_runs].map(|number| number.to_string());
        let times = [rough(row.missing_s()), rough(row.all_s())];
        [&[row.scenario.clone(), row.variant.clone()][..], &numbers, &times].concat()
    };
    output::table(
        &["SCENARIO", "VARIANT", "RUNS", "THERE", "MISSING", "MEASURED", "TIME FOR MISSING", "TIME FOR ALL"],
        answer.planned_scenarios.iter().map(cells).collect(),
    )?;
    let Answer { jobs, missing_s, missing_parallel_s, all_s, all_parallel_s, .. } = answer;
    output::line(&format!(
        "simulator: missing runs take {} on 1 processor, {} on {jobs}; all runs {} and {}",
        rough(*missing_s),
        rough(*missing_parallel_s),
        rough(*all_s),
        rough(*all_parallel_s)
    ))?;
    if answer.kernel_all_s > 0.0 {
        let (missing_s, all_s) = (answer.kernel_missing_s, answer.kernel_all_s);
        output::line(&format!("kernel: missing runs take {}, all runs {}", rough(missing_s), rough(all_s)))?;
    }
    output::line("Times of runs that were not measured are estimates by their packets.")
}
