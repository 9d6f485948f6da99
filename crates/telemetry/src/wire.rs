//! What the programs in `xdp/` write and read, made of `xdp/ack_clock.h` and `xdp/metrics.h`.
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

pub use header::{
    ack_times, algorithm_counts, arrival_counts, clock_settings, drop_key, ACK_ALGORITHM_SLOTS, ACK_BUCKETS,
    ACK_BUCKETS_PER_OCTAVE, ACK_NAME_BYTES, ACK_SACK_KINDS,
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
