//! What the host is to be like: the configuration file, what it means, and how the kernel differs from it.

mod carry_out;
mod difference;
mod divert;
mod file;
mod limits;
mod meaning;
mod rules;
mod step;
mod take_back;

pub use carry_out::apply;
pub use divert::sort_trips;
pub use file::Level;
pub use limits::Limits;
pub use meaning::{Guard, Metrics, Policy, Wanted};
pub use step::Step;
pub use take_back::{take_back, TakenBack};

use std::path::Path;

use crate::trust::{self, Trust, Unread};

/// Largest file. One with 10,000 rules has 600 kB.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a configuration file.
pub fn read(path: &Path, trust: Trust) -> Result<String, Unread> {
    let bytes = trust::read(path, MOST_BYTES, trust)?;
    String::from_utf8(bytes).map_err(|_| Unread::Failed(std::io::Error::other("it is not UTF-8 text")))
}

/// Where the daemon's file is.
pub const CONFIG: &str = "/etc/ccctl/ccctl.toml";
