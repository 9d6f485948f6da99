// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line of the live screen.

use std::time::Duration;

use ccctl_console::arguments::{time, Output};
use clap::Args;

/// What its numbers mean.
const MEANINGS: &str = "SRTT and CWND are means over senders: connections that had data acknowledged, each with the \
weight of the packets acknowledged. Idle sockets and receivers do not count. Press ? for the keys.";

/// `ccctl top`
#[derive(Debug, Args)]
#[command(after_help = MEANINGS)]
pub struct Top {
    /// Time between two samples
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub every: Duration,
    /// Start with ACK timing on (same as pressing `a`; costs a few percent CPU)
    #[arg(long)]
    pub acks: bool,
    /// Interface on which ACKs are timed; may be repeated [default: all that are up, including loopback]
    #[arg(long = "interface", short, value_name = "IF")]
    pub interfaces: Vec<String>,
    /// Time ACKs in this network namespace: a name in /run/netns or the path of a namespace file
    #[arg(long, value_name = "NAME|PATH")]
    pub netns: Option<String>,
    /// Take one sample over --every, print it and exit (for scripts)
    #[arg(long)]
    pub once: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}
