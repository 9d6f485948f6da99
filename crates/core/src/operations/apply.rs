// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bringing the host to what a file says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::configuration::Configuration;
use crate::daemon;
use crate::plan::{self, Step};
use crate::request;
use crate::trust::Trust;
use crate::Operation;

/// Bring the host to what a configuration file says. A daemon that runs keeps it so until it reads its own file again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// How messages call the file.
    pub file: String,
    /// What is in it, TOML.
    pub text: String,
    /// Only tell what would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Take object files although others than root can write them.
    #[serde(default)]
    pub trust_writable: bool,
}

/// What was done.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// How messages call the file.
    pub file: String,
    /// Was it only to be told?
    pub dry_run: bool,
    /// Everything that differed; with a cause where it was not done.
    pub steps: Vec<Step>,
    /// The process of the daemon that keeps it so; none without a daemon.
    pub kept_by: Option<u32>,
}

impl Operation for Apply {
    type Answer = Applied;
    const NAME: &'static str = "apply";
    const TITLE: &'static str = "Bring the host to what a configuration file says";

    /// Also a dry run reads files with the daemon's rights: those of the algorithms that it names.
    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<Applied> {
        let configuration = Configuration::of_text(&self.file, &self.text, Trust::of_option(self.trust_writable))?;
        let Self { file, dry_run, .. } = self.clone();
        if let Some(daemon) = daemon::here() {
            let steps = daemon.apply(configuration, &file, dry_run)?;
            return Ok(Applied { file, dry_run, steps, kept_by: Some(std::process::id()) });
        }
        daemon::require_none("apply a file")?;
        let lock = request::lock()?;
        Ok(Applied { steps: plan::execute(&lock, &configuration, dry_run)?, file, dry_run, kept_by: None })
    }
}
