// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other parameters in a running instance.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;
use crate::settings::{Changes, ShownParameter};
use crate::Operation;

/// Change parameters of a running instance: all of them or none.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Tune {
    /// Running instance
    pub name: String,
    /// Parameters to change: all of them or none
    #[command(flatten)]
    pub set: Changes,
    /// Only print what would change
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

/// What was changed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Tuned {
    /// Kernel name of the instance.
    pub name: String,
    /// Is any value another one now?
    pub changed: bool,
    /// Parameters, in the order of their declaration; with `value_before` where the value is another one now.
    pub parameters: Vec<ShownParameter>,
    /// Was it only printed, and nothing changed?
    #[serde(default)]
    pub dry_run: bool,
}

impl Operation for Tune {
    type Answer = Tuned;
    const NAME: &'static str = "tune";
    const TITLE: &'static str = "Change parameters of a running instance, live";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<Tuned> {
        let settings: Vec<_> = self.set.0.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        let tuned = if self.dry_run {
            ccctl_loader::preview_tune(&self.name, &settings)?
        } else {
            ccctl_loader::tune(&request::lock()?, &self.name, &settings)?
        };
        let values = tuned.before.iter().zip(tuned.after.iter());
        let parameters: Vec<_> =
            values.map(|((parameter, before), (_, after))| ShownParameter::changed(parameter, before, after)).collect();
        let changed = parameters.iter().any(|parameter| parameter.value_before.is_some());
        Ok(Tuned { name: self.name.clone(), changed, parameters, dry_run: self.dry_run })
    }
}
