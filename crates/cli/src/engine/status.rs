//! How the daemon is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{tripped, Operation, Tripped};
use crate::daemon;
use crate::policy::Step;

/// Show the daemon, its file, and what does not work.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {}

/// How it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StatusAnswer {
    /// None: no daemon runs. What is in the kernel stays as it is.
    pub daemon: Option<DaemonStatus>,
    /// Instances that the guard has taken out of use.
    #[serde(default)]
    pub tripped: Vec<Tripped>,
}

/// The daemon.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// When it was started, RFC 3339.
    pub since: String,
    /// Its own file, which it reads on SIGHUP.
    pub file: String,
    /// The file that is kept: its own, or one that `apply` has given it since; none where its own was not there.
    pub in_force: Option<String>,
    /// How often the file was read again, or refused.
    pub reloads: u32,
    /// When kernel and file were last compared, RFC 3339.
    pub compared_at: Option<String>,
    /// When something was last put right or changed, RFC 3339.
    pub changed_at: Option<String>,
    /// What was done then.
    pub changes: Vec<Step>,
    /// What could not be done, and is tried again.
    pub problems: Vec<Step>,
    /// Why the file could not be read anew, or the kernel not be compared with it: what was in force still is.
    pub error: Option<String>,
}

impl Operation for Status {
    type Answer = StatusAnswer;
    const NAME: &'static str = "status";
    const TITLE: &'static str = "Show the daemon, its file, and what does not work";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<StatusAnswer> {
        if daemon::here().is_none() {
            daemon::require_none("tell how the daemon is")?;
        }
        Ok(StatusAnswer { daemon: daemon::here().map(daemon::Daemon::status), tripped: tripped()? })
    }
}
