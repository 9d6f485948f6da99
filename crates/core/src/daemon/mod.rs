// SPDX-License-Identifier: MIT OR Apache-2.0
//! The daemon as operations see it: the one of this process, if this process is one, and whether another one lives.

mod event;
mod report;

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use ccctl_console::{Exit, Fault};
use ccctl_runfiles::{Holder, Lock, FOLDER};

use crate::configuration::Configuration;
use crate::plan::Step;

pub use crate::configuration::SOCKET;

pub use event::{Event, EventKind, News, Snapshot};
pub use report::{watches, DaemonStatus, GuardEvent, GuardReport, GuardedInstance};

/// The version by which daemon and command know that they understand each other.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Held by the daemon while it lives.
pub const LOCK: &str = "/run/ccctl/daemon.lock";

/// What operations ask of the daemon that they run in. All of these block, on a request's thread.
pub trait RunningDaemon: Sync {
    /// Its state.
    fn status(&self) -> DaemonStatus;

    /// Brings the host to `configuration` and keeps it so, or with `dry_run` only tells what differs.
    fn apply(&self, configuration: Configuration, file: &str, dry_run: bool) -> anyhow::Result<Vec<Step>>;

    /// Stops reconciliation: from now on everything is left as it is.
    fn stop_keeping(&self) -> anyhow::Result<()>;

    /// What its guard watches.
    fn guard(&self) -> Option<GuardReport>;

    /// Enables an instance that the guard has disabled, and watches it again.
    fn rearm(&self, name: &str) -> anyhow::Result<()>;

    /// P90 of the lives of connections of a cgroup that a rule names, where they are counted.
    fn life_p90(&self, cgroup: &str) -> Option<Duration>;

    /// Ends the process after the answer that is under way.
    fn end(&self);
}

static HERE: OnceLock<&'static dyn RunningDaemon> = OnceLock::new();

/// The daemon, where this process is one.
pub fn here() -> Option<&'static dyn RunningDaemon> {
    HERE.get().copied()
}

/// Makes this process the daemon; later calls change nothing.
pub fn register(daemon: &'static dyn RunningDaemon) {
    HERE.get_or_init(|| daemon);
}

/// Does a daemon live on this host?
///
/// # Errors
/// Where its lock cannot be read.
pub fn lives() -> anyhow::Result<bool> {
    let holder = Lock::held(Path::new(LOCK)).map_err(ccctl_loader::Error::from)?;
    Ok(holder.flatten().is_some_and(|holder| holder.is_daemon))
}

/// Refuses where a daemon lives that does not take part in what is to be done.
pub fn require_none(what: &str) -> anyhow::Result<()> {
    let Some(holder) = Lock::held(Path::new(LOCK)).map_err(ccctl_loader::Error::from)? else { return Ok(()) };
    let cause = match &holder {
        Some(daemon) if daemon.is_daemon => format!("cannot {what}: the daemon (pid {}) is not responding", daemon.pid),
        other => format!("cannot {what}: {} holds {LOCK}", Holder::describe(other.as_ref())),
    };
    let remedy = ending(holder.as_ref(), " (algorithms and rules stay active), then try again");
    Err(Fault::new(Exit::Refused, cause, remedy).into())
}

/// What to try where `holder` holds the daemon's lock. A daemon can be ended; of other processes nobody here knows what they are for.
#[must_use]
pub fn ending(holder: Option<&Holder>, then: &str) -> String {
    match holder {
        Some(daemon) if daemon.is_daemon => format!("kill {}{then}", daemon.pid),
        Some(other) => format!("ps -f -p {} shows what it is: it is not a ccctl daemon", other.pid),
        None => format!("lslocks shows who holds {LOCK}"),
    }
}

/// Removes what a daemon that was killed has left; one that lives removes it at its end.
pub fn remove_leftovers() {
    if !matches!(Lock::held(Path::new(LOCK)), Ok(None)) {
        return;
    }
    let _ = fs::remove_file(SOCKET);
    let _ = fs::remove_file(LOCK);
    let _ = fs::remove_dir(FOLDER); // others may have files in it
}
