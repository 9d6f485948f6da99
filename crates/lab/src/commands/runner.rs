// SPDX-License-Identifier: GPL-2.0-only
//! Runs of scenarios that can be stopped, and that show where they are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ccctl_console::Stop;
use ccctl_lab::backend::Backend;
use ccctl_lab::run::{run as run_lab, Options, Report, RunError};
use ccctl_lab::scenario::Scenario;
use indicatif::MultiProgress;

use super::effort::Effort;
use super::fault;
use super::progress::Progress;

/// Between two looks at Ctrl-C and the bar.
const TICK: Duration = Duration::from_millis(100);

/// What all runs of a command share.
pub struct Runner {
    stop: Stop,
    cancel: AtomicBool, // all of them
    pub bars: MultiProgress,
}

impl Runner {
    /// From now on, Ctrl-C stops the runs instead of the program.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self { stop: Stop::listen()?, cancel: AtomicBool::new(false), bars: MultiProgress::new() })
    }

    /// Stops all runs.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::SeqCst);
    }

    /// Runs it in another thread, while this one looks at signals and shows where it is.
    pub fn carry_out(&self, scenario: &Scenario, backend: &dyn Backend, options: &Options) -> anyhow::Result<Report> {
        let jobs = options.jobs;
        let effort = if backend.is_deterministic() { Effort::Work } else { Effort::Time { jobs } };
        let progress = Progress::new(scenario, options.shard, &options.out, effort, &self.bars);
        let result: Result<Report, RunError> = thread::scope(|scope| {
            let work = scope.spawn(|| run_lab(scenario, backend, options, &|step| progress.step(&step), &self.cancel));
            while !work.is_finished() {
                // If signals cannot be read, nobody could stop it: stop.
                if self.stop.is_wanted().unwrap_or(true) {
                    self.cancel();
                }
                progress.show();
                thread::sleep(TICK);
            }
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        progress.finish();
        result.map_err(fault::of_run)
    }
}
