//! What the host is to be like: the configuration file, what it means, and how the kernel differs from it.

mod file;
mod meaning;

pub use file::{Api, File, Level, Log};
pub use meaning::{Policy, Wanted};

/// Where the daemon's file is.
pub const CONFIG: &str = "/etc/ccctl/ccctl.toml";
