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

/// Where the daemon's file is.
pub const CONFIG: &str = "/etc/ccctl/ccctl.toml";
