// SPDX-License-Identifier: GPL-2.0-only
//! A path that is emulated in user space: rate, delays, queue, losses and marks between network namespaces, for kernels that
//! have neither netem nor fq.
//!
//! A router takes packets from the TUN devices of all namespaces. When each leaves is worked out as it comes
//! (`direction`: the queues and links of the simulator), so that queue, drops and marks are exact for the packets' times of
//! arrival. What cannot be exact, the moments at which packets are taken in and handed over, is measured during each run, in
//! the router and by echoes through the whole path; [`PathReport::faults`] says what speaks against a run.

mod affinity;
mod clock;
mod devices;
mod direction;
mod emulator;
mod endpoints;
mod flow;
mod forced_drops;
mod latency_probe;
mod lateness;
mod netem;
mod nice;
mod plan;
mod rate;
mod report;
mod router;
mod routers;
mod spec;
mod tun;

pub use affinity::Affinity;
pub use clock::PathTime;
pub use devices::DeviceCounters;
pub use direction::{Counters, DirectionReport, DirectionSample};
pub use emulator::Path;
pub use endpoints::Endpoints;
pub use flow::FlowKey;
pub use latency_probe::ProbeReport;
pub use lateness::LatenessReport;
pub use netem::NetemPath;
pub use plan::{sender_v4, sender_v6, RECEIVER_V4, RECEIVER_V6};
pub use report::{Fault, PathReport};
pub use router::{QueueSample, RouterReport};
pub use spec::{Bounds, PathSpec, SenderSpec, Waiting};
