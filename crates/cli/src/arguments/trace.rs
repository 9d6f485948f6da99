// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line of traces and of the pictures drawn of them.

use std::path::PathBuf;
use std::time::Duration;

use ccctl_console::arguments::{time, time_within, Output};
use ccctl_core::operations::plot::{By, Choice};
use ccctl_core::operations::SocketFilter;
use clap::Args;

/// `ccctl trace`
#[derive(Debug, Args)]
pub struct Trace {
    /// Which sockets.
    #[command(flatten)]
    pub filter: SocketFilter,
    /// Interval between two rows of a socket
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "10ms", conflicts_with = "each_ack")]
    pub every: Duration,
    /// One row per arriving ACK, with the values before the ACK is processed
    #[arg(long)]
    pub each_ack: bool,
    /// How long to trace [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub time: Option<Duration>,
    /// Also write rows of the host: length of its backlogs and packets that they dropped
    #[arg(long)]
    pub backlog: bool,
    /// Output file: .jsonl or .csv [default: JSON lines on stdout]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Draw the trace as this file (.svg, .png or .pdf) at the end
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
#[allow(clippy::struct_excessive_bools)] // options, each of its own
pub struct Plot {
    /// Traces (.jsonl or .csv), or series of flows that ccctl-lab has written (.csv), drawn in one figure
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Output file: .svg, .png or .pdf [default: the name of the first trace with .svg]
    #[arg(long, short, visible_alias = "out", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the sockets of the trace with their numbers, and draw nothing
    #[arg(long, conflicts_with_all = ["output", "fields", "by", "from", "to", "log", "title", "width", "backlog"])]
    pub list: bool,
    /// Which sockets, one line for each: numbers from --list, or cookies [default: the socket with the most acknowledged
    /// bytes; of several files all that send]
    #[arg(long, visible_alias = "socket", value_name = "NUMBER|COOKIE", value_delimiter = ',', num_args = 1)]
    pub sockets: Vec<String>,
    /// Draw several sockets: all that send, unless --sockets names them
    #[arg(long, value_enum)]
    pub by: Option<PlotBy>,
    /// State fields to draw [default: those that change; of several sockets none]
    #[arg(long = "draw", alias = "state", value_name = "FIELD", value_delimiter = ',', num_args = 1)]
    pub fields: Vec<String>,
    /// Also draw the host's backlogs; the trace needs --backlog, too
    #[arg(long)]
    pub backlog: bool,
    /// Draw from this time of the trace on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<Duration>,
    /// Draw until this time of the trace
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub to: Option<Duration>,
    /// Make the vertical axes logarithmic
    #[arg(long)]
    pub log: bool,
    /// Title of the figure [default: the sockets; none in a paper]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Width: paper-column (3.5 in), wide (7.16 in: both columns), or pixels, of which 96 are an inch
    #[arg(long, value_name = "WIDTH", value_parser = width, default_value = "800")]
    pub width: PlotWidth,
    /// Replace an output file that shows something else
    #[arg(long)]
    pub force: bool,
    /// How to print.
    #[command(flatten)]
    pub print: Output,
}

impl Plot {
    /// What it asks for.
    pub fn choice(&self) -> Choice {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        Choice {
            sockets: self.sockets.clone(),
            by: self.by.map(By::from),
            fields: self.fields.clone(),
            backlog: self.backlog,
            from_s: seconds(self.from),
            to_s: seconds(self.to),
            is_logarithmic: self.log,
            title: self.title.clone(),
            is_for_paper: self.width.is_for_paper,
        }
    }
}

impl From<PlotBy> for By {
    fn from(by: PlotBy) -> Self {
        match by {
            PlotBy::Algorithm => Self::Algorithm,
            PlotBy::Socket => Self::Socket,
        }
    }
}

/// What lines of several sockets are named after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PlotBy {
    /// A name and a colour for each algorithm
    Algorithm,
    /// A name and a colour for each socket
    Socket,
}

/// How wide a figure is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlotWidth {
    /// 96 are an inch.
    pub px: f64,
    /// In a paper the heading is in the caption.
    pub is_for_paper: bool,
}

/// Columns of a paper of IEEE and ACM: 3.5 in, and 7.16 in both with the gap.
fn width(text: &str) -> Result<PlotWidth, String> {
    const PX_PER_INCH: f64 = 96.0;
    match text {
        "paper-column" => Ok(PlotWidth { px: 3.5 * PX_PER_INCH, is_for_paper: true }),
        "wide" => Ok(PlotWidth { px: (7.16 * PX_PER_INCH).floor(), is_for_paper: true }),
        _ => match text.trim_end_matches("px").trim_end().parse::<u16>() {
            Ok(px) if (200..=4000).contains(&px) => Ok(PlotWidth { px: px.into(), is_for_paper: false }),
            _ => Err("paper-column, wide, or from 200 to 4000 pixels".to_owned()),
        },
    }
}

/// Below 1 ms a row for each ACK tells more, and costs less.
fn interval(text: &str) -> Result<Duration, String> {
    let bounds = Duration::from_millis(1)..=Duration::MAX;
    time_within(text, bounds, "the shortest interval is 1ms; --each-ack has a row for every ACK")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_names_or_pixels() {
        let paper = |px| Ok(PlotWidth { px, is_for_paper: true });
        let pixels = |px| Ok(PlotWidth { px, is_for_paper: false });
        assert_eq!((width("paper-column"), width("wide")), (paper(336.0), paper(687.0)));
        assert_eq!((width("800"), width("1200px"), width("640 px")), (pixels(800.0), pixels(1200.0), pixels(640.0)));
        for wrong in ["", "px", "199", "4001", "-800", "3.5in", "column", "8e2"] {
            assert!(width(wrong).is_err(), "{wrong:?}");
        }
    }
}
