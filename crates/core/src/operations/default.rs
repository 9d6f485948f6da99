// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default algorithm of a network namespace.

use ccctl_loader::{current_default, set_default};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fence::Fence;
use crate::request;
use crate::Operation;

/// Show or set the default algorithm of the caller's network namespace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Default {
    /// Algorithm to make the default: an instance or a built-in one [default: only show it]
    pub name: Option<String>,
    /// Only print what would change
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

/// The default.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DefaultAnswer {
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`: the default of the caller's network namespace.
    pub congestion_control: String,
    /// What it was before it was set; none where it was not set.
    pub congestion_control_before: Option<String>,
    /// Was it only printed, and nothing changed?
    #[serde(default)]
    pub dry_run: bool,
}

impl Operation for Default {
    type Answer = DefaultAnswer;
    const NAME: &'static str = "default";
    const TITLE: &'static str = "Show or set the default algorithm of this network namespace";

    fn changes(&self) -> bool {
        self.name.is_some()
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<DefaultAnswer> {
        if let Some(name) = &self.name {
            Fence::of_named([name])?.require_open(name, "the default")?;
        }
        let (congestion_control, congestion_control_before) = match &self.name {
            None => (current_default()?, None),
            Some(name) if self.dry_run => {
                ccctl_loader::require_available(name)?;
                (name.clone(), Some(current_default()?))
            }
            Some(name) => {
                let change = set_default(&request::lock_as_it_is()?, name)?;
                (change.now, Some(change.before))
            }
        };
        Ok(DefaultAnswer { congestion_control, congestion_control_before, dry_run: self.dry_run })
    }
}
