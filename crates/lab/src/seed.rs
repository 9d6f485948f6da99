// SPDX-License-Identifier: GPL-2.0-only
//! Seeds out of seeds: splitmix64 over whatever tells two of them apart.

use ccctl_sim::splitmix64;

/// For `start_spread`.
pub(crate) const START: u64 = 1;
/// For repeats.
pub(crate) const REPEAT: u64 = 2;

/// A number that depends on all of these and their order.
pub(crate) fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state, part| splitmix64(&mut (state ^ part)))
}

/// The seed of a repeat.
pub(crate) fn of_repeat(seed: u64, repeat: u32) -> u64 {
    mix(&[seed, REPEAT, u64::from(repeat)])
}
