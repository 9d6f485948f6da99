// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl daemon`: serves the API and keeps the host as the file has it.

pub mod experiments;
mod guard;
mod notify;
mod reconciler;
mod socket;
mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ccctl_console::UsageError;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc;

use crate::api::{self, ReadGroup};
use crate::log;
use crate::metrics;
use ccctl_core::configuration::{self, Configuration};
use ccctl_core::daemon::{EventKind, News};
use ccctl_core::sys;
use ccctl_core::trust::{Trust, Unread};
use reconciler::Reconciler;

/// Orders that wait for the reconciler.
const WAITING: usize = 16;

/// Runs until SIGTERM, SIGINT or `ccctl down`; but for the last, what is in the kernel stays.
pub fn run(config: Option<&Path>, trust: Trust, log_json: bool) -> anyhow::Result<()> {
    sys::share_heap();
    let (path, configuration) = read(config, trust)?;
    let in_force = configuration.is_some().then(|| path.display().to_string());
    let configuration = configuration.unwrap_or_default();
    log::begin(configuration.log.level, log_json);
    let exclusive = socket::Exclusive::take()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(serve((path, trust), in_force, Arc::new(configuration)));
    runtime.shutdown_background();
    drop(exclusive);
    result
}

/// Without the file that is looked for by itself, the daemon only serves; once it is there, SIGHUP has it read.
fn read(config: Option<&Path>, trust: Trust) -> anyhow::Result<(PathBuf, Option<Configuration>)> {
    let path = std::path::absolute(config.unwrap_or(Path::new(configuration::PATH)))?;
    match configuration::read(&path, trust) {
        Ok(text) => Configuration::of_text(&path.display().to_string(), &text, trust)
            .map(|configuration| (path, Some(configuration))),
        Err(Unread::Failed(error)) if error.kind() == std::io::ErrorKind::NotFound && config.is_none() => {
            Ok((path, None))
        }
        Err(Unread::Refused(fault)) => Err(fault.into()),
        Err(Unread::Failed(error)) => {
            let cause = format!("read {}: {error}", path.display());
            Err(UsageError::new(cause, "ccctl daemon --config FILE").into())
        }
    }
}

async fn serve(
    (path, trust): (PathBuf, Trust),
    in_force: Option<String>,
    configuration: Arc<Configuration>,
) -> anyhow::Result<()> {
    let listening = socket::Listening::at(&configuration.api.socket)?;
    let (sender, orders) = mpsc::channel(WAITING);
    let daemon = state::begin(sender, path.display().to_string(), in_force);
    tracing::info!("ccctl {} serves {}", ccctl_core::daemon::VERSION, configuration.api.socket.display());
    daemon.journal.note(News::new(EventKind::Started, "", format!("ccctl {}", ccctl_core::daemon::VERSION)));
    let context = Arc::new(api::Context {
        read_group: read_group(&configuration.api.read_group),
        journal: daemon.journal.clone(),
        ..api::Context::default()
    });
    let reconciler = Reconciler::new(daemon, (path, trust), configuration).run(orders, context.changed.clone());
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = daemon.ending.notified() => {}
        }
        daemon.journal.close();
        notify::stopping();
    };
    tokio::select! {
        () = api::serve(&listening.socket, context, stop) => {
            tracing::info!("stopping; loaded algorithms and rules stay in the kernel");
            Ok(())
        }
        ended = reconciler => ended,
        () = metrics::serve(daemon.metrics()) => anyhow::bail!("the metrics server has ended"),
    }
}

fn read_group(name: &str) -> ReadGroup {
    ReadGroup::named(name).unwrap_or_else(|| {
        tracing::info!("group {name} does not exist: only root may send requests");
        ReadGroup::default()
    })
}
