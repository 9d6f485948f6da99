//! The guard.

use ccctl_loader::guard::{rearm, trips, Trip};
use ccctl_loader::{Error, SocketWindow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{request, Operation};
use crate::daemon;
use crate::output;
use crate::policy::Limits;

/// Show what the guard watches and what it has taken out of use, or arm it again for an instance.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// Instance to use and watch again; without, nothing is changed.
    pub rearm: Option<String>,
}

/// What is watched and out of use.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GuardAnswer {
    /// What is watched; none where no daemon runs, or its file has no `[guard]`.
    pub guard: Option<GuardReport>,
    /// Instances that are out of use, as the kernel has them marked.
    pub tripped: Vec<Tripped>,
    /// The instance that is used and watched again.
    pub rearmed: Option<String>,
}

/// An instance that is out of use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tripped {
    /// Kernel name.
    pub name: String,
    /// What connections get instead.
    pub fallback: String,
    /// Since when, RFC 3339.
    pub since: String,
    /// Why.
    pub why: String,
}

/// What is watched.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GuardReport {
    /// From when on an instance is out of use.
    pub limits: Limits,
    /// Instances that the file leaves out.
    pub left_out: Vec<String>,
    /// What connections of the fallback did in the last window; none before the first has ended.
    pub fallback: Option<WindowInfo>,
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

impl From<Trip> for Tripped {
    fn from(trip: Trip) -> Self {
        let Trip { name, fallback, since, why } = trip;
        Self { name, fallback, since: output::time(since), why }
    }
}

/// Instances that are out of use, as the kernel has them marked.
pub fn tripped() -> anyhow::Result<Vec<Tripped>> {
    Ok(trips()?.into_iter().map(Tripped::from).collect())
}

impl Operation for Guard {
    type Answer = GuardAnswer;
    const NAME: &'static str = "guard";
    const TITLE: &'static str = "Show what the guard watches and has taken out of use, or arm it again";

    fn changes(&self) -> bool {
        self.rearm.is_some()
    }

    fn run(&self) -> anyhow::Result<GuardAnswer> {
        if let Some(name) = &self.rearm {
            require_tripped(name)?;
            if let Some(daemon) = daemon::here() {
                daemon.rearm(name)?;
            } else {
                daemon::require_none("arm the guard")?;
                rearm(&request::lock()?, name)?;
            }
        }
        let guard = daemon::here().and_then(daemon::Daemon::guard);
        Ok(GuardAnswer { guard, tripped: tripped()?, rearmed: self.rearm.clone() })
    }
}

fn require_tripped(name: &str) -> anyhow::Result<()> {
    let trips = trips()?;
    if trips.iter().any(|trip| trip.name == name) {
        return Ok(());
    }
    let names: Vec<String> = trips.into_iter().map(|trip| trip.name).collect();
    let hint = match names.as_slice() {
        [] => "the guard has taken nothing out of use".to_owned(),
        names => format!("there is {}", names.join(", ")),
    };
    Err(Error::Unknown { kind: "instance out of use called", name: name.to_owned(), hint }.into())
}
