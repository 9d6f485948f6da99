//! `ccctl lab run` and `ccctl lab sweep`

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ccctl_lab::backend::{Backend, PathKind, Sim};
use ccctl_lab::report::{keep_command, report as draw};
use ccctl_lab::run::{check, run as run_lab, Options, Report, RunError, SeriesFormat, Shard};
use ccctl_lab::scenario::Scenario;

use super::effort::Effort;
use super::kernel::{self, Kernel};
use super::progress::Progress;
use super::{browser, command, compare, fault, load, text};
use crate::arguments::{LabBackend, LabChoice, LabPath, LabRun, LabSeries, LabSweep};
use crate::commands::acks::stop::Stop;
use crate::exit::Exit;
use crate::output;

/// Between two looks at Ctrl-C and the bar.
const TICK: Duration = Duration::from_millis(100);

pub fn run(arguments: &LabRun) -> anyhow::Result<Exit> {
    run_all(&arguments.scenarios, &[], &arguments.choice)
}

pub fn sweep(arguments: &LabSweep) -> anyhow::Result<Exit> {
    run_all(std::slice::from_ref(&arguments.scenario), &arguments.axis, &arguments.choice)
}

fn run_all(names: &[String], axes: &[String], choice: &LabChoice) -> anyhow::Result<Exit> {
    let kernel = Kernel::new(choice.late, path(choice.path), choice.jobs.is_some_and(|jobs| jobs > 1));
    let backends: &[&dyn Backend] = match choice.backend {
        LabBackend::Sim => &[&Sim],
        LabBackend::Netns => &[&kernel],
        LabBackend::Both => &[&Sim, &kernel],
    };
    // What is wrong with the last is said before the first is run.
    for name in names {
        let loaded = load::load(name, axes, choice)?;
        for backend in backends {
            check(&loaded.scenario, *backend).map_err(fault::of_run)?;
        }
    }
    let shard = choice.shard.as_deref().map(str::parse::<Shard>).transpose().map_err(fault::of_run)?;
    if choice.backend != LabBackend::Sim {
        kernel::require(path(choice.path))?;
    }
    let all = All { axes, choice, shard, stop: Stop::listen()? };
    let mut results = Vec::new();
    for name in names {
        let mut folders = Vec::new();
        for backend in backends {
            let result = all.run_one(name, *backend)?;
            let is_stopped = result.cancelled;
            folders.push(result.folder.clone());
            results.push(result);
            if is_stopped {
                return all.end(&results);
            }
        }
        if let ([sim, kernel], None) = (&folders[..], shard) {
            let page = compare::page_of_both(sim, kernel)?;
            all.show(&page);
            if !choice.output.json {
                output::line(&format!("  both: {}", page.display()))?;
            }
        }
    }
    all.end(&results)
}

fn path(asked: LabPath) -> PathKind {
    match asked {
        LabPath::Emulator => PathKind::Emulator,
        LabPath::Netem => PathKind::Netem,
    }
}

/// What is common to all runs of a command.
struct All<'a> {
    axes: &'a [String],
    choice: &'a LabChoice,
    shard: Option<Shard>,
    stop: Stop,
}

impl All<'_> {
    fn run_one(&self, name: &str, backend: &dyn Backend) -> anyhow::Result<text::Outcome> {
        let loaded = load::load(name, self.axes, self.choice)?;
        let options = Options {
            out: self.folder(&loaded.scenario, backend),
            jobs: self.choice.jobs.map_or_else(|| backend.usual_jobs(), usize::from),
            shard: self.shard,
            series: match self.choice.series {
                LabSeries::Parquet => Some(SeriesFormat::Parquet),
                LabSeries::Csv => Some(SeriesFormat::Csv),
                LabSeries::None => None,
            },
            retries: self.choice.retries,
        };
        let report = self.carry_out(&loaded.scenario, backend, &options)?;
        let text = command::text(name, self.axes, backend, self.choice);
        keep_command(&options.out, &text).map_err(fault::of_run)?;
        let is_page = !report.cancelled && self.shard.is_none();
        let page = is_page.then(|| draw(&options.out)).transpose().map_err(fault::of_run)?;
        if let (Some(page), false) = (&page, self.choice.backend == LabBackend::Both) {
            self.show(page);
        }
        let result = text::Outcome::new(&report, &options.out, page, self.shard);
        if !self.choice.output.json {
            output::line(result.text().trim_end())?;
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
            self.choice.out.join(&scenario.name)
        } else {
            self.choice.out.join(format!("{}-{}", scenario.name, backend.name()))
        }
    }

    /// Runs it in another thread, while this one looks at signals and shows where it is.
    fn carry_out(&self, scenario: &Scenario, backend: &dyn Backend, options: &Options) -> anyhow::Result<Report> {
        let jobs = options.jobs;
        let effort = if backend.is_deterministic() { Effort::Work } else { Effort::Time { jobs } };
        let progress = Progress::new(scenario, options.shard, &options.out, effort);
        let cancel = AtomicBool::new(false);
        let result: Result<Report, RunError> = thread::scope(|scope| {
            let work = scope.spawn(|| run_lab(scenario, backend, options, &|step| progress.step(step), &cancel));
            while !work.is_finished() {
                // If signals cannot be read, nobody could stop it: stop.
                if self.stop.is_wanted().unwrap_or(true) {
                    cancel.store(true, Ordering::SeqCst);
                }
                progress.show();
                thread::sleep(TICK);
            }
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        progress.finish();
        result.map_err(fault::of_run)
    }

    fn end(&self, results: &[text::Outcome]) -> anyhow::Result<Exit> {
        if self.choice.output.json {
            output::json(&results)?;
        }
        let is_whole = results.iter().all(|result| !result.cancelled && result.invalid.is_empty());
        Ok(if is_whole { Exit::Done } else { Exit::Partly })
    }
}
