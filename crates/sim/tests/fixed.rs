// SPDX-License-Identifier: GPL-2.0-only
//! `bpf/include/fixed.h` against independent implementations, at its bounds and on random numbers.
//!
//! Bounds that the header states and that are held here: roots, quotients and high products are exact floors; `log2` in
//! Q40 is below the true value by less than 2^-39; `exp2` in Q32 has a relative error below 2^-31; `exp_neg` lies on the
//! curve or at most 0.002 above it; `pow075` is at most 2 units below its floor; `bdp_pkts` misses no 2^-24 packets.

use ccctl_sim::native::arithmetic::{
    after, cc_at_least, cc_bdp_pkts, cc_beyond, cc_cbrt, cc_clamp, cc_distance, cc_div, cc_ewma8, cc_exp2_q32,
    cc_exp_neg_q16, cc_log2_floor, cc_log2_q40, cc_max, cc_min, cc_mul_high, cc_pow075_q10, cc_sqrt,
};
use proptest::prelude::*;

const EDGES: [u64; 13] =
    [0, 1, 2, 3, 7, 8, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 62) - 1, (1 << 63) - 1, u64::MAX];

/// Numbers of every magnitude below 2^`bits`, not mostly large ones.
fn below_power(bits: u32) -> impl Strategy<Value = u64> {
    (0..bits, any::<u64>()).prop_map(|(shift, number)| number >> (63 - shift))
}

fn edges_below(bits: u32) -> impl Iterator<Item = u64> {
    let powers = (0..=bits.min(63)).flat_map(|power| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1]);
    powers.chain(EDGES).filter(move |value| bits == 64 || *value < 1 << bits)
}

