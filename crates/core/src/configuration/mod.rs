// SPDX-License-Identifier: MIT OR Apache-2.0
//! The configuration file: its text ([`file`]), checked and resolved to instances, rules and limits (`resolve`).

mod file;
mod limits;
mod metrics_port;
mod resolve;

pub use file::{File, Level, SOCKET};
pub use limits::Limits;
pub use metrics_port::{MetricsPort, Tls};
pub use resolve::{Configuration, Guard, Metrics, WantedInstance, WantedRule};

use std::path::Path;

use crate::trust::{self, Trust, Unread};

/// Largest file. One with 10,000 rules has 600 kB.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a configuration file.
pub fn read(path: &Path, trust: Trust) -> Result<String, Unread> {
    let bytes = trust::read(path, MOST_BYTES, trust)?;
    String::from_utf8(bytes).map_err(|_| Unread::Failed(std::io::Error::other("it is not UTF-8 text")))
}

/// Format of the file: it changes where a file of the version before is refused (docs/reference/upgrades.md).
pub const FILE_FORMAT: u32 = 2;

/// Where the daemon's file is.
pub const PATH: &str = "/etc/ccctl/ccctl.toml";
