// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab run` and `ccctl lab sweep`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

use ccctl_console::{output, Exit, UsageError};
use ccctl_lab::backend::{Backend, PathKind, Sim};
use ccctl_lab::report::{keep_command, report as draw};
use ccctl_lab::run::{check, record_runs, take_recorded, Options, Shard};
use ccctl_lab::scenario::Scenario;
use schemars::JsonSchema;
use serde::Serialize;

use super::kernel::{self, Kernel};
use super::runner::Runner;
use super::task::{self, Own, Queue, Task};
use super::{browser, command, compare, fault, load, own_algorithm, text};
use crate::arguments::{BackendChoice, Choice, PathChoice, Run, SeriesChoice, Sweep};

/// What was run.
#[derive(Serialize, JsonSchema)]
pub struct Results<'a> {
    /// Of each scenario and backend.
    results: &'a [text::Outcome],
}

pub fn run(arguments: &Run) -> anyhow::Result<Exit> {
    let own = own_algorithms(&arguments.choice)?;
    run_all(&task::queues(arguments, &own), &arguments.choice)
}

pub fn sweep(arguments: &Sweep) -> anyhow::Result<Exit> {
    let own = own_algorithms(&arguments.choice)?;
    run_all(&task::queues_of_sweep(arguments, &own), &arguments.choice)
}

/// Makes users' algorithms known.
fn own_algorithms(choice: &Choice) -> anyhow::Result<Vec<Own>> {
    let add = |file: &String| {
        let name = own_algorithm::add(file, choice.trust_writable)?.name().to_owned();
        Ok(Own { name, file: file.clone() })
    };
    choice.algorithm.iter().map(add).collect()
}

