// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registering an algorithm.

use ccctl_loader::{current_default, set_default, Instance, LoadRequest};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fence::{self, Fence};
use crate::request;
use crate::settings::{Settings, ShownParameter};
use crate::trust::Trust;
use crate::Operation;

/// Register an algorithm with the kernel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// An algorithm, or an object file (a path, or a name that ends in .o)
    #[arg(value_parser = request::algorithm_word)]
    pub algorithm: String,
    /// Kernel name, up to 15 characters [default: `bpf_ALGORITHM`, shortened if that is longer]
    #[arg(long = "instance", visible_alias = "as", alias = "name", value_name = "NAME")]
    pub name: Option<String>,
    /// Use the parameters of this profile
    #[arg(long)]
    pub profile: Option<String>,
    /// Single parameters, which override the profile
    #[serde(default)]
    #[command(flatten)]
    pub set: Settings,
    /// Make it the default of this network namespace; unloading restores the previous one
    #[serde(default)]
    #[arg(long)]
    pub default: bool,
    /// Accept an object file that others than root can write
    #[serde(default)]
    #[arg(long)]
    pub trust_writable: bool,
    /// Only print what would change
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

/// What was loaded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LoadAnswer {
    /// Kernel name.
    pub name: String,
    /// Algorithm, as `ccctl algorithms` lists it.
    pub algorithm: String,
    /// The kernel's id of its `struct_ops` map; none of a dry run that would register one.
    pub map_id: Option<u32>,
    /// The kernel's id of its link; none on kernels without.
    pub link_id: Option<u32>,
    /// False: the same program was already running with the same parameters.
    pub changed: bool,
    /// The previous default, if it became the default.
    pub congestion_control_before: Option<String>,
    /// Parameters, in the order of their declaration.
    pub parameters: Vec<ShownParameter>,
    /// Was it only printed, and nothing changed?
    #[serde(default)]
    pub dry_run: bool,
}

impl Operation for Load {
    type Answer = LoadAnswer;
    const NAME: &'static str = "load";
    const TITLE: &'static str = "Register an algorithm with the kernel";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<LoadAnswer> {
        let program = request::program(&self.algorithm, Trust::of_option(self.trust_writable))?;
        let set = request::parameters(&program, program.defaults(), self.profile.as_deref(), &self.set)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => program.default_name()?,
        };
        if self.default {
            Fence::of_new(&program, &name).require_open(&name, "the default")?;
        }
        fence::require_load(&program, &name)?;
        let profile = self.profile.as_deref().unwrap_or_default();
        let request = LoadRequest { program: &program, name: &name, profile, parameters: &set };
        let (instance, changed, before) = if self.dry_run {
            let running = ccctl_loader::preview_load(&request)?;
            let changed = running.is_none();
            (running, changed, self.default.then(current_default).transpose()?)
        } else {
            let lock = request::lock()?;
            let loaded = ccctl_loader::load(&lock, &request)?;
            let change = if self.default { Some(set_default(&lock, &name)?) } else { None };
            (Some(loaded.instance), loaded.changed, change.map(|change| change.before))
        };
        Ok(LoadAnswer {
            algorithm: program.algorithm,
            map_id: instance.as_ref().map(|instance| instance.map_id),
            link_id: instance.as_ref().and_then(Instance::link_id),
            changed,
            congestion_control_before: before,
            parameters: ShownParameter::all_in_force(&set),
            name,
            dry_run: self.dry_run,
        })
    }
}
