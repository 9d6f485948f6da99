// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard.

use ccctl_console::output;
use ccctl_loader::guard::{rearm, trips, Trip};
use ccctl_loader::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::daemon::{self, GuardReport};
use crate::request;
use crate::Operation;

/// Show what the guard watches and has disabled, or enable an instance again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// Instance to enable and watch again; without it, nothing changes.
    pub rearm: Option<String>,
    /// Only check that the guard has disabled it.
    #[serde(default)]
    pub dry_run: bool,
}

/// What the guard watches and has disabled.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GuardAnswer {
    /// What is watched; null if no daemon runs or its file has no `[guard]`.
    pub guard: Option<GuardReport>,
    /// Disabled instances, as recorded in the kernel.
    pub tripped: Vec<Tripped>,
    /// The instance that was enabled again.
    pub rearmed: Option<String>,
    /// It was only checked, and is disabled as before.
    pub dry_run: bool,
}

/// A disabled instance.
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

impl From<Trip> for Tripped {
    fn from(trip: Trip) -> Self {
        let Trip { name, fallback, since, why } = trip;
        Self { name, fallback, since: output::time(since), why }
    }
}

/// Disabled instances, as recorded in the kernel.
pub fn tripped() -> anyhow::Result<Vec<Tripped>> {
    Ok(trips()?.into_iter().map(Tripped::from).collect())
}

impl Operation for Guard {
    type Answer = GuardAnswer;
    const NAME: &'static str = "guard";
    const TITLE: &'static str = "Show what the guard watches and has disabled, or enable an instance again";

    fn changes(&self) -> bool {
        self.rearm.is_some()
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run && self.changes()
    }

    fn run(&self) -> anyhow::Result<GuardAnswer> {
        if let Some(name) = &self.rearm {
            require_tripped(name)?;
            if !self.dry_run {
                enable(name)?;
            }
        }
        let guard = daemon::here().and_then(daemon::RunningDaemon::guard);
        Ok(GuardAnswer { guard, tripped: tripped()?, rearmed: self.rearm.clone(), dry_run: self.is_dry_run() })
    }
}

fn enable(name: &str) -> anyhow::Result<()> {
    if let Some(daemon) = daemon::here() {
        return daemon.rearm(name);
    }
    daemon::require_none("enable the instance")?;
    rearm(&request::lock()?, name)?;
    Ok(())
}

fn require_tripped(name: &str) -> anyhow::Result<()> {
    let trips = trips()?;
    if trips.iter().any(|trip| trip.name == name) {
        return Ok(());
    }
    let names: Vec<String> = trips.into_iter().map(|trip| trip.name).collect();
    let hint = match names.as_slice() {
        [] => "the guard has disabled nothing".to_owned(),
        names => format!("disabled: {}", names.join(", ")),
    };
    Err(Error::Unknown { kind: "disabled instance called", name: name.to_owned(), hint }.into())
}
