// SPDX-License-Identifier: MIT OR Apache-2.0
//! From values to places on an axis, and the ticks on it.

use crate::figure::{Axis, Scale};

/// Values beyond this are not drawn: their differences are no longer numbers.
const VALUE_MAX: f64 = 1e300;

/// Room above the highest value, and below the lowest where the axis is not from zero, as a share of the range.
const MARGIN: f64 = 0.05;

/// An axis with its ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Of a logarithmic axis, the logarithms.
    pub low: f64,
    pub high: f64,
    pub scale: Scale,
}

/// A place on an axis that has a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// From zero to one.
    pub share: f64,
    /// Empty for a small tick.
    pub label: String,
}

impl Span {
    /// A vertical axis that shows all of these.
    pub fn vertical(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        Self::new(axis, values, |low, high| {
            let margin = (high - low) * MARGIN;
            // From zero, unless most of the panel were empty then.
            let from_zero = low >= 0.0 && (low <= high / 2.0 || low >= high);
            let to_zero = high <= 0.0 && (high >= low / 2.0 || low >= high);
            match (from_zero, to_zero) {
                (true, true) => (0.0, 1.0),
                (true, false) => (0.0, high * (1.0 + MARGIN)),
                (false, true) => (low * (1.0 + MARGIN), 0.0),
                (false, false) => (low - margin, high + margin),
            }
        })
    }

    /// As [`vertical`](Self::vertical) of values and the ends of their error bars, but no further than the axis may go.
    /// A value beyond (a measurement that is a little off) is still shown; the end of its error bar is not.
    pub fn vertical_within(axis: &Axis, values: &[f64], ends: impl Iterator<Item = f64>) -> Self {
        let Scale::Within(least, most) = axis.scale else {
            return Self::vertical(axis, values.iter().copied().chain(ends));
        };
        let known = values.iter().copied().filter(|value| value.is_finite());
        let (least, most) = known.fold((least, most), |(least, most), value| (value.min(least), value.max(most)));
        let within = ends.map(|end| end.clamp(least, most));
        let mut span = Self::vertical(axis, values.iter().copied().chain(within));
        // The margin that is left above and below values must not go beyond either.
        (span.low, span.high) = (span.low.max(least), span.high.min(most));
        if span.low >= span.high {
            (span.low, span.high) = (least, most);
        }
        if !(span.low.is_finite() && span.high.is_finite()) {
            (span.low, span.high) = (0.0, 1.0);
        }
        span
    }

    /// A horizontal axis: no more than these, as time is not read from zero.
    pub fn horizontal(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        Self::new(axis, values, |low, high| {
            let near_zero = low >= 0.0 && low < high / 10.0;
            if low >= high {
                (low - 0.5, high + 0.5)
            } else {
                (if near_zero { 0.0 } else { low }, high)
            }
        })
    }

    fn new(axis: &Axis, values: impl Iterator<Item = f64>, linear: impl Fn(f64, f64) -> (f64, f64)) -> Self {
        let is_log = axis.scale == Scale::Logarithmic;
        let drawable = values.filter(|value| value.abs() < VALUE_MAX && (!is_log || *value > 0.0));
        let values = drawable.map(|value| if is_log { value.log10() } else { value });
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        let (low, high) = match (&axis.scale, ends) {
            (Scale::Names(names), _) => (-0.5, names.len().max(1) as f64 - 0.5),
            (_, None) => (0.0, 1.0),
            (Scale::Linear | Scale::Within(..), Some((low, high))) => linear(low, level(low, high)),
            (Scale::Logarithmic, Some((low, high))) if low >= high => (low.floor(), low.floor() + 1.0),
            (Scale::Logarithmic, Some((low, high))) => (low - 0.02 * (high - low), high + 0.02 * (high - low)),
        };
        // A value of 1e300 and one of 1 have a difference, and so have two that are equal.
        let high = if high - low > low.abs().max(high.abs()) * 1e-12 { high } else { low + low.abs().max(1.0) * 1e-9 };
        Self { low, high, scale: axis.scale.clone() }
    }

