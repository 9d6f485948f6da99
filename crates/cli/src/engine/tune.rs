//! Other parameters in a running instance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request;
use super::{Operation, Setting, Settings};

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
    /// Those that are, in the order of their declaration.
    pub parameters: Vec<Change>,
}

/// A parameter that has another value now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Parameter.
    pub name: String,
    /// Value before.
    pub before: Setting,
    /// Value now, as the kernel shows it.
    pub after: Setting,
}

impl Operation for Tune {
    type Answer = Tuned;
    const NAME: &'static str = "tune";
    const TITLE: &'static str = "Change parameters of a running instance, live";

    fn changes(&self) -> bool {
        true
    }

    fn run(&self) -> anyhow::Result<Tuned> {
        let changes: Vec<_> = self.set.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        let lock = request::lock()?;
        let tuned = ccctl_loader::tune(&lock, &self.name, &changes)?;
        let values = tuned.before.iter().zip(tuned.after.iter());
        let differing = values.filter(|((_, before), (_, after))| before != after);
        let parameters: Vec<Change> = differing
            .map(|((parameter, before), (_, after))| Change {
                name: parameter.name.clone(),
                before: Setting::of(parameter, before),
                after: Setting::of(parameter, after),
            })
            .collect();
        Ok(Tuned { name: self.name.clone(), changed: !parameters.is_empty(), parameters })
    }
}
