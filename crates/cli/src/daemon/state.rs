// SPDX-License-Identifier: MIT OR Apache-2.0
//! The daemon as operations meet it that run inside: they ask for the file to be kept, or for an end.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch, Notify};

use ccctl_core::configuration::Configuration;
use ccctl_core::daemon::{DaemonStatus, GuardReport, RunningDaemon, VERSION};
use ccctl_core::plan::Step;

use crate::events::Journal;
use crate::metrics::{self, MetricsOutlets};

/// What the reconciler is asked for.
#[derive(Debug)]
pub enum Order {
    /// Bring the host to this and keep it, or with `dry_run` only tell what differs.
    Apply {
        configuration: Box<Configuration>,
        file: String,
        dry_run: bool,
        reply: oneshot::Sender<anyhow::Result<Vec<Step>>>,
    },
    /// Keep nothing any more.
    Stop { reply: oneshot::Sender<()> },
    /// Enable an instance that the guard has disabled, and watch it again.
    Rearm { name: String, reply: oneshot::Sender<anyhow::Result<()>> },
}

/// The daemon of this process.
pub struct Daemon {
    orders: mpsc::Sender<Order>,
    status: Mutex<DaemonStatus>,
    guard: Mutex<Option<GuardReport>>,
    metrics: watch::Sender<MetricsOutlets>,
    /// What has happened.
    pub journal: Arc<Journal>,
    /// Told when the process is to end.
    pub ending: Notify,
}

/// Makes this process the daemon.
pub fn begin(orders: mpsc::Sender<Order>, file: String, in_force: Option<String>) -> &'static Daemon {
    static HERE: OnceLock<Daemon> = OnceLock::new();
    let daemon = HERE.get_or_init(|| Daemon {
        orders,
        status: Mutex::new(DaemonStatus {
            pid: std::process::id(),
            version: VERSION.to_owned(),
            since: now(),
            in_force,
            file,
            reloads: 0,
            compared_at: None,
            comparison_count: 0,
            changed_at: None,
            changes: Vec::new(),
            problems: Vec::new(),
            error: None,
        }),
        guard: Mutex::new(None),
        metrics: watch::Sender::new(MetricsOutlets::default()),
        journal: Arc::default(),
        ending: Notify::new(),
    });
    ccctl_core::daemon::register(daemon);
    daemon
}

/// This moment, RFC 3339.
pub fn now() -> String {
    ccctl_console::output::time(std::time::SystemTime::now())
}

impl Daemon {
    /// Notes how it is.
    pub fn note(&self, change: impl FnOnce(&mut DaemonStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes what its guard watches.
    pub fn note_guard(&self, report: Option<GuardReport>) {
        *self.guard.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// Where the metrics go from now on, besides the API's socket.
    pub fn set_metrics(&self, wanted: MetricsOutlets) {
        self.metrics.send_if_modified(|now| {
            let differs = *now != wanted;
            *now = wanted;
            differs
        });
    }

    /// Where they go.
    pub fn metrics(&self) -> watch::Receiver<MetricsOutlets> {
        self.metrics.subscribe()
    }
}

impl RunningDaemon for Daemon {
    fn status(&self) -> DaemonStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn apply(&self, configuration: Configuration, file: &str, dry_run: bool) -> anyhow::Result<Vec<Step>> {
        let (reply, answer) = oneshot::channel();
        let (configuration, file) = (Box::new(configuration), file.to_owned());
        self.orders.blocking_send(Order::Apply { configuration, file, dry_run, reply })?;
        answer.blocking_recv()?
    }

    fn stop_keeping(&self) -> anyhow::Result<()> {
        let (reply, answer) = oneshot::channel();
        self.orders.blocking_send(Order::Stop { reply })?;
        Ok(answer.blocking_recv()?)
    }

    fn guard(&self) -> Option<GuardReport> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn rearm(&self, name: &str) -> anyhow::Result<()> {
        let (reply, answer) = oneshot::channel();
        self.orders.blocking_send(Order::Rearm { name: name.to_owned(), reply })?;
        answer.blocking_recv()?
    }

    fn life_p90(&self, cgroup: &str) -> Option<Duration> {
        metrics::current()?.life_p90(cgroup)
    }

    fn end(&self) {
        self.ending.notify_one();
    }
}
