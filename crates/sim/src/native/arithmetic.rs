// SPDX-License-Identifier: GPL-2.0-only
//! `bpf/include/fixed.h`, `hstcp.h` and `slow_start.h` as functions: what the algorithms calculate with.

use super::bindings;

pub use bindings::hstcp_table as HstcpTable;

macro_rules! functions_of_numbers {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),+) -> $result:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name($($argument: $type),+) -> $result {
            // SAFETY: touches nothing but its arguments, and is defined for all of their values.
            unsafe { bindings::$name($($argument),+) }
        }
    )*};
}

functions_of_numbers! {
    /// The smaller one.
    cc_min(a: u64, b: u64) -> u64;
    /// The larger one.
    cc_max(a: u64, b: u64) -> u64;
    /// `value` within `low` and `high`.
    cc_clamp(value: u64, low: u64, high: u64) -> u64;
    /// floor(a / b); 0 where b = 0.
    cc_div(a: u64, b: u64) -> u64;
    /// a - b; 0 where b > a.
    cc_beyond(a: u64, b: u64) -> u64;
    /// |a - b|
    cc_distance(a: u64, b: u64) -> u64;
    /// floor(a b / 2^64)
    cc_mul_high(a: u64, b: u64) -> u64;
    /// 1 where a >= b, else 0.
    cc_at_least(a: u64, b: u64) -> u64;
    /// floor(square root)
    cc_sqrt(value: u64) -> u32;
    /// floor(cube root)
    cc_cbrt(value: u64) -> u32;
    /// floor(log2)
    cc_log2_floor(value: u64) -> u32;
    /// log2 in Q40.
    cc_log2_q40(value: u64) -> u64;
    /// 2^x in Q32.
    cc_exp2_q32(x_q40: u64) -> u64;
    /// w^(3/4) in Q10.
    cc_pow075_q10(w: u32) -> u64;
    /// e^-x in Q16.
    cc_exp_neg_q16(x_q16: u64) -> u32;
    /// Packets that a rate delivers in a time, times a gain.
    cc_bdp_pkts(rate_pkts_per_us_q24: u64, rtt_us: u32, gain_q8: u32) -> u64;
    /// One step of an average with weight 1/8.
    cc_ewma8(average_q3: u32, sample: u32) -> u32;
    /// a comes after b, modulo 2^32.
    after(a: u32, b: u32) -> bool;
    /// `RttThresh` of RFC 9406.
    hystart_threshold_us(rtt_us: u32) -> u32;
}

/// The rows of RFC 3649.
#[must_use]
pub fn hstcp_rfc3649() -> &'static HstcpTable {
    // SAFETY: a constant of the C headers, which integers make up.
    unsafe { &*bindings::cc_hstcp_rfc3649() }
}

/// The rows of the exact line from 31 packets.
#[must_use]
pub fn hstcp_even2006() -> &'static HstcpTable {
    // SAFETY: as above.
    unsafe { &*bindings::cc_hstcp_even2006() }
}

/// The row of a window.
#[must_use]
pub fn hstcp_row_of(table: &HstcpTable, cwnd_pkts: u32) -> u32 {
    // SAFETY: reads the table, at indices below HSTCP_ROWS.
    unsafe { bindings::hstcp_row_of(table, cwnd_pkts) }
}

/// The row of a window, begun at the row of an earlier one.
#[must_use]
pub fn hstcp_row_from(table: &HstcpTable, earlier_row: u32, cwnd_pkts: u32) -> u32 {
    // SAFETY: as above.
    unsafe { bindings::hstcp_row_from(table, earlier_row, cwnd_pkts) }
}