    /// From zero at the low end to one at the high end; none outside.
    pub fn share(&self, value: f64) -> Option<f64> {
        let value = if self.scale == Scale::Logarithmic { value.log10() } else { value };
        let share = (value - self.low) / (self.high - self.low);
        // NaN is in no range.
        (-1e-9..=1.0 + 1e-9).contains(&share).then(|| share.clamp(0.0, 1.0))
    }

    /// Further down than the low end; of an axis of ratios, so are zero and all below it.
    pub fn is_below(&self, value: f64) -> bool {
        match self.scale {
            Scale::Logarithmic => value <= 0.0 || value.log10() < self.low,
            Scale::Linear | Scale::Within(..) | Scale::Names(_) => value < self.low,
        }
    }

    /// About so many ticks that have a label.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match &self.scale {
            Scale::Linear | Scale::Within(..) => self.linear_ticks(wanted),
            Scale::Logarithmic => self.log_ticks(wanted),
            Scale::Names(names) => {
                let tick = |(place, name): (usize, &String)| {
                    Some(Tick { share: self.share(place as f64)?, label: name.clone() })
                };
                names.iter().enumerate().filter_map(tick).collect()
            }
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<Tick> {
        let step = step(self.high - self.low, wanted);
        let (first, last) = ((self.low / step - 1e-9).ceil(), (self.high / step + 1e-9).floor());
        let count = (last - first).clamp(0.0, 100.0) as usize;
        let values: Vec<f64> = (0..=count).map(|number| (first + number as f64) * step).collect();
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let tick = |value: &f64| Some(Tick { share: self.share(*value)?, label: short(*value, step, largest) });
        values.iter().filter_map(tick).collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<Tick> {
        let decades = self.high - self.low;
        let every = (decades / wanted.max(1) as f64).ceil().max(1.0) as i32;
        let labelled: &[i32] = if decades < 1.0 {
            &[1, 2, 3, 4, 5, 6, 7, 8, 9]
        } else if decades < 2.0 {
            &[1, 2, 5]
        } else {
            &[1]
        };
        let mut ticks = Vec::new();
        for decade in self.low.floor() as i32..=self.high.ceil() as i32 {
            for digit in 1..=9 {
                let value = f64::from(digit) * 10f64.powi(decade);
                let has_label = labelled.contains(&digit) && decade.rem_euclid(every) == 0;
                let label = match has_label {
                    // Beside 1e-5 a 0.01 would have to be counted out.
                    true if self.low < -4.0 && value < 0.09 => format!("{value:.0e}"),
                    true => short(value, value, value),
                    false => String::new(),
                };
                let shown = has_label || every == 1;
                ticks.extend(self.share(value).filter(|_| shown).map(|share| Tick { share, label }));
            }
        }
        ticks
    }
}

/// Two values that differ by less than a number can hold are one.
fn level(low: f64, high: f64) -> f64 {
    if high - low <= high.abs().max(low.abs()) * 1e-12 {
        low
    } else {
        high
    }
}

/// One, two or five times a power of ten, so that there are about so many.
fn step(range: f64, wanted: usize) -> f64 {
    let rough = range / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= rough * 0.7);
    digit.unwrap_or(10.0) * power
}

