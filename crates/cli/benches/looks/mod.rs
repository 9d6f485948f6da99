// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows and thresholds, looked at while something else is measured: one that no algorithm can mean tells that the kernel left a
//! hook out (docs/results/kernel-record.md).
#![allow(dead_code)] // each benchmark uses its part

use std::sync::atomic::{AtomicU32, Ordering};

use ccctl_catalog::kernel::{is_impossible_window, TCP_INFINITE_SSTHRESH};

static LOOKS: AtomicU32 = AtomicU32::new(0);
static LARGEST_PKTS: AtomicU32 = AtomicU32::new(0);

/// Looks at a connection's window and its threshold. Can an algorithm mean both? What it cannot mean is not counted: whoever asks
/// leaves the measurement out.
pub fn are_meant(windows_pkts: [u32; 2]) -> bool {
    if windows_pkts.into_iter().any(is_impossible_window) {
        return false;
    }
    let set = windows_pkts.into_iter().filter(|pkts| *pkts != TCP_INFINITE_SSTHRESH);
    LARGEST_PKTS.fetch_max(set.max().unwrap_or(0), Ordering::Relaxed);
    LOOKS.fetch_add(1, Ordering::Relaxed);
    true
}

/// The same where nothing can be left out: fails.
pub fn require_meant(algorithm: &str, windows_pkts: [u32; 2]) {
    assert!(are_meant(windows_pkts), "{algorithm}: the kernel left a hook out: window and threshold {windows_pkts:?}");
}

/// Prints the line that scripts/judge-kernel-record finds in the page of these results.
pub fn print() {
    let [looks, largest_pkts] = [&LOOKS, &LARGEST_PKTS].map(|number| number.load(Ordering::Relaxed));
    println!("\nLargest window or threshold at {looks} looks: {largest_pkts} packets.");
}
