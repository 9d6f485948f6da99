// SPDX-License-Identifier: GPL-2.0-only
//! Windows that a kernel has made of a stale stack slot (docs/reference/kernel-matrix.md), and what the hooks make of them.

use ccctl_catalog::kernel::CC_CWND_MAX_PKTS;
use ccctl_sim::native::Windows;
use ccctl_sim::TCP_INFINITE_SSTHRESH;
use proptest::prelude::*;

/// The low half of an address in the kernel's text: what the trampoline was seen to return for ssthresh.
const STALE: u32 = 0x8110_4110;

fn windows(cwnd_pkts: u32, ssthresh_pkts: u32, prior_cwnd_pkts: u32) -> Windows {
    Windows { cwnd_pkts, ssthresh_pkts, prior_cwnd_pkts, packets_out: 10 }
}

/// RFC 6937 with this threshold: a window of 16 becomes 16 + STALE / 16 at the first ACK of the recovery. RFC 5681,
/// equation 4, makes 8 of it.
#[test]
fn a_stale_threshold_becomes_half_of_the_window_before() {
    let seen = windows(16 + STALE / 16, STALE, 16);
    assert_eq!(seen.repaired(), windows(8, 8, 16));
    let timed_out = windows(1, STALE, 16);
    assert_eq!(timed_out.repaired(), windows(1, 8, 16), "slow start goes on to the threshold");
}

/// RFC 5681: no threshold is below two packets. A sender without window is stuck.
#[test]
fn a_threshold_or_a_window_of_nothing_is_repaired() {
    for ssthresh_pkts in [0, 1] {
        assert_eq!(windows(16, ssthresh_pkts, 40).repaired(), windows(16, 20, 40));
        assert_eq!(windows(3, ssthresh_pkts, 3).repaired(), windows(2, 2, 3));
    }
    assert_eq!(windows(0, STALE, 1).repaired(), windows(2, 2, 1), "RFC 6937: recovery ends with the threshold");
}

/// `undo_cwnd` answers with the window before the reduction.
#[test]
fn a_stale_window_becomes_the_one_before_the_reduction() {
    assert_eq!(windows(STALE, 30, 16).repaired(), windows(16, 30, 16));
    assert_eq!(windows(0, TCP_INFINITE_SSTHRESH, 16).repaired(), windows(16, TCP_INFINITE_SSTHRESH, 16));
    assert_eq!(windows(STALE, 30, 0).repaired().cwnd_pkts, 10, "RFC 6928: what a connection begins with");
}

/// A reduction that began with a stale window: what was in flight is all that is known.
#[test]
fn what_is_in_flight_stands_for_a_stale_window_before() {
    let seen = Windows { packets_out: 300, ..windows(STALE / 2, STALE, STALE / 2) };
    assert_eq!(seen.repaired(), Windows { cwnd_pkts: 150, ssthresh_pkts: 150, ..seen });
}

/// A window in use that has grown beyond the limit is held there.
#[test]
fn a_window_in_use_stays_at_the_limit() {
    let seen = Windows { packets_out: CC_CWND_MAX_PKTS + 5, ..windows(CC_CWND_MAX_PKTS + 5, 1000, 2000) };
    assert_eq!(seen.repaired().cwnd_pkts, CC_CWND_MAX_PKTS);
}

#[test]
fn without_a_reduction_the_threshold_is_infinite() {
    assert_eq!(windows(10, STALE, 0).repaired(), windows(10, TCP_INFINITE_SSTHRESH, 0));
}

proptest! {
    #[test]
    fn possible_windows_stay(cwnd in 1..=CC_CWND_MAX_PKTS, ssthresh in 2..=CC_CWND_MAX_PKTS, prior in any::<u32>()) {
        for ssthresh in [ssthresh, TCP_INFINITE_SSTHRESH] {
            let seen = windows(cwnd, ssthresh, prior);
            prop_assert_eq!(seen.repaired(), seen);
        }
    }

    #[test]
    fn all_others_become_possible(cwnd: u32, ssthresh: u32, prior: u32, packets_out: u32) {
        let after = Windows { packets_out, ..windows(cwnd, ssthresh, prior) }.repaired();
        prop_assert!((1..=CC_CWND_MAX_PKTS).contains(&after.cwnd_pkts), "{:?}", after);
        let threshold = after.ssthresh_pkts;
        prop_assert!((2..=CC_CWND_MAX_PKTS + 1).contains(&threshold) || threshold == TCP_INFINITE_SSTHRESH, "{:?}", after);
        prop_assert_eq!(after.repaired(), after);
    }
}
