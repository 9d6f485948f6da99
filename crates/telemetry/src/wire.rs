//! What the programs in `xdp/` write and read, made of the headers there.
#![allow(unsafe_code)]

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod header {
    include!(concat!(env!("OUT_DIR"), "/ack_clock.rs"));
}

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod metrics {
    include!(concat!(env!("OUT_DIR"), "/metrics.rs"));
}

pub(crate) use metrics::{metric_control, metric_histogram, series_counts, series_key, series_present, METRIC_BUCKETS};

#[allow(clippy::all, clippy::pedantic, missing_docs, non_camel_case_types, non_upper_case_globals, dead_code)]
mod trace_header {
    include!(concat!(env!("OUT_DIR"), "/trace_record.rs"));
}

pub use header::{
    ack_times, algorithm_counts, arrival_counts, clock_settings, drop_key, ACK_ALGORITHM_SLOTS, ACK_BUCKETS,
    ACK_BUCKETS_PER_OCTAVE, ACK_NAME_BYTES, ACK_SACK_KINDS,
};
pub use trace_header::{
    trace_record, trace_settings, TRACE_ACK, TRACE_CLOSED, TRACE_RECOVERY, TRACE_RETRANSMIT, TRACE_TIMEOUT,
};

// SAFETY: integers and arrays of integers only, without padding (the layout tests of bindgen hold sizes and offsets):
// every bit pattern is a value, and every byte is initialized.
unsafe impl aya::Pod for arrival_counts {}
// SAFETY: as above.
unsafe impl aya::Pod for algorithm_counts {}
// SAFETY: as above.
unsafe impl aya::Pod for clock_settings {}
// SAFETY: as above.
unsafe impl aya::Pod for drop_key {}
// SAFETY: as above.
unsafe impl aya::Pod for trace_settings {}

impl trace_record {
    /// What a program has put into the ring; None where it is too short.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < size_of::<Self>() {
            return None;
        }
        // SAFETY: integers only, for which every bit pattern is a value; there are as many bytes, and it may be unaligned.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    /// Kernel name of the algorithm.
    #[must_use]
    pub fn algorithm_name(&self) -> String {
        text(&self.algorithm)
    }
}

// SAFETY: as above.
unsafe impl aya::Pod for metric_control {}
// SAFETY: as above.
unsafe impl aya::Pod for series_counts {}
// SAFETY: as above.
unsafe impl aya::Pod for series_key {}
// SAFETY: as above.
unsafe impl aya::Pod for series_present {}

/// A name that ends at the first zero.
pub(crate) fn text(name: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = name.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
