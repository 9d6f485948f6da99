// SPDX-License-Identifier: GPL-2.0-only
//! The simulator: congestion control algorithms run from their own C source, without a kernel.
//!
//! [`native`] compiles `bpf/algorithms/*.bpf.c` for this machine; [`Flow`] drives one of them through the kernel's
//! contract, one verb per event. [`Simulation`] puts Linux's TCP around flows and a network of links between their ends, in
//! virtual time: no clock, no thread, no floating point, and randomness only from its seed.

#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

pub mod checks;
mod events;
mod flow;
pub mod native;
mod network;
mod packet;
mod random;
mod ranges;
mod record;
mod scenario;
mod simulation;
mod tcp;
mod traffic;
mod view;

pub use ccctl_catalog::kernel::TCP_INFINITE_SSTHRESH;
pub use flow::{Ack, Flow};
pub use native::{Arguments, Instance, InstanceError, ObjectError, Program, ProgramError};
pub use network::clock::{BitRate, LinkRate, RateTrace, TraceError};
pub use network::codel::Codel;
pub use network::dualpi2::{DualPi2, DualPi2View};
pub use network::link::{LinkCounters, LinkSpec, Reordering};
pub use network::loss::Loss;
pub use network::queue::{Limit, Queue};
pub use network::red::Red;
pub use network::sending_end::{Fate, SendingEnd};
pub use network::{PacketBalance, Stall};
pub use random::{splitmix64, Probability};
pub use record::{Call, Event, Hook, Recording, SocketRecord, WindowRecord};
pub use scenario::{Completion, FlowId, FlowSpec, LinkId, SimulationError};
pub use simulation::Simulation;
pub use tcp::{FlowCounters, TcpSpec};
pub use traffic::{Act, Application, WebUser, Workload};
pub use view::{FlowView, LinkView};
