// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps the host as the file has it: compares at the start, when the file is read again, when it is asked to, after each
//! change through the API, and when a look at the kernel shows that something has changed behind its back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ccctl_console::{cause, Fault};
use ccctl_loader::{canary, guard, Seen};
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::{mpsc, Notify};

use super::experiments::Experiments;
use super::guard::Guard;
use super::notify;
use super::state::{now, Daemon, Order};
use crate::log;
use crate::metrics::MetricsOutlets;
use crate::metrics::{self, Exporter};
use ccctl_core::configuration::{self, Configuration, Metrics};
use ccctl_core::counters::COUNTERS;
use ccctl_core::daemon::{DaemonStatus, EventKind, News, Snapshot};
use ccctl_core::error::{fault, remedy};
use ccctl_core::operations::experiment;
use ccctl_core::plan::{self, Step};
use ccctl_core::request;
use ccctl_core::sys;
use ccctl_core::trust::{Trust, Unread};

/// How often the kernel is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// After the first failure of a step; each further one doubles it.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// The longest time between two tries.
const LAST_RETRY: Duration = Duration::from_secs(60);

/// The daemon's main loop.
pub struct Reconciler {
    daemon: &'static Daemon,
    /// The daemon's own file.
    path: PathBuf,
    trust: Trust,
    configuration: Arc<Configuration>,
    seen: Seen,
    /// Between two looks at the kernel.
    pause: Duration,
    /// A moment, not a pause that each window of the guard would begin anew.
    next_look: Instant,
    retry: Option<(Instant, Duration)>,
    stopped: bool,
    guard: Option<Guard>,
    experiments: Experiments,
    /// What the kernel had when events were last told; none before the first comparison.
    told: Option<Snapshot>,
}

/// Why kernel and file are compared; the word that the log has for what was done then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Start,
    Reload,
    Apply,
    Drift,
    Guard,
    Experiment,
}

impl Reason {
    fn verb(self) -> &'static str {
        match self {
            Self::Start => "at the start",
            Self::Reload => "after a new file",
            Self::Apply => "as asked",
            Self::Drift => "corrected",
            Self::Guard => "for the guard",
            Self::Experiment => "for an experiment",
        }
    }
}

impl Reconciler {
    /// One that keeps `configuration`, which was read from `path`.
    pub fn new(daemon: &'static Daemon, (path, trust): (PathBuf, Trust), configuration: Arc<Configuration>) -> Self {
        let pause = notify::watchdog().map_or(LOOK, |limit| LOOK.min(limit / 3));
        Self {
            daemon,
            path,
            trust,
            configuration,
            seen: Seen::default(),
            pause,
            next_look: Instant::now() + pause,
            retry: None,
            stopped: false,
            guard: None,
            experiments: Experiments::new(daemon.journal.clone()),
            told: None,
        }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self, mut orders: mpsc::Receiver<Order>, changed: Arc<Notify>) -> anyhow::Result<()> {
        let mut hangup = signal(SignalKind::hangup())?;
        self = self.blocking(|reconciler| drop(reconciler.compare(Reason::Start))).await?;
        notify::ready();
        loop {
            self = self.turn(&mut orders, &changed, &mut hangup).await?;
            log::tell_left_out();
            notify::alive();
        }
    }

    async fn turn(
        self,
        orders: &mut mpsc::Receiver<Order>,
        changed: &Notify,
        hangup: &mut Signal,
    ) -> anyhow::Result<Self> {
        let window_ends = self.guard.as_ref().map(Guard::due);
        let next_look = Some(self.next_look);
        let block_ends = Experiments::due().filter(|_| !self.stopped);
        tokio::select! {
            Some(order) = orders.recv() => self.blocking(move |reconciler| reconciler.execute(order)).await,
            Some(()) = hangup.recv() => {
                notify::reloading();
                let reconciler = self.blocking(Self::reload).await?;
                reconciler.daemon.note(|status| status.reloads += 1);
                notify::ready();
                Ok(reconciler)
            }
            () = changed.notified() => self.blocking(Self::look_after_a_change).await,
            () = until(window_ends) => self.blocking(Self::end_window).await,
            () = until(block_ends) => self.blocking(Self::switch_arms).await,
            () = until(next_look) => {
                let mut reconciler = self.blocking(Self::look).await?;
                reconciler.next_look = Instant::now() + reconciler.pause;
                Ok(reconciler)
            }
        }
    }

    /// Runs what blocks, in the daemon's network namespace, without holding up the API.
    async fn blocking(mut self, work: impl FnOnce(&mut Self) + Send + 'static) -> anyhow::Result<Self> {
        let done = tokio::task::spawn_blocking(move || {
            work(&mut self);
            self
        });
        Ok(done.await?)
    }

