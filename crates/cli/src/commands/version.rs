// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl version`

use ccctl_console::{arguments::Output, output, Exit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::client::{self, DaemonState};
use crate::VERSION;

/// The versions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Version and commit of this program.
    version: String,
    /// Is there a daemon of the same version?
    is_daemon_usable: bool,
    /// Why there is one that cannot be used.
    daemon_problem: Option<String>,
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let (is_daemon_usable, daemon_problem) = match client::connect() {
        DaemonState::Daemon(_) => (true, None),
        DaemonState::None => (false, None),
        DaemonState::Busy(fault) => (false, Some(fault.cause)),
        DaemonState::Unusable(why) => (false, Some(why)),
    };
    let answer = Answer { version: VERSION.to_owned(), is_daemon_usable, daemon_problem };
    if arguments.json {
        output::json(&answer)?;
        return Ok(Exit::Done);
    }
    output::line(&format!("ccctl {}", answer.version))?;
    match (&answer.daemon_problem, answer.is_daemon_usable) {
        (Some(problem), _) => output::line(problem)?,
        (None, true) => output::line("the daemon runs, and has the same version")?,
        (None, false) => output::line("no daemon runs")?,
    }
    Ok(Exit::Done)
}