/// A tick's number, with the prefix that suits the largest on its axis and the decimals that its step needs.
fn short(value: f64, step: f64, largest: f64) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let prefix = prefixes.into_iter().find(|(from, _)| largest >= *from * 0.999_999);
    // From 10 000 on in thousands: 5k is no shorter than 5000, 20k is. On an axis of ratios 1000 is 1k.
    let (divisor, prefix) = match prefix {
        Some((_, "k")) => (1e3, "k"),
        Some((divisor, prefix)) => (divisor, prefix),
        None => (1.0, ""),
    };
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..=1e15).contains(&largest) {
        return format!("{value:.0e}");
    }
    let decimals = (-(step / divisor).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
    format!("{:.decimals$}{prefix}", value / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        Axis { label: "rate".into(), unit: String::new(), scale }
    }

    fn labels(span: &Span, wanted: usize) -> Vec<String> {
        span.ticks(wanted).into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        let cases: [(&[f64], &[&str]); 6] = [
            (&[0.0, 9.5], &["0", "2", "4", "6", "8"]),
            (&[3.0, 48_000.0], &["0k", "10k", "20k", "30k", "40k", "50k"]),
            (&[1e6, 4.1e6], &["0", "1M", "2M", "3M", "4M"]),
            (&[100.0, 100.5], &["100.0", "100.1", "100.2", "100.3", "100.4", "100.5"]),
            (&[-1.0, 1.0], &["-1.0", "-0.5", "0", "0.5", "1.0"]),
            (&[7.0, 7.0], &["0", "2", "4", "6"]),
        ];
        for (values, expected) in cases {
            let found = labels(&Span::vertical(&axis(Scale::Linear), values.iter().copied()), 5);
            let expected: Vec<_> = expected.iter().map(|label| if *label == "0k" { "0" } else { label }).collect();
            assert_eq!(found, expected, "{values:?}");
        }
    }

    /// Intervals by Student's t may be wider than what can be measured: the axis is not.
    #[test]
    fn an_axis_ends_where_the_measure_does() {
        let cases = [
            ((-1.0, 1.0), 0.53, 1.79),
            ((0.0, 100.0), 99.9, 0.4),
            ((0.0, f64::INFINITY), 5.0, 8.0),
            ((0.0, 1.0), 1.0, 0.0),
            ((0.0, f64::INFINITY), 0.0, 0.0),
            ((f64::NEG_INFINITY, f64::INFINITY), 0.53, 1.79),
        ];
        for ((least, most), value, error) in cases {
            let axis = axis(Scale::Within(least, most));
            let span = Span::vertical_within(&axis, &[value], [value - error, value + error].into_iter());
            assert!(least <= span.low && span.low < span.high && span.high <= most, "{value} {error} {span:?}");
            assert!(span.share(value).is_some(), "{value} is in {span:?}");
            assert!(span.ticks(5).len() >= 2, "{span:?}");
        }
        // What was measured is shown even if it cannot be.
        let axis = axis(Scale::Within(0.0, 100.0));
        let span = Span::vertical_within(&axis, &[50.0, 100.02], [49.0, 130.0].into_iter());
        assert!(span.share(100.02).is_some() && span.high < 101.0, "{span:?}");
    }

    #[test]
    fn logarithmic_ticks_are_decades() {
        let span = Span::vertical(&axis(Scale::Logarithmic), [0.01, 0.0, -5.0, 100_000.0].into_iter());
        assert_eq!(labels(&span, 8), ["0.01", "0.1", "1", "10", "100", "1000", "10k", "100k"]);
        assert_eq!(span.share(0.0), None);
        assert_eq!(
            labels(&Span::vertical(&axis(Scale::Logarithmic), [20.0, 60.0].into_iter()), 5),
            ["20", "30", "40", "50", "60"]
        );
    }

    /// The first tick is less than a step from the low end, the last from the high end.
    #[test]
    fn no_range_is_without_ticks() {
        let hard = [0.0, 1.0, -1.0, 1e-300, 1e299, -1e299, 1e9, 1e9 + 1e-6, 1e-7, f64::NAN, f64::INFINITY, 1.5e300];
        for low in hard {
            for high in hard {
                let span = Span::vertical(&axis(Scale::Linear), [low, high].into_iter());
                let ticks = span.ticks(5);
                let gap = ticks.windows(2).map(|pair| pair[1].share - pair[0].share).fold(0.0, f64::max);
                assert!(ticks.len() >= 2, "{low} {high} {span:?} {ticks:?}");
                assert!(ticks[0].share <= gap * 1.001 && ticks[ticks.len() - 1].share >= 1.0 - gap * 1.001, "{span:?}");
                for value in [low, high].into_iter().filter(|value| value.abs() < VALUE_MAX) {
                    assert!(span.share(value).is_some(), "{value} in {span:?}");
                }
            }
        }
    }
}
