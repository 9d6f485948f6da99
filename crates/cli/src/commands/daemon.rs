//! `ccctl daemon`

use crate::arguments::Daemon;
use crate::daemon;
use crate::exit::Exit;

pub fn run(arguments: &Daemon) -> anyhow::Result<Exit> {
    daemon::run(arguments.config.as_deref())?;
    Ok(Exit::Done)
}
