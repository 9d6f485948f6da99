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
    /// Sockets that use this algorithm, an instance or a built-in one
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Which.
    #[command(flatten)]
    pub selection: SocketSelection,
    /// Interval between two rows of a socket
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "10ms", conflicts_with = "each_ack")]
    pub every: Duration,
    /// One row per arriving ACK, with the values before the ACK is processed
    #[arg(long)]
    pub each_ack: bool,
    /// How long [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub time: Option<Duration>,
    /// Also write rows of the host: length of its backlogs and packets that they dropped
    #[arg(long)]
    pub backlog: bool,
    /// Output file: .jsonl or .csv [default: JSON lines on stdout]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Draw the trace as this file (.svg) at the end
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// State fields to draw [default: those that change]
    #[arg(long, value_name = "FIELD", value_delimiter = ',', num_args = 1, requires = "plot")]
    pub draw: Vec<String>,
    /// Size of the ring for events from the kernel, in bytes: a power of two
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
    /// Output file [default: the name of the trace with .svg]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Which socket: its number in the trace from 1 on, or its cookie [default: the socket with the most acknowledged bytes]
    #[arg(long, value_name = "NUMBER|COOKIE")]
    pub socket: Option<String>,
    /// State fields to draw [default: those that change]
    #[arg(long = "state", value_name = "FIELD", value_delimiter = ',', num_args = 1)]
    pub fields: Vec<String>,
    /// Also draw the host's backlogs; the trace needs --backlog, too
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
