// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants of the kernel's TCP and the record of one socket, bound from their only source, the C headers
//! `bpf/include/kernel/constants.h`, `limits.h` and `socket_stats.h`; and text as C keeps it.
#![allow(unsafe_code)] // bytemuck's derives, which check what they promise

use std::ffi::{c_char, CStr};

pub use bound::*;

#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    unused_qualifications
)]
mod bound {
    include!(concat!(env!("OUT_DIR"), "/kernel.rs"));
}

/// Is the window, or the threshold, larger than any that an algorithm can mean? An unset threshold is not.
#[must_use]
pub fn is_impossible_window(pkts: u32) -> bool {
    pkts > CC_CWND_MAX_PKTS && pkts != TCP_INFINITE_SSTHRESH
}

/// Text up to its closing zero, or all of it.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    CStr::from_bytes_until_nul(bytes).map_or(String::from_utf8_lossy(bytes), CStr::to_string_lossy).into_owned()
}

/// The same of C characters.
#[must_use]
pub fn c_text(characters: &[c_char]) -> String {
    text(bytemuck::cast_slice(characters))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Linux 6.12: include/net/inet_connection_sock.h, include/net/tcp.h, include/linux/sched.h, include/net/tcp_states.h
    #[test]
    fn constants_are_the_kernels() {
        assert_eq!((ICSK_CA_PRIV_SIZE, TCP_CA_NAME_MAX, TASK_COMM_LEN), (104, 16, 16));
        assert_eq!(TCP_INFINITE_SSTHRESH, 0x7fff_ffff);
        assert_eq!((TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss), (0, 1, 2, 3, 4));
        assert_eq!((TCP_ESTABLISHED, TCP_SYN_SENT, TCP_SYN_RECV, TCP_CLOSE, TCP_LISTEN), (1, 2, 3, 7, 10));
    }

    /// 100 Gbit/s over 120 ms in packets of 1448 bytes: 1,035,911.
    #[test]
    fn an_unset_threshold_is_possible() {
        assert_eq!(CC_CWND_MAX_PKTS, 1_048_576);
        assert!(!is_impossible_window(CC_CWND_MAX_PKTS) && is_impossible_window(CC_CWND_MAX_PKTS + 1));
        assert!(!is_impossible_window(TCP_INFINITE_SSTHRESH) && is_impossible_window(TCP_INFINITE_SSTHRESH - 1));
        assert!(is_impossible_window(0x8110_4110), "half of a kernel address");
    }

    #[test]
    fn text_ends_at_zero_or_with_its_room() {
        assert_eq!(text(b"cubic\0reno"), "cubic");
        assert_eq!(text(b"no_closing_zero!"), "no_closing_zero!");
        assert_eq!(text(b""), "");
    }
}
