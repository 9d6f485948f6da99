// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking instances out of the kernel.

use ccctl_console::UsageError;
use ccctl_loader::{Instance, UnloadOptions, Unloaded};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;
use crate::Operation;

/// Take instances out of the kernel: those named, or all.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unload {
    /// Kernel names of instances.
    #[serde(default)]
    pub names: Vec<String>,
    /// All of them, and no names.
    #[serde(default)]
    pub all: bool,
    /// Move their sockets to this algorithm first.
    pub migrate_to: Option<String>,
    /// Unload although sockets use it; they keep the program until they close.
    #[serde(default)]
    pub force: bool,
}

impl Operation for Unload {
    type Answer = Unloaded;
    const NAME: &'static str = "unload";
    const TITLE: &'static str = "Take instances out of the kernel";

    fn changes(&self) -> bool {
        true
    }

    fn run(&self) -> anyhow::Result<Unloaded> {
        if self.all != self.names.is_empty() {
            return Err(UsageError::new("either names or all, and not both", "ccctl unload NAME, or --all").into());
        }
        let lock = request::lock_as_it_is()?;
        let mut names = if self.all { Instance::names()? } else { self.names.clone() };
        names.sort();
        names.dedup();
        let options = UnloadOptions { migrate_to: self.migrate_to.clone(), force: self.force };
        Ok(ccctl_loader::unload(&lock, &names, &options)?)
    }
}
