// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl advise`

use std::path::PathBuf;
use std::time::Duration;

use ccctl_console::arguments::{time_within, Output};
use ccctl_core::operations::SocketFilter;
use clap::Args;

/// `ccctl advise`
#[derive(Debug, Args)]
pub struct Advise {
    /// Which sockets.
    #[command(flatten)]
    pub filter: SocketFilter,
    /// How long to look at them
    #[arg(long = "for", value_name = "TIME", value_parser = measuring, default_value = "30s")]
    pub time: Duration,
    /// Algorithms to compare with the present one, by commas: names, and files of objects (./NAME.o)
    #[arg(
        long,
        value_name = "ALGORITHM,...",
        value_delimiter = ',',
        default_value = "bbr,cubic,htcp,illinois,reno,vegas,westwood"
    )]
    pub candidates: Vec<String>,
    /// Accept objects that other users than root can write
    #[arg(long)]
    pub trust_writable: bool,
    /// Take the measurement of an earlier advice, and look at no sockets
    #[arg(long, value_name = "FILE", conflicts_with = "time")]
    pub measured: Option<PathBuf>,
    /// Do not keep the advice
    #[arg(long)]
    pub no_keep: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

fn measuring(text: &str) -> Result<Duration, String> {
    time_within(text, Duration::from_secs(5)..=Duration::from_secs(3600), "from 5s to 1h")
}
