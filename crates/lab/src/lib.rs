//! The lab: measures congestion control on the running kernel, in network namespaces of its own.

pub mod path;
pub mod testbed;
