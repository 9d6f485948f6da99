//! The daemon as operations meet it that run inside: they ask for the file to be kept, or for an end.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::{mpsc, oneshot, watch, Notify};

use crate::api::VERSION;
use crate::engine::{DaemonStatus, GuardReport};
use crate::metrics::Exporter;
use crate::policy::{Metrics, Policy, Step};

/// What the keeper is asked for.
#[derive(Debug)]
pub enum Order {
    /// Bring the host to this and keep it, or with `dry_run` only tell what differs.
    Apply { policy: Box<Policy>, file: String, dry_run: bool, reply: oneshot::Sender<anyhow::Result<Vec<Step>>> },
    /// Keep nothing any more.
    Stop { reply: oneshot::Sender<()> },
    /// Use and watch an instance again that the guard had taken out of use.
    Rearm { name: String, reply: oneshot::Sender<anyhow::Result<()>> },
}

/// The daemon of this process.
pub struct Daemon {
    orders: mpsc::Sender<Order>,
    status: Mutex<DaemonStatus>,
    guard: Mutex<Option<GuardReport>>,
    metrics: Mutex<Option<Arc<Exporter>>>,
    listening: watch::Sender<Option<SocketAddr>>,
    /// Told when the process is to end.
    pub ending: Notify,
}

static HERE: OnceLock<Daemon> = OnceLock::new();

/// The daemon, where this process is one.
pub fn here() -> Option<&'static Daemon> {
    HERE.get()
}

/// Makes this process the daemon.
pub fn begin(orders: mpsc::Sender<Order>, file: String, in_force: Option<String>) -> &'static Daemon {
    HERE.get_or_init(|| Daemon {
        orders,
        status: Mutex::new(DaemonStatus {
            pid: std::process::id(),
            version: VERSION.to_owned(),
            since: now(),
            in_force,
            file,
            reloads: 0,
            compared_at: None,
            changed_at: None,
            changes: Vec::new(),
            problems: Vec::new(),
            error: None,
        }),
        guard: Mutex::new(None),
        metrics: Mutex::new(None),
        listening: watch::Sender::new(None),
        ending: Notify::new(),
    })
}

/// This moment, RFC 3339.
pub fn now() -> String {
    crate::output::time(std::time::SystemTime::now())
}

impl Daemon {
    /// How it is.
    pub fn status(&self) -> DaemonStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes how it is.
    pub fn note(&self, change: impl FnOnce(&mut DaemonStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Has the keeper bring the host to `policy`, in the daemon's own network namespace. Called on a request's thread.
    pub fn apply(&self, policy: Policy, file: &str, dry_run: bool) -> anyhow::Result<Vec<Step>> {
        let (reply, answer) = oneshot::channel();
        let (policy, file) = (Box::new(policy), file.to_owned());
        self.orders.blocking_send(Order::Apply { policy, file, dry_run, reply })?;
        answer.blocking_recv()?
    }

    /// Has the keeper leave everything as it is from now on. Called on a request's thread.
    pub fn stop_keeping(&self) -> anyhow::Result<()> {
        let (reply, answer) = oneshot::channel();
        self.orders.blocking_send(Order::Stop { reply })?;
        Ok(answer.blocking_recv()?)
    }

    /// What its guard watches.
    pub fn guard(&self) -> Option<GuardReport> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what its guard watches.
    pub fn note_guard(&self, report: Option<GuardReport>) {
        *self.guard.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// What counts for Prometheus, where it is on.
    pub fn metrics(&self) -> Option<Arc<Exporter>> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what counts for Prometheus, and where it listens.
    pub fn note_metrics(&self, exporter: Option<Arc<Exporter>>, wanted: Option<&Metrics>) {
        let before = std::mem::replace(&mut *self.metrics.lock().unwrap_or_else(PoisonError::into_inner), exporter);
        drop(before); // it ends here, where scrapes do not wait for it
        let listen = wanted.and_then(|wanted| wanted.listen);
        self.listening.send_if_modified(|now| std::mem::replace(now, listen) != listen);
    }

    /// Where metrics are to be had, beside the unix socket.
    pub fn listening(&self) -> watch::Receiver<Option<SocketAddr>> {
        self.listening.subscribe()
    }

    /// Has the keeper use and watch an instance again. Called on a request's thread.
    pub fn rearm(&self, name: &str) -> anyhow::Result<()> {
        let (reply, answer) = oneshot::channel();
        self.orders.blocking_send(Order::Rearm { name: name.to_owned(), reply })?;
        answer.blocking_recv()?
    }

    /// Has the process end after the answer that is under way.
    pub fn end(&self) {
        self.ending.notify_one();
    }
}
