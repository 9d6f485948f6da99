// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the API's server and that of the metrics have in common.

mod write_limit;

pub use write_limit::WriteLimit;

/// Longest header of a request.
pub const HEADER_BYTES: usize = 16 << 10;
