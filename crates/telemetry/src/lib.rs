// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the host does with TCP's ACKs: when they arrive, how long they wait, how long TCP works on them, what is dropped.
//!
//! The programs in `xdp/` count in the kernel; [`Clock`] loads and attaches them for the network namespace of the calling
//! thread, and [`Clock::read`] says what they have counted so far. [`Trace`] tells of chosen sockets, event by event. Everything is attached through links: it goes with the
//! process, however that ends. The one exception, clsact on kernels before 6.6 without room for XDP, is told in
//! [`Point::Clsact`].
//!
//! This crate knows nothing of loading algorithms: it sees names, those of built-in algorithms as well.

mod arrival;
pub mod bindings;
mod clock;
mod cost;
mod drops;
mod error;
mod histogram;
mod interface;
mod kernel_types;
pub mod lost_events;
mod metrics;
mod privileges;
mod softnet;
mod trace;

pub use arrival::{Attached, InterfaceCounts, Point, PointChoice, ARRIVAL_OBJECT};
pub use clock::{AlgorithmCounts, Clock, End, Reading, Settings};
pub use cost::ProgramCost;
pub use drops::Drops;
pub use error::{Error, Result};
pub use histogram::{Bucket, Times};
pub use interface::Interface;
pub use metrics::{
    count_run_time, fine_bound_us, ClusterCounts, CompletionCounts, Counts, Gauges, Histogram, MetricKey, Reader,
    Scope, SocketScanner, StatsOn, CGROUPS, METRIC_SIZES, OTHER, SCOPES,
};
pub use softnet::{Backlog, Softnet};
pub use trace::{monotonic_now, Trace, TraceKind, TraceSettings};
