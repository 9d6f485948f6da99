// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line of the live screen.

use std::time::Duration;

use ccctl_console::arguments::{time, Output};
use clap::Args;

/// `ccctl top`
#[derive(Debug, Args)]
pub struct Top {
    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub every: Duration,
    /// Time ACKs from the start; costs a few per cent, so that otherwise only the key `a` turns it on
    #[arg(long)]
    pub acks: bool,
    /// Interface on which ACKs are timed; may be repeated [default: all that are up, loopback included]
    #[arg(long = "interface", short, value_name = "IF")]
    pub interfaces: Vec<String>,
    /// Time ACKs in this network namespace: a name in /run/netns or the path of a namespace file
    #[arg(long, value_name = "NAME|PATH")]
    pub netns: Option<String>,
    /// Print what one such time brings, and end: for scripts
    #[arg(long)]
    pub once: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}
