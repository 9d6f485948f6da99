// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl experiment`

use std::path::PathBuf;

use ccctl_console::arguments::Output;
use ccctl_core::operations::{ExperimentPlan, ExperimentStart, ExperimentStatus, ExperimentStop};
use clap::{Args, Subcommand};

use super::Asked;

/// `ccctl experiment`
#[derive(Debug, Args)]
pub struct Experiment {
    /// What to do.
    #[command(subcommand)]
    pub command: ExperimentCommand,
}

/// `ccctl experiment ...`
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one
pub enum ExperimentCommand {
    /// Plan an experiment: how long it takes, what it will find, or why it cannot be decided
    Plan(Asked<ExperimentPlan>),
    /// Start a planned experiment; the daemon carries it out
    Start(Asked<ExperimentStart>),
    /// Show what the pairs say so far, guard-rails and gates
    Status(Asked<ExperimentStatus>),
    /// Write a page of an experiment, with every block as a table
    Report(Report),
    /// Stop an experiment: arm A for its scope, then what the file says
    Stop(Asked<ExperimentStop>),
    /// List experiments
    List(Output),
}

/// `ccctl experiment report`
#[derive(Debug, Args)]
pub struct Report {
    /// Experiment
    pub name: String,
    /// Page to write [default: NAME.html]
    #[arg(long, short, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
    /// How to print: with --json everything that the page has, and no page.
    #[command(flatten)]
    pub output: Output,
}
