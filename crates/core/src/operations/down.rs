// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking everything back.

use ccctl_loader::{Moved, Unloaded};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::daemon;
use crate::plan;
use crate::request;
use crate::Operation;

/// Take everything back to what was there before. A daemon that runs ends after it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Down {}

/// What was taken back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TornDown {
    /// Rules taken out.
    pub rules_removed: usize,
    /// Sockets that rules had given something, and that have their previous algorithm again.
    pub sockets_of_rules: Moved,
    /// Instances, sockets and defaults.
    #[serde(flatten)]
    pub unloaded: Unloaded,
    /// The process of the daemon that has ended; none where none ran.
    pub ended: Option<u32>,
}

impl Operation for Down {
    type Answer = TornDown;
    const NAME: &'static str = "down";
    const TITLE: &'static str = "Take everything back to what was there before, and end the daemon";

    fn changes(&self) -> bool {
        true
    }

    fn run(&self) -> anyhow::Result<TornDown> {
        let daemon = daemon::here();
        match &daemon {
            Some(daemon) => daemon.stop_keeping()?,
            None => daemon::require_none("take everything back")?,
        }
        let lock = request::lock_as_it_is()?;
        let plan::TornDown { rules: (rules, moved), unloaded } = plan::teardown(&lock)?;
        lock.remove_files()?;
        ccctl_telemetry::lost_events::remove();
        daemon::remove_leftovers();
        if let Some(daemon) = &daemon {
            daemon.end();
        }
        Ok(TornDown {
            rules_removed: rules,
            sockets_of_rules: moved,
            unloaded,
            ended: daemon.map(|_| std::process::id()),
        })
    }
}
