//! The simulator's ground: congestion control algorithms run from their own C source, without a kernel.
//!
//! [`native`] compiles `bpf/algorithms/*.bpf.c` for this machine; [`Flow`] drives one of them through the kernel's
//! contract, one verb per event. There is no clock here, no thread and no randomness: the caller says what happens.

mod flow;
pub mod native;

pub use flow::{Ack, Flow, SSTHRESH_INFINITE_PKTS};
pub use native::{Instance, InstanceError};
