// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl daemon`

use ccctl_console::Exit;

use crate::arguments::Daemon;
use crate::daemon;
use ccctl_core::trust::Trust;

pub fn run(arguments: &Daemon) -> anyhow::Result<Exit> {
    daemon::run(arguments.config.as_deref(), Trust::of_option(arguments.trust_writable), arguments.json)?;
    Ok(Exit::Done)
}
