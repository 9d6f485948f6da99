// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another program behind a kernel name.

use ccctl_loader::{count_sockets, Instance, Program, SwapRequest};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counters::COUNTERS;
use crate::fence;
use crate::request;
use crate::settings::Settings;
use crate::trust::Trust;
use crate::Operation;

/// Replace the program behind a kernel name, atomically.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Swap {
    /// Running instance
    pub name: String,
    /// The algorithm or object file to put behind the name [default: the same algorithm, as this ccctl contains it]
    #[arg(long, value_name = "ALGORITHM", value_parser = request::algorithm_word)]
    pub with: Option<String>,
    /// Use the parameters of this profile
    #[arg(long)]
    pub profile: Option<String>,
    /// Single parameters, which override the profile
    #[serde(default)]
    #[command(flatten)]
    pub set: Settings,
    /// Accept an object file that others than root can write
    #[serde(default)]
    #[arg(long)]
    pub trust_writable: bool,
    /// Only print what would change
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
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
    /// The kernel's id of the `struct_ops` map now; none of a dry run.
    pub map_id: Option<u32>,
    /// Always true.
    pub changed: bool,
    /// Sockets that still use a previous program.
    pub sockets_on_old_program: usize,
    /// Network namespaces whose default keeps the previous program, and why.
    #[serde(default)]
    pub not_followed: Vec<String>,
    /// Was it only printed, and nothing changed?
    #[serde(default)]
    pub dry_run: bool,
}

impl Operation for Swap {
    type Answer = SwapAnswer;
    const NAME: &'static str = "swap";
    const TITLE: &'static str = "Replace the program behind a kernel name, atomically";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<SwapAnswer> {
        let name = self.name.as_str();
        let lock = request::lock()?;
        let before = Instance::named(name)?;
        let word = self.with.as_deref().unwrap_or(&before.identity.algorithm);
        let program = request::program(word, Trust::of_option(self.trust_writable))?;
        fence::require_same(&program, name)?;
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
        if self.dry_run {
            let map_id_before = ccctl_loader::preview_swap(&request)?;
            return self.answer(&program, map_id_before, None, Vec::new());
        }
        let swapped = COUNTERS.swap(ccctl_loader::swap(&lock, &request))?;
        self.answer(&program, swapped.map_id_before, Some(swapped.map_id), swapped.not_followed)
    }
}

impl Swap {
    fn answer(
        &self,
        program: &Program,
        map_id_before: u32,
        map_id: Option<u32>,
        not_followed: Vec<String>,
    ) -> anyhow::Result<SwapAnswer> {
        let counts = count_sockets(&self.name)?;
        let usage = counts.of(&self.name);
        Ok(SwapAnswer {
            name: self.name.clone(),
            algorithm: program.algorithm.clone(),
            map_id_before,
            map_id,
            changed: true,
            not_followed,
            sockets_on_old_program: map_id.map_or(usage.sockets, |map_id| usage.on_other_map(map_id)),
            dry_run: self.dry_run,
        })
    }
}
