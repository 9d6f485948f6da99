// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl guard`

use ccctl_console::arguments::Output;
use clap::{Args, Subcommand};

/// `ccctl guard`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Guard {
    /// What to do; without, only show.
    #[command(subcommand)]
    pub command: Option<GuardCommand>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl guard ...`
#[derive(Debug, Subcommand)]
pub enum GuardCommand {
    /// Use and watch an instance again; connections that were moved stay where they are
    Rearm {
        /// Instance that is out of use
        name: String,
        /// How to print.
        #[command(flatten)]
        output: Output,
    },
}
