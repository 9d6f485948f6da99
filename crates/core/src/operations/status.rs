// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the daemon is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{tripped, Tripped};
use crate::daemon::{self, DaemonStatus};
use crate::Operation;

/// Show the daemon's status, its configuration and its errors.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {}

/// The daemon's status.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StatusAnswer {
    /// None: no daemon runs. What is in the kernel stays as it is.
    pub daemon: Option<DaemonStatus>,
    /// Instances that the guard has disabled.
    #[serde(default)]
    pub tripped: Vec<Tripped>,
}

impl Operation for Status {
    type Answer = StatusAnswer;
    const NAME: &'static str = "status";
    const TITLE: &'static str = "Show the daemon's status, its configuration and its errors";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<StatusAnswer> {
        if daemon::here().is_none() {
            daemon::require_none("show the daemon's status")?;
        }
        Ok(StatusAnswer { daemon: daemon::here().map(daemon::RunningDaemon::status), tripped: tripped()? })
    }
}
