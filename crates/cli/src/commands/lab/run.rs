//! `ccctl lab run` and `ccctl lab sweep`

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ccctl_lab::backend::Sim;
use ccctl_lab::report::{keep_command, report as draw};
use ccctl_lab::run::{run as run_lab, Options, Report, RunError, SeriesFormat, Shard};
use ccctl_lab::scenario::Scenario;

use super::progress::Progress;
use super::{command, fault, load, text};
use crate::arguments::{LabBackend, LabChoice, LabRun, LabSeries, LabSweep};
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
    // What is wrong with the last is said before the first is run.
    for name in names {
        load::load(name, axes, choice)?;
    }
    let shard = choice.shard.as_deref().map(str::parse::<Shard>).transpose().map_err(fault::of_run)?;
    let stop = Stop::listen()?;
    let mut results = Vec::new();
    for name in names {
        let loaded = load::load(name, axes, choice)?;
        let options = Options {
            out: choice.out.join(&loaded.scenario.name),
            jobs: jobs(choice),
            shard,
            series: match choice.series {
                LabSeries::Parquet => Some(SeriesFormat::Parquet),
                LabSeries::Csv => Some(SeriesFormat::Csv),
                LabSeries::None => None,
            },
        };
        let report = run_one(&loaded.scenario, choice.backend, &options, &stop)?;
        let cancelled = report.cancelled;
        keep_command(&options.out, &command::text(name, axes, choice)).map_err(fault::of_run)?;
        let is_page = !cancelled && shard.is_none();
        let page = is_page.then(|| draw(&options.out)).transpose().map_err(fault::of_run)?;
        let result = text::Outcome::new(&report, &options.out, page, shard);
        if !choice.output.json {
            output::line(result.text().trim_end())?;
        }
        results.push(result);
        if cancelled {
            break;
        }
    }
    if choice.output.json {
        output::json(&results)?;
    }
    let is_whole = results.len() == names.len() && results.iter().all(|result| !result.cancelled);
    Ok(if is_whole { Exit::Done } else { Exit::Partly })
}

fn jobs(choice: &LabChoice) -> usize {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    choice.jobs.map_or_else(processors, usize::from)
}

/// Runs it in another thread, while this one looks at signals and shows where it is.
fn run_one(scenario: &Scenario, backend: LabBackend, options: &Options, stop: &Stop) -> anyhow::Result<Report> {
    let backend = match backend {
        LabBackend::Sim => Sim,
    };
    let progress = Progress::new(scenario, options.shard, &options.out);
    let cancel = AtomicBool::new(false);
    let result: Result<Report, RunError> = thread::scope(|scope| {
        let work = scope.spawn(|| run_lab(scenario, &backend, options, &|step| progress.step(step), &cancel));
        while !work.is_finished() {
            // If signals cannot be read, nobody could stop it: stop.
            if stop.is_wanted().unwrap_or(true) {
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
