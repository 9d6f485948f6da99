//! `bpf/include/fixed.h`, `hstcp.h` and `slow_start.h` as functions: what the algorithms calculate with.

use super::bindings;

pub use bindings::{hstcp_line as HstcpLine, hstcp_response as HstcpResponse, hstcp_table as HstcpTable, HSTCP_ROWS};

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
    /// |a - b|
    cc_distance(a: u64, b: u64) -> u64;
    /// floor(a b / 2^64)
    cc_mul_high(a: u64, b: u64) -> u64;
    /// 1 where a >= b, else 0.
    cc_at_least(a: u64, b: u64) -> u64;
    /// a b in Q40.
    cc_mul_q40(a_q40: u64, b_q40: u64) -> u64;
    /// a / b in Q40.
    cc_ratio_q40(a: u64, b: u64) -> u64;
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
    cc_seq_after(a: u32, b: u32) -> bool;
    /// `RttThresh` of RFC 9406.
    hystart_threshold_us(rtt_us: u32) -> u32;
}

/// The line p(W) of a response function.
#[must_use]
pub fn hstcp_line(response: &HstcpResponse) -> HstcpLine {
    // SAFETY: reads the struct that it is given.
    unsafe { bindings::hstcp_line(response) }
}

/// a(W) in Q32.
#[must_use]
pub fn hstcp_increase_q32(line: &HstcpLine, cwnd_pkts: u32) -> u64 {
    // SAFETY: reads the struct that it is given.
    unsafe { bindings::hstcp_increase_q32(line, cwnd_pkts) }
}

/// b(W) in Q40, of W's logarithm.
#[must_use]
pub fn hstcp_decrease_q40(line: &HstcpLine, log_q40: u64) -> u64 {
    // SAFETY: reads the struct that it is given.
    unsafe { bindings::hstcp_decrease_q40(line, log_q40) }
}

/// The table of a response function.
#[must_use]
pub fn hstcp_table(response: &HstcpResponse) -> HstcpTable {
    let mut table = HstcpTable { rows: 0, cwnd_pkts: [0; HSTCP_ROWS as usize], decrease_q8: [0; HSTCP_ROWS as usize] };
    // SAFETY: writes the table, whose rows it keeps below HSTCP_ROWS, and reads the response.
    unsafe { bindings::hstcp_fill_table(&raw mut table, response) };
    table
}

/// The row of a window.
#[must_use]
pub fn hstcp_row(table: &HstcpTable, cwnd_pkts: u32) -> u32 {
    // SAFETY: reads the table, at indices below HSTCP_ROWS.
    unsafe { bindings::hstcp_row(table, cwnd_pkts) }
}
