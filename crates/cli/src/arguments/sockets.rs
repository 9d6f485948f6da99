// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line of what lists sockets.

use ccctl_core::operations::{self, Column};
use clap::Args;

use super::Viewed;

/// `ccctl sockets`
#[derive(Debug, Args)]
pub struct Sockets {
    /// What is asked for.
    #[command(flatten)]
    pub request: operations::Sockets,
    /// Print all columns
    #[arg(long, conflicts_with = "columns")]
    pub wide: bool,
    /// Print these columns
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', num_args = 1)]
    pub columns: Vec<Column>,
    /// How to print, and how often.
    #[command(flatten)]
    pub view: Viewed,
}