    fn execute(&mut self, order: Order) {
        match order {
            Order::Stop { reply } => {
                self.stopped = true;
                self.guard = None;
                self.daemon.note_guard(None);
                self.measure();
                tracing::info!("reconciliation has stopped: all changes are being undone");
                let _ = reply.send(()); // who asked waits for it
            }
            Order::Rearm { name, reply } => {
                let _ = reply.send(self.rearm(&name)); // who asked may be gone
            }
            Order::Apply { configuration, dry_run: true, reply, .. } => {
                let _ = reply.send(request::lock().and_then(|lock| plan::execute(&lock, &configuration, true)));
            }
            Order::Apply { configuration, file, reply, .. } => {
                tracing::info!("{file} is in force until the daemon's own file is read again");
                self.configuration = Arc::from(configuration);
                self.stopped = false;
                self.daemon.note(|status| {
                    status.in_force = Some(file);
                    status.error = None;
                });
                let _ = reply.send(self.compare(Reason::Apply)); // who asked may be gone
            }
        }
    }

    /// Reads the file again; a bad one changes nothing.
    fn reload(&mut self) {
        let file = self.path.display().to_string();
        let text = configuration::read(&self.path, self.trust).map_err(|unread| match unread {
            Unread::Failed(error) => anyhow::Error::from(error),
            Unread::Refused(fault) => fault.into(),
        });
        match text.and_then(|text| Configuration::of_text(&file, &text, self.trust)) {
            Ok(configuration) => {
                tracing::info!("{file} was read again");
                self.daemon.journal.note(News::new(EventKind::Reloaded, "", format!("{file} was read again")));
                if configuration.api != self.configuration.api {
                    tracing::warn!("[api] has changed: restart the daemon to apply this");
                }
                log::set_level(configuration.log.level);
                self.configuration = Arc::new(configuration);
                self.stopped = false;
                self.daemon.note(|status| {
                    status.in_force = Some(file);
                    status.error = None;
                });
                let _ = self.compare(Reason::Reload); // it is noted
            }
            Err(error) => {
                let remedy = remedy(&error).map_or_else(String::new, |remedy| format!(" ({remedy})"));
                let why =
                    format!("{file} was not reloaded, the previous configuration stays in force: {}", cause(&error));
                tracing::error!("{why}{remedy}");
                self.daemon.journal.note(News::new(EventKind::Failed, "", format!("{why}{remedy}")));
                self.daemon.note(|status| status.error = Some(Fault { cause: why, ..fault(&error) }));
            }
        }
    }

    fn rearm(&mut self, name: &str) -> anyhow::Result<()> {
        guard::rearm(&request::lock()?, name)?;
        tracing::info!("guard: {name} is enabled and watched again");
        COUNTERS.guard_rearms.add(1);
        if let Some(guard) = &mut self.guard {
            guard.forget(name);
        }
        self.daemon.note_guard(self.guard.as_ref().map(Guard::report));
        self.compare(Reason::Guard).map(drop)
    }

    /// Watches what the file wants to be watched; without `[guard]`, nothing looks at any socket.
    fn arm(&mut self) {
        let wanted = self.configuration.guard.as_ref();
        if wanted.map_or(self.guard.is_none(), |wanted| self.guard.as_ref().is_some_and(|guard| guard.is_of(wanted))) {
            return;
        }
        self.guard = wanted.map(|wanted| Guard::begin(wanted, self.daemon.journal.clone())).transpose().unwrap_or_else(
            |error| {
                tracing::error!("guard: cannot watch instances: {}", cause(&error));
                None
            },
        );
        self.daemon.note_guard(self.guard.as_ref().map(Guard::report));
    }

    /// Experiments of the file. One that cannot be planned is tried again with each comparison.
    fn follow_experiments(&self) {
        for (name, followed) in experiment::follow_file(&self.configuration.experiments) {
            match followed {
                Ok(None) => {}
                Ok(Some(text)) => self.daemon.journal.note(News::new(EventKind::Experiment, &name, text)),
                Err(error) => tracing::error!("experiment {name}: {}", cause(&error)),
            }
        }
        if let Err(error) = experiment::stop_gone(&self.configuration.experiments) {
            tracing::error!("experiments: {}", cause(&error));
        }
    }

    /// Counts as the file wants it, and for experiments.
    fn measure(&self) {
        let of_file = self.configuration.metrics.as_ref();
        let for_experiments = Metrics::default();
        let wanted = of_file.or_else(|| Experiments::counts().then_some(&for_experiments)).filter(|_| !self.stopped);
        self.daemon.set_metrics(wanted.map(MetricsOutlets::of).unwrap_or_default());
        let before = metrics::current();
        let is_same = |exporter: &Arc<Exporter>| wanted.is_some_and(|wanted| exporter.is_of(wanted));
        if wanted.is_some() && before.as_ref().is_some_and(is_same) || wanted.is_none() && before.is_none() {
            if let Some(exporter) = &before {
                exporter.names_changed();
            }
            return;
        }
        // What there was ends first: its programs would count as well as the new ones.
        drop(before);
        metrics::replace(None);
        let exporter = wanted.map(Exporter::start).transpose().unwrap_or_else(|error| {
            tracing::error!("metrics: cannot count: {}", cause(&error));
            None
        });
        metrics::replace(exporter.map(Arc::new));
    }

