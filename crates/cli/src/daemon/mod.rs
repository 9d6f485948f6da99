//! `ccctl daemon`: serves the API and keeps the host as the file has it.

mod socket;

use std::path::Path;
use std::sync::Arc;

use tokio::signal::unix::{signal, SignalKind};

use crate::api::{self, ReadGroup};
use crate::policy::{Policy, CONFIG};
use crate::sys;

/// Runs until SIGTERM or SIGINT; what is in the kernel stays.
pub fn run(config: Option<&Path>) -> anyhow::Result<()> {
    sys::share_heap();
    let path = config.unwrap_or(Path::new(CONFIG));
    let policy = read(path, config.is_some())?;
    let guard = socket::Exclusive::take()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(serve(&policy));
    runtime.shutdown_background();
    drop(guard);
    result
}

/// Without the file that is looked for by itself, the daemon only serves.
fn read(path: &Path, asked_for: bool) -> anyhow::Result<Policy> {
    match std::fs::read_to_string(path) {
        Ok(text) => Policy::of_text(&path.display().to_string(), &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !asked_for => Ok(Policy::default()),
        Err(error) => {
            let cause = format!("read {}: {error}", path.display());
            Err(crate::exit::UsageError::new(cause, "ccctl daemon --config FILE").into())
        }
    }
}

async fn serve(policy: &Policy) -> anyhow::Result<()> {
    let listener = socket::Listening::at(&policy.api.socket)?;
    let read_group = ReadGroup::named(&policy.api.read_group).unwrap_or_default();
    let context = Arc::new(api::Context { read_group, ..api::Context::default() });
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    api::serve(&listener.socket, context, stop).await;
    Ok(())
}
