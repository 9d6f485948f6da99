// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl guard`

use ccctl_console::arguments::Output;
use clap::{Args, Subcommand};

/// `ccctl guard`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Guard {
    /// What to do; by default, show.
    #[command(subcommand)]
    pub command: Option<GuardCommand>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl guard ...`
#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    /// Enable an instance again; connections that were moved keep the fallback algorithm
    Rearm {
        /// Disabled instance
        name: String,
        /// Only check that the guard has disabled it
        #[arg(long)]
        dry_run: bool,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
}
