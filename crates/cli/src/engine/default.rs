//! The default algorithm of a network namespace.

use ccctl_loader::{current_default, set_default};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request;
use super::Operation;

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
    /// The default now.
    pub default: String,
    /// What it was before it was set.
    pub before: Option<String>,
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
            return Ok(DefaultAnswer { default: current_default()?, before: None });
        };
        let change = set_default(&request::lock_as_it_is()?, name)?;
        Ok(DefaultAnswer { default: change.now, before: Some(change.before) })
    }
}
