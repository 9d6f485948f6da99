// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registering an algorithm.

use ccctl_loader::{set_default, LoadRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;
use crate::settings::{Settings, ShownParameter};
use crate::trust::Trust;
use crate::Operation;

/// Register an algorithm with the kernel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// An algorithm, or the absolute path of an object file.
    pub algorithm: String,
    /// Kernel name; without, that of the algorithm.
    pub name: Option<String>,
    /// Profile to take parameters from.
    pub profile: Option<String>,
    /// Single parameters; they count more than the profile.
    #[serde(default)]
    pub set: Settings,
    /// Make it the default of the caller's network namespace.
    #[serde(default)]
    pub default: bool,
    /// Take an object file although others than root can write it.
    #[serde(default)]
    pub trust_writable: bool,
}

/// What was loaded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LoadAnswer {
    /// Kernel name.
    pub name: String,
    /// Algorithm, as `ccctl algorithms` lists it.
    pub algorithm: String,
    /// The kernel's id of its `struct_ops` map.
    pub map_id: u32,
    /// The kernel's id of its link; none on kernels without.
    pub link_id: Option<u32>,
    /// False: the same program ran already with the same parameters.
    pub changed: bool,
    /// The default before, where it was asked to become the default.
    pub congestion_control_before: Option<String>,
    /// Parameters, in the order of their declaration.
    pub parameters: Vec<ShownParameter>,
}

impl Operation for Load {
    type Answer = LoadAnswer;
    const NAME: &'static str = "load";
    const TITLE: &'static str = "Register an algorithm with the kernel";

    fn changes(&self) -> bool {
        true
    }

    fn run(&self) -> anyhow::Result<LoadAnswer> {
        let program = request::program(&self.algorithm, Trust::of_option(self.trust_writable))?;
        let set = request::parameters(&program, program.defaults(), self.profile.as_deref(), &self.set)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => program.default_name()?,
        };
        let profile = self.profile.as_deref().unwrap_or_default();
        let lock = request::lock()?;
        let request = LoadRequest { program: &program, name: &name, profile, parameters: &set };
        let loaded = ccctl_loader::load(&lock, &request)?;
        let default = if self.default { Some(set_default(&lock, &name)?) } else { None };
        Ok(LoadAnswer {
            algorithm: program.algorithm,
            map_id: loaded.instance.map_id,
            link_id: loaded.instance.link_id(),
            changed: loaded.changed,
            congestion_control_before: default.map(|change| change.before),
            parameters: ShownParameter::all_in_force(&set),
            name,
        })
    }
}
