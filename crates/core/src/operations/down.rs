// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking everything back.

use ccctl_loader::{preview_unassign, preview_unload, Instance, Moved, UnloadOptions, Unloaded};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::daemon;
use crate::plan;
use crate::request;
use crate::Operation;

/// Take everything back to what was there before. A daemon that runs ends after it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Down {
    /// Only print what would change
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

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
    const TITLE: &'static str = "Undo everything that ccctl has done on this host, and stop the daemon";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<TornDown> {
        if self.dry_run {
            return preview();
        }
        let daemon = daemon::here();
        match &daemon {
            Some(daemon) => daemon.stop_keeping()?,
            None => daemon::require_none("undo everything")?,
        }
        let lock = request::lock_as_it_is()?;
        super::experiment::stop_all("ccctl down")?;
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

fn preview() -> anyhow::Result<TornDown> {
    let (rules, sockets_of_rules) = preview_unassign(None)?;
    let options = UnloadOptions { migrate_to: None, force: true };
    let mut unloaded = preview_unload(&Instance::names()?, &options)?;
    unloaded.migrated = std::mem::take(&mut unloaded.left); // to the default
    let ended = daemon::here().map(|_| std::process::id());
    Ok(TornDown { rules_removed: rules.len(), sockets_of_rules, unloaded, ended })
}
