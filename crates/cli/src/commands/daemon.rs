//! `ccctl daemon`

use crate::arguments::Daemon;
use crate::daemon;
use crate::exit::Exit;
use crate::trust::Trust;

pub fn run(arguments: &Daemon) -> anyhow::Result<Exit> {
    daemon::run(arguments.config.as_deref(), Trust::of_option(arguments.trust_writable))?;
    Ok(Exit::Done)
}