fn run_all(queues: &[Queue<'_>], choice: &Choice) -> anyhow::Result<Exit> {
    let kernel = Kernel::new(choice.late, path(choice.path), is_shared(queues));
    let backends: &[&dyn Backend] = match choice.backend {
        BackendChoice::Sim => &[&Sim],
        BackendChoice::Netns => &[&kernel],
        BackendChoice::Both if queues.len() > 1 => return Err(beside_both().into()),
        BackendChoice::Both => &[&Sim, &kernel],
    };
    // What is wrong with the last is said before the first is run.
    check_all(queues, backends)?;
    let shard = choice.shard.as_deref().map(str::parse::<Shard>).transpose().map_err(fault::of_run)?;
    if choice.backend != BackendChoice::Sim {
        kernel::require(path(choice.path))?;
    }
    let all = All { choice, backends, shard, runner: Runner::new()? };
    all.end(&all.at_once(queues)?)
}

fn beside_both() -> UsageError {
    UsageError::new("--beside needs a single backend: the simulator would delay runs on the kernel", "--backend netns")
}

/// Do several runs have the machine at once?
fn is_shared(queues: &[Queue<'_>]) -> bool {
    queues.len() > 1 || queues.iter().flatten().any(|task| task.part.jobs.is_some_and(|jobs| jobs > 1))
}

/// Can all be run, and has each folder one queue that writes there?
fn check_all(queues: &[Queue<'_>], backends: &[&dyn Backend]) -> anyhow::Result<()> {
    let mut queue_of = BTreeMap::new();
    for (number, task) in queues.iter().enumerate().flat_map(|(number, queue)| queue.iter().map(move |it| (number, it)))
    {
        let scenario = load::load(task)?.scenario;
        for backend in backends {
            check(&scenario, *backend).map_err(fault::of_run)?;
        }
        let name = scenario.folder_name();
        if *queue_of.entry(name.clone()).or_insert(number) != number {
            let cause = format!("--beside {}: another task already runs {name}", task.name);
            return Err(UsageError::new(cause, "use one task for all of them, with several --only").into());
        }
    }
    Ok(())
}

fn path(asked: PathChoice) -> PathKind {
    match asked {
        PathChoice::Emulator => PathKind::Emulator,
        PathChoice::Netem => PathKind::Netem,
    }
}

/// What is common to all runs of a command.
struct All<'a> {
    choice: &'a Choice,
    backends: &'a [&'a dyn Backend],
    shard: Option<Shard>,
    runner: Runner,
}

impl All<'_> {
    /// Every queue in a thread of its own; one that fails ends the others.
    fn at_once(&self, queues: &[Queue<'_>]) -> anyhow::Result<Vec<text::Outcome>> {
        let results: anyhow::Result<Vec<_>> = thread::scope(|scope| {
            let threads: Vec<_> = queues.iter().map(|queue| scope.spawn(|| self.one_by_one(queue))).collect();
            let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
            joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        Ok(results?.into_iter().flatten().collect())
    }

    fn one_by_one(&self, queue: &[Task<'_>]) -> anyhow::Result<Vec<text::Outcome>> {
        let mut results = Vec::new();
        for task in queue {
            let of_task = self.run_task(task).inspect_err(|_| self.runner.cancel())?;
            let is_stopped = of_task.iter().any(|result| result.cancelled);
            results.extend(of_task);
            if is_stopped {
                break;
            }
        }
        Ok(results)
    }

    /// With every backend.
    fn run_task(&self, task: &Task<'_>) -> anyhow::Result<Vec<text::Outcome>> {
        let mut results: Vec<text::Outcome> = Vec::new();
        for backend in self.backends {
            results.push(self.run_one(task, *backend)?);
            if results.iter().any(|result| result.cancelled) {
                return Ok(results);
            }
        }
        if let ([sim, kernel], None) = (&results[..], self.shard) {
            let page = compare::page_of_both(&sim.folder, &kernel.folder)?;
            self.show(&page);
            if !self.choice.output.json {
                output::line(&format!("  both: {}", page.display()))?;
            }
        }
        Ok(results)
    }

    fn run_one(&self, task: &Task<'_>, backend: &dyn Backend) -> anyhow::Result<text::Outcome> {
        let loaded = load::load(task)?;
        let options = Options {
            out: self.folder(&loaded.scenario, backend),
            jobs: task.part.jobs.map_or_else(|| backend.usual_jobs(), usize::from),
            shard: self.shard,
            series: self.choice.series == SeriesChoice::Csv,
            retries: self.choice.retries,
            commit: self.choice.commit.clone(),
        };
        if let Some(recorded) = &self.choice.recorded {
            take_recorded(recorded, &loaded.scenario, backend, &options.out).map_err(fault::of_run)?;
        }
        let report = self.runner.carry_out(&loaded.scenario, backend, &options)?;
        if let Some(recorded) = &self.choice.recorded {
            record_runs(recorded, &loaded.scenario, backend, &options.out).map_err(fault::of_run)?;
        }
        let text = command::text(task, backend, self.choice.path);
        keep_command(&options.out, &text).map_err(fault::of_run)?;
        let is_page = !report.cancelled && self.shard.is_none();
        let page = is_page.then(|| draw(&options.out)).transpose().map_err(fault::of_run)?;
        if let (Some(page), false) = (&page, self.choice.backend == BackendChoice::Both) {
            self.show(page);
        }
        let result = text::Outcome::new(&report, &options.out, page, self.shard);
        if !self.choice.output.json {
            self.runner.bars.suspend(|| result.print())?;
        }
        Ok(result)
    }

    fn show(&self, page: &Path) {
        if self.choice.open {
            browser::show(page);
        }
    }

    /// Runs on the kernel are no continuation of those in the simulator: they have a folder of their own.
    fn folder(&self, scenario: &Scenario, backend: &dyn Backend) -> PathBuf {
        if backend.is_deterministic() {
            self.choice.out.join(scenario.folder_name())
        } else {
            self.choice.out.join(format!("{}-{}", scenario.folder_name(), backend.name()))
        }
    }

    fn end(&self, results: &[text::Outcome]) -> anyhow::Result<Exit> {
        if self.choice.output.json {
            output::json(&Results { results })?;
        }
        let is_whole = results.iter().all(|result| !result.cancelled && result.invalid.is_empty());
        Ok(if is_whole { Exit::Done } else { Exit::Partial })
    }
}
