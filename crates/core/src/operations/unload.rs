// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking instances out of the kernel.

use ccctl_console::UsageError;
use ccctl_loader::{Instance, UnloadOptions, Unloaded};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fence::Fence;
use crate::request;
use crate::Operation;

/// Take instances out of the kernel: those named, or all.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Unload {
    /// Running instances
    #[serde(default)]
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "NAME")]
    pub names: Vec<String>,
    /// All instances
    #[serde(default)]
    #[arg(long)]
    pub all: bool,
    /// Move their sockets to this algorithm first
    #[arg(long, value_name = "NAME")]
    pub migrate_to: Option<String>,
    /// Unload although sockets use it; they keep the program until they close
    #[serde(default)]
    #[arg(long)]
    pub force: bool,
    /// Only print what would change
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

impl Operation for Unload {
    type Answer = Unloaded;
    const NAME: &'static str = "unload";
    const TITLE: &'static str = "Unload instances";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<Unloaded> {
        if self.all != self.names.is_empty() {
            return Err(
                UsageError::new("the request needs either names or all", "use ccctl unload NAME, or --all").into()
            );
        }
        if let Some(to) = &self.migrate_to {
            Fence::of_named([to])?.require_open(to, "the target of sockets to all destinations")?;
        }
        let lock = request::lock_as_it_is()?;
        let mut names = if self.all { Instance::names()? } else { self.names.clone() };
        names.sort();
        names.dedup();
        let options = UnloadOptions { migrate_to: self.migrate_to.clone(), force: self.force };
        if self.dry_run {
            return Ok(ccctl_loader::preview_unload(&names, &options)?);
        }
        Ok(ccctl_loader::unload(&lock, &names, &options)?)
    }
}
