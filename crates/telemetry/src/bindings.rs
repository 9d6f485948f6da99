// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs in `xdp/` write and read, made of the headers there.
#![allow(unsafe_code)]

use ccctl_catalog::kernel::c_text;

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod header {
    include!(concat!(env!("OUT_DIR"), "/ack_clock.rs"));
}

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod metrics {
    include!(concat!(env!("OUT_DIR"), "/metrics.rs"));
}

pub use metrics::{cluster_counts, completion_counts, metric_histogram, series_counts, METRIC_SIZES};
pub(crate) use metrics::{
    cluster_key, metric_control, metric_experiment, metric_scope, series_key, series_present, METRIC_BUCKETS,
    METRIC_CGROUPS, METRIC_ECN_MODES, METRIC_SCOPES,
};

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod trace_header {
    include!(concat!(env!("OUT_DIR"), "/trace_record.rs"));
}

pub use header::{
    ack_times, algorithm_counts, arrival_counts, clock_settings, drop_key, ACK_ALGORITHM_SLOTS, ACK_BUCKETS,
    ACK_BUCKETS_PER_OCTAVE, ACK_SACK_KINDS,
};
pub use trace_header::{
    trace_record, trace_settings, TRACE_ACK, TRACE_CLOSED, TRACE_RECOVERY, TRACE_RETRANSMIT, TRACE_TIMEOUT,
};
pub(crate) use trace_header::{TRACE_HINTS, TRACE_HINT_BITS};

macro_rules! pod {
    ($($name:ident)*) => {
        $(
            // SAFETY: bytemuck's derive has checked that any bytes are a value of it, and that it has no padding.
            unsafe impl aya::Pod for $name where $name: bytemuck::Pod {}
        )*
    };
}

pod!(arrival_counts algorithm_counts clock_settings drop_key trace_settings);
pod!(metric_control series_counts series_key series_present);
pod!(cluster_counts cluster_key completion_counts metric_experiment metric_scope);

impl trace_record {
    /// What a program has put into the ring; None where it is too short.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.get(..size_of::<Self>()).map(bytemuck::pod_read_unaligned)
    }

    /// Kernel name of the algorithm.
    #[must_use]
    pub fn algorithm_name(&self) -> String {
        c_text(&self.algorithm)
    }
}
