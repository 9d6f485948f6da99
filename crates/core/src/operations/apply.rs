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

/// Apply a configuration file. A running daemon keeps it in force until it reads its own file again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// Name of the file in messages.
    pub file: String,
    /// What is in it, TOML.
    pub text: String,
    /// Only report what would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Accept object files that other users than root can write.
    #[serde(default)]
    pub trust_writable: bool,
}

/// What was done.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// Name of the file in messages.
    pub file: String,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// Everything that differed; with a cause if the step failed.
    pub steps: Vec<Step>,
    /// Process of the daemon that keeps this configuration; none without a daemon.
    pub kept_by: Option<u32>,
}

impl Operation for Apply {
    type Answer = Applied;
    const NAME: &'static str = "apply";
    const TITLE: &'static str = "Apply a configuration file";

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
        configuration.fence.require_watch(None, &configuration.instances)?; // no guard without a daemon
        let lock = request::lock()?;
        Ok(Applied { steps: plan::execute(&lock, &configuration, dry_run)?, file, dry_run, kept_by: None })
    }
}
