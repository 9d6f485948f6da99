// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the daemon tells of itself and of its guard.

use ccctl_console::Fault;
use ccctl_loader::SocketWindow;
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
    /// The file that is kept: its own, or one that `apply` has given it since; none where its own was not there.
    pub in_force: Option<String>,
    /// How often the file was read again, or refused.
    pub reloads: u32,
    /// When kernel and file were last compared, RFC 3339.
    pub compared_at: Option<String>,
    /// How often they were compared, to the end, since the start. Counts each look that found the kernel as the comparison before
    /// had left it.
    pub comparison_count: u64,
    /// When something was last put right or changed, RFC 3339.
    pub changed_at: Option<String>,
    /// What was done then.
    pub changes: Vec<Step>,
    /// What could not be done, and is tried again.
    pub problems: Vec<Step>,
    /// Why the file could not be read anew, or the kernel not be compared with it: what was in force still is.
    pub error: Option<Fault>,
}

/// What is watched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GuardReport {
    /// From when on an instance is out of use.
    pub limits: Limits,
    /// Instances that the file leaves out.
    pub left_out: Vec<String>,
    /// Windows that have ended since the daemon was started or its `[guard]` changed.
    pub window_count: u64,
    /// What connections of the fallback did in the last window; none before the first has ended.
    pub fallback_window: Option<WindowInfo>,
    /// Instances, from the end of their first window on.
    pub watched: Vec<GuardedInstance>,
    /// What has happened since the daemon was started or its `[guard]` changed, the latest at the end.
    pub events: Vec<GuardEvent>,
}

/// An instance that is watched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GuardedInstance {
    /// Kernel name.
    pub name: String,
    /// Had it enough active connections in the last window?
    pub is_judged: bool,
    /// So many of the last windows were bad, one after the other.
    pub bad_windows: u32,
    /// The last window.
    pub window: WindowInfo,
}

/// What connections did in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowInfo {
    /// Connections that sent data in it, or wait for an acknowledgement at its end.
    pub active: u64,
    /// Of these, those with a window that cannot be; what follows leaves them out.
    pub impossible: u64,
    /// At its end: wait for an acknowledgement, and a retransmission timeout has come.
    pub stalled: u64,
    /// Segments with data that were sent.
    pub data_segments: u64,
    /// Of these, retransmissions.
    pub retransmits_pkts: u64,
    /// Retransmission timeouts; 0 before Linux 6.7.
    pub timeouts: u64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuardEvent {
    /// When, RFC 3339.
    pub at: String,
    /// To which instance.
    pub name: String,
    /// What.
    pub text: String,
}

impl From<SocketWindow> for WindowInfo {
    fn from(window: SocketWindow) -> Self {
        let SocketWindow { active, impossible, stalled, data_segments, retransmits_pkts, timeouts } = window;
        Self { active, impossible, stalled, data_segments, retransmits_pkts, timeouts }
    }
}
