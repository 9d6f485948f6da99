// SPDX-License-Identifier: GPL-2.0-only
//! Random numbers: integers only, the same on every machine, a stream of its own for each purpose and owner.
//!
//! xoshiro256++ (D. Blackman, S. Vigna, 2019), seeded by splitmix64. A stream belongs to a purpose and an index, so a flow
//! more or less changes nobody else's numbers.

use crate::native::arithmetic::{cc_exp2_q32, cc_log2_q40};

const ONE_Q40: u64 = 1 << 40;
const LN2_Q40: u64 = 762_123_384_786; // ln 2 in Q40, rounded

/// What a stream is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Which packets a link loses.
    Loss = 1,
    /// How long a link delays a packet.
    Jitter = 2,
    /// Which packets a queue drops or marks early.
    Queue = 3,
    /// What an algorithm calls random.
    Algorithm = 4,
    /// Sizes and pauses of an application.
    Application = 5,
    /// Delays of one flow's own.
    Access = 6,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random([u64; 4]);

impl Random {
    pub(crate) fn new(seed: u64, purpose: Purpose, index: u32) -> Self {
        let mut state = seed;
        let mut mix = splitmix64(&mut state) ^ ((purpose as u64) << 32 | u64::from(index));
        Self(std::array::from_fn(|_| splitmix64(&mut mix)))
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// One of 0 to limit - 1; 0 where limit is 0. Off an even choice by less than limit / 2^64.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    pub(crate) fn happens(&mut self, probability: Probability) -> bool {
        match probability {
            Probability::NEVER => false,
            Probability::ALWAYS => true,
            Probability(share_q64) => self.next_u64() < share_q64,
        }
    }

    /// -log2 of an even choice from (0, 1], in Q40: between 0 and 62. The choice has 62 bits, its logarithm an error below 2^-39.
    fn minus_log2_q40(&mut self) -> u64 {
        (62 << 40) - cc_log2_q40((self.next_u64() >> 2) + 1).min(62 << 40)
    }

    /// Exponential with this mean. Relative error below 2^-36 but for results below 2^-36 of the mean.
    pub(crate) fn exponential(&mut self, mean: u64) -> u64 {
        let minus_ln_q40 = (u128::from(self.minus_log2_q40()) * u128::from(LN2_Q40)) >> 40;
        ((u128::from(mean) * minus_ln_q40) >> 40) as u64
    }

    /// Pareto: at least `least`, with P(X > x) = (least / x)^shape; no larger than 2^31 times `least`. Relative error below
    /// 2^-30: that of the power of two.
    pub(crate) fn pareto(&mut self, least: u64, shape_milli: u32) -> u64 {
        let exponent_q40 = (u128::from(self.minus_log2_q40()) * 1000 / u128::from(shape_milli.max(1))) as u64;
        scaled_by_power_of_two(least, exponent_q40)
    }

    /// Weibull: scale (-ln U)^(1 / shape).
    pub(crate) fn weibull(&mut self, scale: u64, shape_milli: u32) -> u64 {
        let minus_ln_q40 = (u128::from(self.minus_log2_q40()) * u128::from(LN2_Q40)) >> 40;
        let log_q40 = cc_log2_q40((minus_ln_q40 as u64).max(1)); // of the number in Q40: 40 too much
        let shape = u128::from(shape_milli.max(1));
        let power_q40 = |distance: u64| (u128::from(distance) * 1000 / shape) as u64;
        if log_q40 >= 40 << 40 {
            scaled_by_power_of_two(scale, power_q40(log_q40 - (40 << 40)))
        } else {
            let inverse_q32 = cc_exp2_q32(power_q40((40 << 40) - log_q40).min(32 * ONE_Q40 - 1));
            ((u128::from(scale) << 32) / u128::from(inverse_q32)) as u64
        }
    }

    /// Lognormal: 2^(median + deviation Z) with Z the sum of twelve even choices, which has the normal distribution's mean
    /// and deviation, no values beyond 6, and a distribution function within 0.003 of it.
    pub(crate) fn lognormal(&mut self, median: u64, deviation_log2_milli: u32) -> u64 {
        let sum_q40: u64 = (0..12).map(|_| self.next_u64() >> 24).sum();
        let from_middle_q40 = sum_q40.abs_diff(6 * ONE_Q40);
        let exponent_q40 = (u128::from(from_middle_q40) * u128::from(deviation_log2_milli) / 1000) as u64;
        if sum_q40 >= 6 * ONE_Q40 {
            scaled_by_power_of_two(median, exponent_q40)
        } else {
            ((u128::from(median) << 32) / u128::from(cc_exp2_q32(exponent_q40.min(32 * ONE_Q40 - 1)))) as u64
        }
    }
}

