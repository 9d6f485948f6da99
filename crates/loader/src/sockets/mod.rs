// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP sockets, through the BPF iterators in `bpf/policy/sockets.bpf.c`.
//!
//! [`SocketReader`] tells all of each socket that a [`SocketFilter`] selects, one after the other; [`totals`] adds them up
//! inside the kernel; [`count`] is the part of that which instances need.

mod cgroup;
mod count;
mod counter;
mod filter;
mod follower;
mod iterator;
mod moving;
mod owners;
mod program;
mod rates;
mod reader;
mod record;
mod totals;
mod transport;

pub use cgroup::CgroupPaths;
pub use count::{count, SocketCounts, Usage};
pub use filter::{SocketFilter, SocketState};
pub use follower::{SocketFollower, SocketSample};
pub use moving::Failure;
pub use owners::{Owner, Owners, OwnersReader};
pub use program::{ProgramLayouts, SocketProgram};
pub use rates::{AlgorithmRates, SocketRates};
pub use reader::SocketReader;
pub use record::SocketRecord;
pub use totals::{totals, AlgorithmTotals};
pub use transport::{jiffy, CaState, EcnMode, Transport};

pub(crate) use counter::keep as keep_counter;
pub(crate) use iterator::{SocketIterator, SocketProgramName};
pub(crate) use moving::{reason, MOST_PASSES};

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, unsafe_code, dead_code)]
pub(crate) mod raw {
    include!(concat!(env!("OUT_DIR"), "/socket_record.rs"));
}
