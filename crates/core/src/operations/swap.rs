// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another program behind a kernel name.

use ccctl_loader::{count_sockets, Instance, SwapRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counters::COUNTERS;
use crate::request;
use crate::settings::Settings;
use crate::trust::Trust;
use crate::Operation;

/// Replace the program behind a kernel name, atomically.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Swap {
    /// Kernel name of the instance.
    pub name: String,
    /// Algorithm or absolute path of an object file; without, the same algorithm as this ccctl has it.
    pub with: Option<String>,
    /// Profile to take parameters from.
    pub profile: Option<String>,
    /// Single parameters; they count more than the profile.
    #[serde(default)]
    pub set: Settings,
    /// Take an object file although others than root can write it.
    #[serde(default)]
    pub trust_writable: bool,
}

/// What was done.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SwapAnswer {
    /// Kernel name.
    pub name: String,
    /// Algorithm, as `ccctl algorithms` lists it: the one behind the name now.
    pub algorithm: String,
    /// The kernel's id of the `struct_ops` map before.
    pub map_id_before: u32,
    /// The kernel's id of the `struct_ops` map now.
    pub map_id: u32,
    /// Always true.
    pub changed: bool,
    /// Sockets that use a program from before.
    pub sockets_on_old_program: usize,
    /// Network namespaces whose default goes on with the program before, and why.
    #[serde(default)]
    pub not_followed: Vec<String>,
}

impl Operation for Swap {
    type Answer = SwapAnswer;
    const NAME: &'static str = "swap";
    const TITLE: &'static str = "Replace the program behind a kernel name, atomically";

    fn changes(&self) -> bool {
        true
    }

    fn run(&self) -> anyhow::Result<SwapAnswer> {
        let name = self.name.as_str();
        let lock = request::lock()?;
        let before = Instance::named(name)?;
        let word = self.with.as_deref().unwrap_or(&before.identity.algorithm);
        let program = request::program(word, Trust::of_option(self.trust_writable))?;
        // The same algorithm keeps its parameters where they still exist; a profile or another algorithm starts anew.
        let keeps = program.layout.parameters == before.layout.parameters
            && program.algorithm == before.identity.algorithm
            && self.profile.is_none();
        let base = if keeps { before.parameters.clone() } else { program.defaults() };
        let set = request::parameters(&program, base, self.profile.as_deref(), &self.set)?;
        let kept_profile = if keeps { before.identity.profile.clone() } else { String::new() };
        let profile = self.profile.as_deref().unwrap_or(&kept_profile);
        drop(before); // its descriptors would keep the old programs alive
        let request = SwapRequest { name, program: &program, profile, parameters: &set };
        let swapped = COUNTERS.swap(ccctl_loader::swap(&lock, &request))?;
        let map_id = swapped.instance.map_id;
        Ok(SwapAnswer {
            name: name.to_owned(),
            algorithm: program.algorithm.clone(),
            map_id_before: swapped.map_id_before,
            map_id,
            changed: true,
            not_followed: swapped.not_followed,
            sockets_on_old_program: count_sockets(name)?.of(name).on_other_map(map_id),
        })
    }
}
