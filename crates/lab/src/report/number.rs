// SPDX-License-Identifier: GPL-2.0-only
//! Numbers for people.

use crate::measures::Estimate;

/// So many digits of a value.
const DIGITS: i32 = 4;

/// Four digits: 764.4, 0.01234, 1.2e-7
pub fn number(value: f64) -> String {
    digits(value, DIGITS)
}

fn digits(value: f64, count: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..9).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let decimals = (count - 1 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// "764.4 ± 3.2": mean and half the 95 % confidence interval, if there are repeats enough for one.
#[must_use]
pub fn estimate(estimate: &Estimate) -> String {
    match estimate.shown_half_width() {
        Some(half) => format!("{} ± {}", number(estimate.mean), digits(half, 2)),
        None => number(estimate.mean),
    }
}

/// Likewise, and a dash for none.
pub fn estimate_or_dash(value: Option<&Estimate>) -> String {
    value.map_or_else(|| "-".to_owned(), estimate)
}

/// A unit as heads show it: nothing for a pure number.
pub fn unit(unit: &str) -> &str {
    if unit == "1" {
        ""
    } else {
        unit
    }
}

/// "goodput:first (Mbit/s)"
#[must_use]
pub fn with_unit(name: &str, of: &str) -> String {
    match unit(of) {
        "" => name.to_owned(),
        unit => format!("{name} ({unit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_whatever_the_magnitude() {
        let cases = [
            (0.0, "0"),
            (764.42, "764.4"),
            (-0.012_345, "-0.01235"),
            (15.0, "15"),
            (123_456.7, "123457"),
            (5e-7, "5.00e-7"),
            (1.0, "1"),
            (99.996, "100"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn an_interval_has_two_digits() {
        let of =
            |half| Estimate { mean: 764.42, standard_error: half, half_width_95: half, values: vec![Some(764.42); 3] };
        assert_eq!(estimate(&of(Some(3.217))), "764.4 ± 3.2");
        assert_eq!(estimate(&of(None)), "764.4");
        let two = Estimate::of(&[Some(0.4), Some(0.66), None]).unwrap();
        assert!(two.half_width_95.is_some_and(|half| half > 1.6), "12.706 standard errors of 0.13");
        assert_eq!(estimate(&two), "0.53");
    }
}
