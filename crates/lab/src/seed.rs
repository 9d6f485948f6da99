// SPDX-License-Identifier: GPL-2.0-only
//! Seeds out of seeds: splitmix64 over whatever tells two of them apart.

/// For `start_spread`.
pub(crate) const START: u64 = 1;
/// For repeats.
pub(crate) const REPEAT: u64 = 2;

/// A number that depends on all of these and their order.
pub(crate) fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state, part| {
        let mut z = (state ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// The seed of a repeat.
pub(crate) fn of_repeat(seed: u64, repeat: u32) -> u64 {
    mix(&[seed, REPEAT, u64::from(repeat)])
}
