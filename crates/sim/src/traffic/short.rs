// SPDX-License-Identifier: GPL-2.0-only
//! Short transfers as XCP's paper has them (Katabi, Handley, Rohrs, SIGCOMM 2002, section 5.2): lengths are Pareto with shape 1.35, as
//! M. Crovella, A. Bestavros, "Self-similarity in World Wide Web traffic", IEEE/ACM Transactions on
//! Networking 5(6), 1997, have files of the web.

use crate::random::Random;

const SHAPE_MILLI: u32 = 1350;

/// The mean of a Pareto distribution is shape / (shape - 1) of its least value.
pub(super) fn length_bytes(random: &mut Random, mean_bytes: u64) -> u64 {
    let least_bytes = u128::from(mean_bytes) * u128::from(SHAPE_MILLI - 1000) / u128::from(SHAPE_MILLI);
    random.pareto((least_bytes as u64).max(1), SHAPE_MILLI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    /// Mean 27 kB: least 27 kB * 0.35 / 1.35 = 7 kB. P(X > x) = (7000 / x)^1.35: half are above 7000 * 2^(1 / 1.35) = 11,697
    /// bytes, and one of a hundred above 7000 * 100^(1 / 1.35) = 212,089.
    #[test]
    fn lengths_are_pareto_with_this_mean() {
        let mut random = Random::new(1, Purpose::Application, 0);
        let lengths: Vec<u64> = (0..100_000).map(|_| length_bytes(&mut random, 27_000)).collect();
        let above = |bytes: u64| lengths.iter().filter(|length| **length > bytes).count();
        assert!(lengths.iter().all(|length| *length >= 7000));
        assert!(above(11_697).abs_diff(50_000) < 800, "{}", above(11_697));
        assert!(above(212_089).abs_diff(1000) < 150, "{}", above(212_089));
    }
}
