// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the daemon tells of itself and of its guard.

use ccctl_console::Fault;
use ccctl_loader::IntervalStats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::configuration::Limits;
use crate::plan::Step;

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
    /// The configuration in force: the daemon's own file, or one that `apply` has sent; none if its own file did not exist.
    pub in_force: Option<String>,
    /// Number of times the file was read again, including failed attempts.
    pub reloads: u32,
    /// When kernel and file were last compared, RFC 3339.
    pub compared_at: Option<String>,
    /// Number of completed comparisons since the start, including each poll that found the kernel as the previous comparison
    /// had left it.
    pub comparison_count: u64,
    /// When something was last corrected or changed, RFC 3339.
    pub changed_at: Option<String>,
    /// What was done then.
    pub changes: Vec<Step>,
    /// Steps that failed and will be retried.
    pub problems: Vec<Step>,
    /// Why the file could not be read again or compared with the kernel; the previous configuration stays in force.
    pub error: Option<Fault>,
}

/// What is watched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GuardReport {
    /// Limits beyond which an instance is disabled.
    pub limits: Limits,
    /// Instances that the file leaves out.
    pub left_out: Vec<String>,
    /// Intervals that have ended since the daemon was started or its `[guard]` changed.
    pub window_count: u64,
    /// Connections of the fallback in the last interval; none before the first has ended.
    pub fallback_window: Option<IntervalStats>,
    /// Instances, from the end of their first interval on.
    pub watched: Vec<GuardedInstance>,
    /// What has happened since the daemon was started or its `[guard]` changed, the latest at the end.
    pub events: Vec<GuardEvent>,
}

/// An instance that is watched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GuardedInstance {
    /// Kernel name.
    pub name: String,
    /// Whether it had enough active connections in the last interval.
    pub is_judged: bool,
    /// Number of the latest intervals in a row that were bad.
    pub bad_windows: u32,
    /// The last interval.
    pub window: IntervalStats,
}

impl GuardReport {
    /// Is an instance of this name watched?
    #[must_use]
    pub fn watches(&self, name: &str) -> bool {
        watches(&self.limits, &self.left_out, name)
    }
}

/// Does a guard with these limits watch an instance of this name? The fallback is what it compares with.
#[must_use]
pub fn watches(limits: &Limits, left_out: &[String], name: &str) -> bool {
    name != limits.fallback && left_out.iter().all(|known| known != name)
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuardEvent {
    /// When, RFC 3339.
    pub at: String,
    /// To which instance.
    pub name: String,
    /// What.
    pub text: String,
}