    fn end_window(&mut self) {
        let Some(guard) = &mut self.guard else { return };
        let looked = guard.look(&self.configuration);
        self.daemon.note_guard(Some(guard.report()));
        match looked {
            Ok(false) => {}
            Ok(true) => drop(self.compare(Reason::Guard)), // it is noted
            Err(error) => tracing::error!("guard: {}", cause(&error)),
        }
        sys::return_memory();
    }

    /// At the edge of a block: what was done with the previous arm is counted first.
    fn switch_arms(&mut self) {
        self.experiments.step();
        // after the end of one: arm A for its scope, and then its rule goes
        while self.experiments.is_due() || self.experiments.settle() {
            let _ = self.compare(Reason::Experiment); // it is noted
            if self.experiments.is_due() {
                return; // it failed, and is tried again with the next look
            }
        }
    }

    fn look_after_a_change(&mut self) {
        if let Some(metrics) = metrics::current() {
            metrics.names_changed();
        }
        self.look();
    }

    /// Compares where something has changed, or where it is time to try again what has failed.
    fn look(&mut self) {
        if self.stopped {
            return;
        }
        self.switch_arms();
        let due = self.retry.is_some_and(|(at, _)| at <= Instant::now())
            || canary::abandoned().is_ok_and(|abandoned| !abandoned.is_empty());
        let is_same = ccctl_loader::look(&self.seen).map(|seen| seen == self.seen);
        if due || matches!(is_same, Ok(false)) {
            let _ = self.compare(Reason::Drift); // it is noted
        } else if is_same.is_ok() && self.retry.is_none() {
            self.daemon.note(compared);
        }
    }

    fn compare(&mut self, reason: Reason) -> anyhow::Result<Vec<Step>> {
        self.arm();
        if reason != Reason::Start {
            self.experiments.step(); // at the start what experiments need may not be loaded yet
        }
        let wanted = Experiments::wanted();
        let result = request::lock().and_then(|lock| {
            self.tell_changes()?;
            let steps = plan::execute(&lock, &self.configuration, false)?;
            if !steps.is_empty() {
                self.told = Some(Snapshot::take()?); // the steps tell what has changed
            }
            self.seen = ccctl_loader::look(&self.seen)?;
            Ok(steps)
        });
        if let Ok(steps) = &result {
            self.experiments.reconciled(wanted, steps);
            self.follow_experiments();
        }
        self.measure();
        sys::return_memory();
        match &result {
            Ok(steps) => self.note(steps, reason),
            Err(error) => {
                let why = format!("cannot compare kernel and file: {}", cause(error));
                tracing::error!("{why}");
                self.daemon.journal.note(News::new(EventKind::Failed, "", &why));
                self.daemon.note(|status| status.error = Some(Fault { cause: why, ..fault(error) }));
            }
        }
        let failed = result.as_ref().map_or(true, |steps| steps.iter().any(|step| step.error.is_some()));
        self.retry = failed.then(|| {
            let pause = self.retry.map_or(FIRST_RETRY, |(_, before)| LAST_RETRY.min(before * 2));
            (Instant::now() + pause, pause)
        });
        result
    }

    /// Events of what others have changed since the last comparison.
    fn tell_changes(&mut self) -> anyhow::Result<()> {
        let now = Snapshot::take()?;
        if let Some(before) = &self.told {
            now.since(before).into_iter().for_each(|news| self.daemon.journal.note(news));
        }
        self.told = Some(now);
        Ok(())
    }

    fn note(&self, steps: &[Step], reason: Reason) {
        let (problems, changes): (Vec<Step>, Vec<Step>) = steps.iter().cloned().partition(|step| step.error.is_some());
        for step in &changes {
            tracing::info!("{}: {step}", reason.verb());
            let text = match reason {
                Reason::Drift => step.to_string(),
                other => format!("{}: {step}", other.verb()),
            };
            self.daemon.journal.note(News::new(EventKind::Corrected, &step.name, text));
        }
        for step in &problems {
            let error = step.error.as_ref().map(ToString::to_string).unwrap_or_default();
            tracing::error!("step failed: {step}: {error}");
            self.daemon.journal.note(News::new(EventKind::Failed, &step.name, format!("{step}: {error}")));
        }
        let instances = self.configuration.instances.len();
        notify::tell(&format!("{instances} instances, {} problems", problems.len()));
        self.daemon.note(|status| {
            compared(status);
            status.problems = problems;
            if !changes.is_empty() {
                status.changed_at = Some(now());
                status.changes = changes;
            }
            if reason != Reason::Drift {
                status.error = None;
            }
        });
    }
}

fn compared(status: &mut DaemonStatus) {
    status.compared_at = Some(now());
    status.comparison_count += 1;
}

/// Waits for this moment; without one, for ever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}
