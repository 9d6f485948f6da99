// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random words that follow from a seed.

use crate::distributions;

/// `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014): the same words for the same seed, on every host and in every
/// version, so that another program can recompute what was drawn.
#[derive(Debug, Clone)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// The words that follow from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 inclusive to 1 exclusive, out of the upper 53 bits of a word.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normal number with mean 0 and deviation 1: the quantile of the middle of one of 2^53 equal parts.
    pub fn normal(&mut self) -> f64 {
        distributions::normal_quantile(((self.word() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64)
    }

    /// `count` coins: the bits of as many words as needed, lowest bit first.
    pub fn coins(&mut self, count: usize, mut each: impl FnMut(usize, bool)) {
        for start in (0..count).step_by(64) {
            let word = self.word();
            for bit in 0..(count - start).min(64) {
                each(start + bit, word >> bit & 1 == 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Draws;

    #[test]
    fn words_are_those_of_the_reference_implementation() {
        // https://prng.di.unimi.it/splitmix64.c, seed 1234567
        let mut draws = Draws::new(1_234_567);
        assert_eq!([draws.word(), draws.word()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
