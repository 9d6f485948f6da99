// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters by algorithm and cgroup, made in the kernel by `xdp/metrics.bpf.c`.
//!
//! [`start`](SocketScanner::start) gives two halves: a [`Reader`], which reads the counters and holds up nobody, and a [`SocketScanner`], which
//! has the kernel go over all sockets now and then.

mod maps;
mod reader;
mod scanner;
mod scope;

use std::os::fd::OwnedFd;

use aya::sys::{enable_stats, Stats};

pub use crate::bindings::{
    cluster_counts as ClusterCounts, completion_counts as CompletionCounts, metric_histogram as Histogram,
    series_counts as Counts, METRIC_SIZES,
};
pub use reader::{fine_bound_us, Gauges, MetricKey, Reader};
pub use scanner::SocketScanner;
pub use scope::Scope;

use crate::error::{Error, Result};

/// Label of cgroups that no rule names, and of algorithms that found no room.
pub const OTHER: &str = "other";
/// Cgroups for which the programs have room.
pub const CGROUPS: usize = crate::bindings::METRIC_CGROUPS as usize;
/// Scopes within cgroups for which the programs have room.
pub const SCOPES: usize = crate::bindings::METRIC_SCOPES as usize;

/// While this lives, the kernel counts the run time of BPF programs. Dropped, it stops, unless somebody else wants it.
#[derive(Debug)]
pub struct StatsOn(#[allow(dead_code)] OwnedFd); // held open, and nothing else

/// Has the kernel count the run time of BPF programs: some 45 ns more for each run of any program of the host.
pub fn count_run_time() -> Result<StatsOn> {
    enable_stats(Stats::RunTime)
        .map(StatsOn)
        .map_err(|error| Error::io("turn on the kernel's run time statistics")(error.io_error))
}
