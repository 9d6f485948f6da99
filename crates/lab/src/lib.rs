//! The lab: experiments with congestion control, described by scenarios, run on the simulator, measured.
//!
//! [`testbed`] is the running kernel's side: network namespaces, traffic, and what the kernel says of it; [`path`] puts an emulated
//! path between them.

pub mod backend;
pub mod measures;
pub mod path;
pub mod report;
pub mod run;
pub mod scenario;
mod seed;
pub mod shipped;
pub mod statements;
pub mod testbed;