fn scaled_by_power_of_two(value: u64, exponent_q40: u64) -> u64 {
    let power_q32 = cc_exp2_q32(exponent_q40.min(31 * ONE_Q40));
    u64::try_from((u128::from(value) * u128::from(power_q32)) >> 32).unwrap_or(u64::MAX)
}

/// The next number of a stream that is seeded by any number (G. Steele et al., "Fast splittable pseudorandom number generators",
/// OOPSLA 2014). `cc_random_u32` of `bpf/include/target_native.h` draws the upper half of it.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How likely something is: a number of 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Probability(u64);

impl Probability {
    /// 0
    pub const NEVER: Self = Self(0);
    /// 1
    pub const ALWAYS: Self = Self(u64::MAX);

    /// part / whole; 1 where that is more, or whole is 0.
    #[must_use]
    pub fn ratio(part: u64, whole: u64) -> Self {
        if part >= whole {
            return Self::ALWAYS;
        }
        Self(((u128::from(part) << 64) / u128::from(whole)) as u64)
    }

    /// So many in a billion, rounded.
    #[must_use]
    pub fn in_billion(self) -> u64 {
        ((u128::from(self.0) * 1_000_000_000 + (1 << 63)) >> 64) as u64
    }

    pub(crate) fn in_q32(self) -> u64 {
        if self == Self::ALWAYS {
            1 << 32
        } else {
            self.0 >> 32
        }
    }

    /// So many in a billion.
    #[must_use]
    pub fn per_billion(parts: u64) -> Self {
        Self::ratio(parts, 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 200_000;

    fn stream() -> Random {
        Random::new(1, Purpose::Loss, 0)
    }

    /// Share of draws above a value, in thousandths.
    fn share_above_milli(limit: u64, mut draw: impl FnMut() -> u64) -> u64 {
        (0..DRAWS).filter(|_| draw() > limit).count() as u64 * 1000 / DRAWS
    }

    /// First outputs of the authors' xoshiro256++ for the state 1, 2, 3, 4.
    #[test]
    fn the_generator_is_xoshiro256plusplus() {
        let mut random = Random([1, 2, 3, 4]);
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(std::array::from_fn(|_| random.next_u64()), expected);
    }

    #[test]
    fn streams_differ_by_purpose_index_and_seed() {
        let first = |seed, purpose, index| Random::new(seed, purpose, index).next_u64();
        let streams = [
            first(1, Purpose::Loss, 0),
            first(2, Purpose::Loss, 0),
            first(1, Purpose::Queue, 0),
            first(1, Purpose::Loss, 1),
        ];
        assert!(streams.iter().enumerate().all(|(i, a)| streams[..i].iter().all(|b| a != b)), "{streams:?}");
    }

    #[test]
    fn something_happens_as_often_as_its_probability() {
        let mut random = stream();
        let probability = Probability::ratio(1, 100);
        let times = (0..DRAWS).filter(|_| random.happens(probability)).count() as u64;
        assert!(times.abs_diff(DRAWS / 100) < 200, "{times}: 2000 expected, deviation 44");
        assert!(!random.happens(Probability::NEVER) && random.happens(Probability::ratio(3, 2)));
    }

    /// P(X > mean) = 1/e
    #[test]
    fn an_exponential_has_its_mean_and_its_tail() {
        let mut random = stream();
        let sum: u64 = (0..DRAWS).map(|_| random.exponential(1_000_000)).sum();
        assert!((sum / DRAWS).abs_diff(1_000_000) < 10_000, "{}", sum / DRAWS);
        let share = share_above_milli(1_000_000, || random.exponential(1_000_000));
        assert!(share.abs_diff(368) < 5, "{share}");
    }

    /// P(X > 4 least) = 4^-1.5 = 1/8
    #[test]
    fn a_pareto_has_its_tail() {
        let mut random = stream();
        let share = share_above_milli(4000, || random.pareto(1000, 1500));
        assert!(share.abs_diff(125) < 4, "{share}");
        assert!((0..DRAWS).all(|_| random.pareto(1000, 1500) >= 1000));
    }

    /// P(X > scale) = 1/e for every shape; P(X > 2 scale) = e^-4 for shape 2
    #[test]
    fn a_weibull_has_its_tail() {
        let mut random = stream();
        let share = share_above_milli(1000, || random.weibull(1000, 382));
        assert!(share.abs_diff(368) < 5, "{share}");
        let share = share_above_milli(2000, || random.weibull(1000, 2000));
        assert!(share.abs_diff(18) < 3, "{share}");
    }

    /// Half above the median, 15.9 % more than one deviation above
    #[test]
    fn a_lognormal_has_its_median_and_deviation() {
        let mut random = stream();
        let share = share_above_milli(10_000, || random.lognormal(10_000, 1000));
        assert!(share.abs_diff(500) < 5, "{share}");
        let share = share_above_milli(20_000, || random.lognormal(10_000, 1000));
        assert!(share.abs_diff(159) < 5, "{share}");
    }
}
