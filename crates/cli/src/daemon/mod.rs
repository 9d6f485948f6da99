//! `ccctl daemon`: serves the API and keeps the host as the file has it.

mod guard;
mod keeper;
pub mod log;
mod notify;
mod socket;
mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc;

use crate::api::{self, ReadGroup};
use crate::exit::UsageError;
use crate::metrics;
use crate::policy::{self, Policy, CONFIG};
use crate::sys;
use crate::trust::{Trust, Unread};
use keeper::Keeper;

pub use socket::{remove_leftovers, require_none};
pub use state::{here, Daemon};

/// Orders that wait for the keeper.
const WAITING: usize = 16;

/// Runs until SIGTERM, SIGINT or `ccctl down`; but for the last, what is in the kernel stays.
pub fn run(config: Option<&Path>, trust: Trust) -> anyhow::Result<()> {
    sys::share_heap();
    let (path, policy) = read(config, trust)?;
    let in_force = policy.is_some().then(|| path.display().to_string());
    let policy = policy.unwrap_or_default();
    log::begin(policy.log.level);
    let exclusive = socket::Exclusive::take()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(serve((path, trust), in_force, Arc::new(policy)));
    runtime.shutdown_background();
    drop(exclusive);
    result
}

/// Without the file that is looked for by itself, the daemon only serves; once it is there, SIGHUP has it read.
fn read(config: Option<&Path>, trust: Trust) -> anyhow::Result<(PathBuf, Option<Policy>)> {
    let path = std::path::absolute(config.unwrap_or(Path::new(CONFIG)))?;
    match policy::read(&path, trust) {
        Ok(text) => Policy::of_text(&path.display().to_string(), &text, trust).map(|policy| (path, Some(policy))),
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

async fn serve((path, trust): (PathBuf, Trust), in_force: Option<String>, policy: Arc<Policy>) -> anyhow::Result<()> {
    let listening = socket::Listening::at(&policy.api.socket)?;
    let (sender, orders) = mpsc::channel(WAITING);
    let daemon = state::begin(sender, path.display().to_string(), in_force);
    tracing::info!("ccctl {} serves {}", api::VERSION, policy.api.socket.display());
    let context = Arc::new(api::Context { read_group: read_group(&policy.api.read_group), ..api::Context::default() });
    let keeper = Keeper::new(daemon, (path, trust), policy).run(orders, context.changed.clone());
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = daemon.ending.notified() => {}
        }
        notify::stopping();
    };
    tokio::select! {
        () = api::serve(&listening.socket, context, stop) => {
            tracing::info!("ends; what is in the kernel stays as it is");
            Ok(())
        }
        ended = keeper => ended,
        () = metrics::serve(daemon.listening()) => anyhow::bail!("nothing serves the metrics any more"),
    }
}

fn read_group(name: &str) -> ReadGroup {
    ReadGroup::named(name).unwrap_or_else(|| {
        tracing::info!("there is no group {name}: only root may ask");
        ReadGroup::default()
    })
}
