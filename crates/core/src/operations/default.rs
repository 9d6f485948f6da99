// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default algorithm of a network namespace.

use ccctl_loader::{current_default, set_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;
use crate::Operation;

/// Show or set the default algorithm of the caller's network namespace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Default {
    /// Algorithm to make the default; without, it is only told.
    pub name: Option<String>,
}

/// The default.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DefaultAnswer {
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`: the default of the caller's network namespace.
    pub congestion_control: String,
    /// What it was before it was set; none where it was not set.
    pub congestion_control_before: Option<String>,
}

impl Operation for Default {
    type Answer = DefaultAnswer;
    const NAME: &'static str = "default";
    const TITLE: &'static str = "Show or set the default algorithm of this network namespace";

    fn changes(&self) -> bool {
        self.name.is_some()
    }

    fn run(&self) -> anyhow::Result<DefaultAnswer> {
        let Some(name) = &self.name else {
            return Ok(DefaultAnswer { congestion_control: current_default()?, congestion_control_before: None });
        };
        let change = set_default(&request::lock_as_it_is()?, name)?;
        Ok(DefaultAnswer { congestion_control: change.now, congestion_control_before: Some(change.before) })
    }
}
