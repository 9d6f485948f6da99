// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab repeat`

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ccctl_console::{output, Exit, Stop};
use ccctl_lab::backend::{Backend as _, Sim};
use ccctl_lab::run::{check_room, draw, recorded_files, repeat, Draw, Drawn, Recorded, RunError};
use schemars::JsonSchema;
use serde::Serialize;

use super::load::{self, Loaded};
use super::{effort, fault};
use crate::arguments::Repeat as Arguments;

/// Between two looks at Ctrl-C.
const TICK: Duration = Duration::from_millis(100);

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Of the draw: with it the same runs are drawn.
    seed: u64,
    /// Runs that are recorded,
    recorded: usize,
    /// that were drawn,
    drawn: usize,
    /// and that were made again.
    ran: usize,
    /// Those that gave something else.
    differing: Vec<Differing>,
    /// Files of runs that no scenario has any more.
    unused_files: Vec<PathBuf>,
    /// Stopped before all were made.
    cancelled: bool,
}

/// A run that did not give what is recorded.
#[derive(Debug, Serialize, JsonSchema)]
struct Differing {
    scenario: String,
    /// Name of the run in its folder: `p00001-r1`.
    run_name: String,
    grid_point: String,
    /// What is recorded of it.
    file: PathBuf,
    what_differs: String,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let choice = &arguments.choice;
    let loaded = load::variants(&choice.scenarios)?;
    let known = loaded.iter().map(|it| Recorded::of(&choice.recorded, &it.scenario, &Sim));
    let known = known.collect::<Result<Vec<_>, RunError>>().map_err(fault::of_run)?;
    let seed = arguments.seed.unwrap_or_else(of_the_time);
    let budget_s = arguments.budget.map(|budget| budget.as_secs_f64());
    let drawn = draw(&known, Draw { share: arguments.share / 100.0, budget_s, seed });
    let (differing, ran) = repeat_all(arguments, &loaded, &known, &drawn)?;
    let unused_files = if choice.scenarios.is_empty() { unused(&choice.recorded, &known)? } else { Vec::new() };
    let recorded = known.iter().map(|it| it.runs.len()).sum();
    let cancelled = ran < drawn.len();
    let answer = Answer { seed, recorded, drawn: drawn.len(), ran, differing, unused_files, cancelled };
    if choice.output.json {
        output::json(&answer)?;
    } else {
        print(&answer, &known, &drawn)?;
    }
    let is_good = answer.differing.is_empty() && answer.unused_files.is_empty() && !cancelled;
    Ok(if is_good { Exit::Done } else { Exit::Partial })
}

fn of_the_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// What differs, and how many were made.
fn repeat_all(
    arguments: &Arguments,
    loaded: &[Loaded],
    known: &[Recorded],
    drawn: &[Drawn],
) -> anyhow::Result<(Vec<Differing>, usize)> {
    let jobs = arguments.jobs.map_or_else(|| Sim.usual_jobs(), usize::from).min(drawn.len());
    for scenario in drawn.iter().map(|one| one.scenario).collect::<BTreeSet<_>>() {
        check_room(&loaded[scenario].scenario, jobs).map_err(fault::of_run)?;
    }
    let results = repeat_in_parallel(loaded, known, drawn, jobs)?;
    let (mut differing, ran) = (Vec::new(), results.len());
    for (number, result) in results {
        let Some(what_differs) = result.map_err(fault::of_run)? else { continue };
        let one = &drawn[number];
        let (scenario, recorded) = (&loaded[one.scenario].scenario, &known[one.scenario]);
        let place = recorded.runs[&one.id].record.place.iter();
        differing.push(Differing {
            scenario: scenario.folder_name(),
            run_name: one.id.name(),
            grid_point: place.map(|(axis, value)| format!("{axis} = {value}")).collect::<Vec<_>>().join(", "),
            file: arguments.choice.recorded.join(recorded.file_name()),
            what_differs,
        });
    }
    Ok((differing, ran))
}

/// What differs in each run that was made, by its number among those drawn; the rest were not begun after an error or Ctrl-C.
fn repeat_in_parallel(
    loaded: &[Loaded],
    known: &[Recorded],
    drawn: &[Drawn],
    jobs: usize,
) -> anyhow::Result<BTreeMap<usize, Result<Option<String>, RunError>>> {
    let (stop, cancel) = (Stop::listen()?, AtomicBool::new(false));
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        while let Some((number, one)) = next_of(&next, drawn) {
            let result = repeat(&loaded[one.scenario].scenario, &Sim, &known[one.scenario], one.id, &cancel);
            if cancel.load(Ordering::SeqCst) {
                return; // in the middle of it
            }
            if result.is_err() {
                next.store(drawn.len(), Ordering::SeqCst);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner).insert(number, result);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        while !workers.iter().all(ScopedJoinHandle::is_finished) {
            if stop.is_wanted().unwrap_or(true) {
                cancel.store(true, Ordering::SeqCst);
                next.store(drawn.len(), Ordering::SeqCst);
            }
            thread::sleep(TICK);
        }
    });
    Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn next_of<'a>(next: &AtomicUsize, drawn: &'a [Drawn]) -> Option<(usize, &'a Drawn)> {
    let number = next.fetch_add(1, Ordering::SeqCst);
    drawn.get(number).map(|one| (number, one))
}

/// Files that are of none of these.
fn unused(folder: &std::path::Path, known: &[Recorded]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = recorded_files(folder).map_err(fault::of_run)?;
    let is_of_simulator = |file: &PathBuf| {
        Ok(Recorded::read(file)?.is_some_and(|it| {
            it.experiment.backend == "sim" && !known.iter().any(|one| one.experiment == it.experiment)
        }))
    };
    let mut unused = Vec::new();
    for file in files.drain(..) {
        if is_of_simulator(&file).map_err(fault::of_run)? {
            unused.push(file);
        }
    }
    Ok(unused)
}

fn print(answer: &Answer, known: &[Recorded], drawn: &[Drawn]) -> anyhow::Result<()> {
    let processor_s: f64 = drawn.iter().map(|one| known[one.scenario].runs[&one.id].made.processor_s).sum();
    output::line(&format!(
        "seed {}: {} of {} recorded runs repeated (recorded with {} of processor time)",
        answer.seed,
        answer.ran,
        answer.recorded,
        effort::rough(processor_s)
    ))?;
    for one in &answer.differing {
        let Differing { scenario, run_name, grid_point, file, what_differs } = one;
        output::line(&format!("differs: {scenario} {run_name} ({grid_point}) in {}: {what_differs}", file.display()))?;
    }
    for file in &answer.unused_files {
        output::line(&format!("unused: {}: no scenario makes these runs any more; remove it", file.display()))?;
    }
    match (answer.recorded, answer.differing.len()) {
        _ if answer.cancelled => output::line("stopped before the end"),
        (0, _) => output::line("nothing is recorded"),
        (_, 0) => output::line("all results are the same, byte for byte"),
        (_, others) => output::line(&format!("{others} of {} runs gave another result", answer.ran)),
    }
}
