// SPDX-License-Identifier: GPL-2.0-only
//! Tests that this host cannot answer.

use std::io::Write as _;

/// Set in guests, where a test that is skipped is a failure.
const NOTHING_SKIPPED: &str = "CCCTL_NOTHING_SKIPPED";

/// Says that a test is skipped, and why, past the capture of the test's output: `scripts/test` counts these lines.
///
/// # Panics
/// Where `CCCTL_NOTHING_SKIPPED` is set, or stderr is closed.
#[track_caller]
pub fn skip(test: &str, reason: &str) {
    assert!(!nothing_is_skipped(), "{test} cannot be skipped here: {reason}");
    let line = format!("\nskipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
}

/// Is this a guest whose kernel is sound? Then nothing is probed, and no test is skipped.
#[must_use]
pub fn nothing_is_skipped() -> bool {
    std::env::var_os(NOTHING_SKIPPED).is_some()
}