/// Largest r with r^power <= value, by bisection.
fn root_by_search(value: u64, power: u32) -> u64 {
    let (mut low, mut high) = (0_u64, 1_u64 << 32);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if u128::from(middle).checked_pow(power).is_some_and(|product| product <= u128::from(value)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn check_roots(value: u64) {
    if value < 1 << 62 {
        assert_eq!(u64::from(cc_sqrt(value)), root_by_search(value, 2), "square root of {value}");
    }
    if value < 1 << 63 {
        assert_eq!(u64::from(cc_cbrt(value)), root_by_search(value, 3), "cube root of {value}");
    }
}

fn check_log2(value: u64) {
    let whole = value.ilog2();
    assert_eq!(cc_log2_floor(value), whole, "{value}");
    let found = cc_log2_q40(value);
    assert_eq!(found >> 40, u64::from(whole), "{value}");
    // An f64 resolves 2^-47 here: the logarithm is below 64, the mantissa's rounding adds 2^-52.
    let truth = f64::from(whole) + (value as f64 / 2_f64.powi(whole as i32)).log2();
    let error = truth - found as f64 / 2_f64.powi(40);
    assert!((-2_f64.powi(-45)..2_f64.powi(-39)).contains(&error), "log2({value}): error {error:e}");
}

fn check_exp2(x_q40: u64) {
    let found = cc_exp2_q32(x_q40);
    if x_q40 >= 32 << 40 {
        assert_eq!(found, u64::MAX);
        return;
    }
    let truth = (x_q40 as f64 / 2_f64.powi(40)).exp2() * 2_f64.powi(32);
    let error = (found as f64 - truth).abs();
    assert!(error <= truth * 2_f64.powi(-31), "2^({x_q40} / 2^40): {found}, expected {truth}");
}

/// In integers: the product in units of 2^-32 packets, of which rounding may lose 2^8, that is 2^-24 packets.
fn check_bdp(rate_q24: u64, rtt_us: u32, gain_q8: u32) {
    let delivered_q24 = (u128::from(rate_q24) * u128::from(rtt_us.min(1 << 30))).min(1 << 53);
    let truth_q32 = delivered_q24 * u128::from(gain_q8);
    let found_q32 = u128::from(cc_bdp_pkts(rate_q24, rtt_us, gain_q8)) << 32;
    let rounded_up = found_q32 + (1 << 8) > truth_q32 && found_q32 < truth_q32 + (1 << 32);
    assert!(rounded_up, "{rate_q24} for {rtt_us} us, times {gain_q8}: {found_q32}, expected {truth_q32}");
}

fn check_products(a: u64, b: u64) {
    assert_eq!(u128::from(cc_mul_high(a, b)), (u128::from(a) * u128::from(b)) >> 64, "{a} * {b}");
}

fn check_comparisons(a: u64, b: u64) {
    assert_eq!(cc_min(a, b), a.min(b));
    assert_eq!(cc_max(a, b), a.max(b));
    assert_eq!(cc_beyond(a, b), a.saturating_sub(b));
    assert_eq!(cc_distance(a, b), a.abs_diff(b));
    assert_eq!(cc_div(a, b), a.checked_div(b).unwrap_or(0));
    let (low, high) = (a.min(b), a.max(b));
    for value in EDGES {
        assert_eq!(cc_clamp(value, low, high), value.clamp(low, high));
    }
    if a < 1 << 63 && b < 1 << 63 {
        assert_eq!(cc_at_least(a, b), u64::from(a >= b), "{a} >= {b}");
    }
}

#[test]
fn roots_and_logarithms_hold_at_powers_of_two_and_their_neighbours() {
    for value in edges_below(63) {
        check_roots(value);
        if value > 0 {
            check_log2(value);
        }
    }
}

#[test]
fn roots_hold_at_the_largest_squares_and_cubes() {
    for root in [(1_u64 << 31) - 1, 2_097_151, 1_000_003, 65_536] {
        for value in [root * root - 1, root * root, root * root + 1] {
            check_roots(value);
        }
        let cube = u128::from(root).pow(3);
        if let Ok(cube) = u64::try_from(cube) {
            for value in [cube - 1, cube, cube + 1].into_iter().filter(|value| *value < 1 << 63) {
                check_roots(value);
            }
        }
    }
}

#[test]
fn products_quotients_and_comparisons_hold_at_their_bounds() {
    for a in edges_below(64) {
        for b in edges_below(64) {
            check_products(a, b);
            check_comparisons(a, b);
            if a < 1 << 62 && b < 1 << 62 {}
        }
    }
}

#[test]
fn exp2_holds_at_whole_exponents_and_beyond_its_range() {
    for whole in 0..=33_u64 {
        check_exp2(whole << 40);
        check_exp2((whole << 40) + 1);
        check_exp2(((whole + 1) << 40) - 1);
    }
    check_exp2(u64::MAX);
    assert_eq!(cc_exp2_q32(0), 1 << 32);
}

/// All of its range: half a unit comes from the table and one from rounding the line, so 1.5 below the curve at most.
#[test]
fn exp_neg_lies_on_the_curve_or_at_most_two_thousandths_above_it() {
    let mut last = 1 << 16;
    for x_q16 in 0..8 << 16 {
        let found = cc_exp_neg_q16(x_q16);
        let above = f64::from(found) - (-(x_q16 as f64) / 65_536.0).exp() * 65_536.0;
        assert!((-1.5..=0.002 * 65_536.0).contains(&above), "e^-({x_q16} / 2^16): {above} above the curve");
        assert!(found <= last, "it rises at {x_q16}");
        last = found;
    }
    assert_eq!(cc_exp_neg_q16(0), 1 << 16);
    for beyond in edges_below(64).filter(|x_q16| *x_q16 >= 8 << 16) {
        assert_eq!(cc_exp_neg_q16(beyond), 0, "e^-({beyond} / 2^16)");
    }
}

/// All of its range, against w^3 in 128 bits: floor(w^(3/4) 2^10) is the fourth root of w^3 2^40.
#[test]
fn the_power_of_three_quarters_is_at_most_two_units_low() {
    for w in 0..=1_u32 << 20 {
        let found = u128::from(cc_pow075_q10(w));
        let scaled = u128::from(w).pow(3) << 40;
        assert!(found.pow(4) <= scaled && (found + 3).pow(4) > scaled, "{w}^0.75: {found} / 2^10");
    }
}

#[test]
fn packets_in_flight_hold_at_the_largest_rate_time_and_gain() {
    for rate_q24 in edges_below(33) {
        for rtt_us in edges_below(32) {
            for gain_q8 in edges_below(11) {
                check_bdp(rate_q24, rtt_us as u32, gain_q8 as u32);
            }
        }
    }
}

#[test]
fn sequence_numbers_compare_modulo_their_range() {
    for (a, b, is_after) in [(1, 0, true), (0, 0, false), (0, 1, false), (0, u32::MAX, true), (u32::MAX, 0, false)] {
        assert_eq!(after(a, b), is_after, "{a} after {b}");
    }
    assert!(after(0x7fff_ffff, 0));
}

/// A constant sample is reached from any start, to within the seven eighths that truncation may leave.
#[test]
fn the_average_converges_to_a_constant_sample() {
    for (start, sample) in [(0, 10_000_000), (80_000_000, 10), (0, (1 << 29) - 1), (u32::MAX / 2, 0), (0, 0)] {
        let mut average_q3 = start;
        for _ in 0..400 {
            average_q3 = cc_ewma8(average_q3, sample);
        }
        assert!((u64::from(sample) * 8).abs_diff(average_q3.into()) <= 7, "{start} to {sample}: {average_q3}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn roots_hold_everywhere(value in below_power(63)) {
        check_roots(value);
    }

    #[test]
    fn logarithms_hold_everywhere(value in below_power(63)) {
        check_log2(value.max(1));
    }

    #[test]
    fn powers_hold_everywhere(x_q40 in 0_u64..(33 << 40)) {
        check_exp2(x_q40);
    }

    #[test]
    fn products_hold_everywhere(a in any::<u64>(), b in below_power(63)) {
        check_products(a, b);
        check_comparisons(a, b);
    }

    #[test]
    fn packets_in_flight_hold_everywhere(rate in below_power(33), rtt_us in any::<u32>(), gain_q8 in 0_u32..1 << 11) {
        check_bdp(rate, rtt_us, gain_q8);
    }

    #[test]
    fn an_average_lies_between_what_it_was_and_the_sample(average_q3 in 0_u32..1 << 31, sample in 0_u32..1 << 28) {
        let (found, goal) = (i64::from(cc_ewma8(average_q3, sample)), i64::from(sample) * 8);
        let start = i64::from(average_q3);
        prop_assert!(found >= start.min(goal) - 7 && found <= start.max(goal) + 7);
    }
}
