// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other parameters in a running instance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;
use crate::settings::{Settings, ShownParameter};
use crate::Operation;

/// Change parameters of a running instance: all of them or none.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tune {
    /// Kernel name of the instance.
    pub name: String,
    /// Parameters and their new values.
    pub set: Settings,
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
}

impl Operation for Tune {
    type Answer = Tuned;
    const NAME: &'static str = "tune";
    const TITLE: &'static str = "Change parameters of a running instance, live";

    fn changes(&self) -> bool {
        true
    }

    fn run(&self) -> anyhow::Result<Tuned> {
        let settings: Vec<_> = self.set.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        let lock = request::lock()?;
        let tuned = ccctl_loader::tune(&lock, &self.name, &settings)?;
        let values = tuned.before.iter().zip(tuned.after.iter());
        let parameters: Vec<_> =
            values.map(|((parameter, before), (_, after))| ShownParameter::changed(parameter, before, after)).collect();
        let changed = parameters.iter().any(|parameter| parameter.value_before.is_some());
        Ok(Tuned { name: self.name.clone(), changed, parameters })
    }
}
