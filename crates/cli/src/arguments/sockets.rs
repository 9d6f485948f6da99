// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line of what chooses sockets.

use ccctl_console::arguments::Output;
use clap::Args;

use ccctl_core::operations::{Column, SocketFilter};

/// Which sockets: filters are combined with AND.
#[derive(Debug, Args)]
pub struct SocketSelection {
    /// Sockets created in this cgroup (v2) or below
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// Sockets held open by this process
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Sockets with this local or remote port
    #[arg(long)]
    pub port: Option<u16>,
    /// Sockets with this local address and port; IPv6 addresses in brackets
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub src: Option<String>,
    /// Sockets with this remote address and port
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub dst: Option<String>,
    /// Sockets in this state: established, listen, connected (all except listen), ...; may be repeated
    #[arg(long)]
    pub state: Vec<String>,
    /// The socket with this cookie (`SO_COOKIE`), decimal or 0x...
    #[arg(long, value_parser = cookie)]
    pub cookie: Option<u64>,
    /// Sockets of this network namespace: a name in /run/netns or the path of a namespace file
    #[arg(long, value_name = "NAME|PATH")]
    pub netns: Option<String>,
}

impl SocketSelection {
    /// The same, and only sockets of this algorithm.
    pub fn filter(&self, instance: Option<&str>) -> SocketFilter {
        let netns_pid = self.netns.as_deref().and_then(process_of);
        SocketFilter {
            instance: instance.map(str::to_owned),
            cgroup: self.cgroup.clone(),
            pid: self.pid,
            port: self.port,
            src: self.src.clone(),
            dst: self.dst.clone(),
            state: self.state.clone(),
            cookie: self.cookie,
            netns: self.netns.clone().filter(|_| netns_pid.is_none()),
            netns_pid,
        }
    }
}

/// The process of `/proc/PID/ns/net`: the daemon takes that from everybody who may ask, and other paths from root alone.
fn process_of(path: &str) -> Option<u32> {
    path.strip_prefix("/proc/")?.strip_suffix("/ns/net")?.parse().ok()
}

/// `ss` prints them in hexadecimal.
fn cookie(text: &str) -> Result<u64, std::num::ParseIntError> {
    text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16))
}

/// `ccctl sockets`
#[derive(Debug, Args)]
pub struct Sockets {
    /// Sockets that use this algorithm, an instance or a built-in one
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Which.
    #[command(flatten)]
    pub selection: SocketSelection,
    /// Sort by this column: text from a to z, numbers from the largest
    #[arg(long, value_name = "COLUMN", hide_possible_values = true)]
    pub sort: Option<Column>,
    /// Maximum number of rows
    #[arg(long, value_name = "NUMBER")]
    pub limit: Option<usize>,
    /// Print all columns
    #[arg(long, conflicts_with = "columns")]
    pub wide: bool,
    /// Print these columns
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', num_args = 1)]
    pub columns: Vec<Column>,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}

/// `ccctl migrate`
#[derive(Debug, Args)]
pub struct Migrate {
    /// Move the sockets that use this algorithm
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// Which.
    #[command(flatten)]
    pub selection: SocketSelection,
    /// All sockets of all network namespaces
    #[arg(long)]
    pub all: bool,
    /// Target algorithm; the same name as --from moves sockets to the new program after a swap
    #[arg(long, value_name = "NAME")]
    pub to: String,
    /// Only count the sockets
    #[arg(long)]
    pub dry_run: bool,
    /// How to print.
    #[command(flatten)]
    pub output: Output,
}
