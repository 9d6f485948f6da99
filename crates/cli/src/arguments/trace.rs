// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line of traces and of the pictures drawn of them.

use std::path::PathBuf;
use std::time::Duration;

use ccctl_console::arguments::{time, time_within, Output};
use clap::Args;

use super::sockets::SocketSelection;

/// `ccctl trace`
#[derive(Debug, Args)]
pub struct Trace {
    /// Of this algorithm: an instance or a built-in one
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Which.
    #[command(flatten)]
    pub selection: SocketSelection,
    /// A row for each socket so often
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "10ms", conflicts_with = "each_ack")]
    pub every: Duration,
    /// A row for each segment with an ACK that arrives, with the values that it meets
    #[arg(long)]
    pub each_ack: bool,
    /// How long [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub time: Option<Duration>,
    /// Rows of the host, too: how long its backlogs are and how many packets they have dropped
    #[arg(long)]
    pub backlog: bool,
    /// The file: .jsonl or .csv [default: JSON lines on stdout]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Draw this picture (.svg) at the end
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// State fields to draw [default: those that change]
    #[arg(long, value_name = "FIELD", value_delimiter = ',', num_args = 1, requires = "plot")]
    pub draw: Vec<String>,
    /// Room for events on their way from the kernel, in bytes: a power of two
    #[arg(long, value_name = "BYTES", hide = true)]
    pub ring: Option<u32>,
    /// Print a summary as JSON at the end
    #[arg(long)]
    pub json: bool,
}

/// `ccctl plot`
#[derive(Debug, Args)]
pub struct Plot {
    /// A trace: .jsonl or .csv
    pub file: PathBuf,
    /// The picture [default: beside the trace, .svg]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Which socket: its number in the trace from 1 on, or its cookie [default: the one with most bytes acknowledged]
    #[arg(long, value_name = "NUMBER|COOKIE")]
    pub socket: Option<String>,
    /// State fields to draw [default: those that change]
    #[arg(long = "state", value_name = "FIELD", value_delimiter = ',', num_args = 1)]
    pub fields: Vec<String>,
    /// The host's backlogs under it; the trace must have been taken with --backlog
    #[arg(long)]
    pub backlog: bool,
    /// How to print.
    #[command(flatten)]
    pub print: Output,
}

/// Below 1 ms a row for each ACK tells more, and costs less.
fn interval(text: &str) -> Result<Duration, String> {
    let bounds = Duration::from_millis(1)..=Duration::MAX;
    time_within(text, bounds, "the shortest interval is 1ms; --each-ack has a row for every ACK")
}
