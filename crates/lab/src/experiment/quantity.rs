// SPDX-License-Identifier: GPL-2.0-only
//! Values with units, as a scenario file writes them: "48 ms", "622 Mbit/s", "20 % BDP".

use std::fmt;
use std::time::Duration;

use ccctl_sim::Probability;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::source_text::REMEDY;

/// A length of time: `"48 ms"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub Duration);

/// Bits per second: `"622 Mbit/s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A number of bytes: `"1460 bytes"`, `"10 MB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// How much fits into a queue or a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// `"300 packets"`
    Packets(u32),
    /// `"64 kB"`
    Bytes(u64),
    /// `"20 % BDP"`: this share of rate times round trip time.
    OfBdp(f64),
}

/// A probability or a share: `0.01`, `5e-7`, `"1 %"`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Share(pub f64);

impl Share {
    /// For the simulator: one of at least 10^-18 keeps 18 digits.
    #[must_use]
    pub fn probability(self) -> Probability {
        const WHOLE: u64 = 1_000_000_000_000_000_000;
        Probability::ratio((self.0 * WHOLE as f64).round() as u64, WHOLE)
    }
}

const TIMES: [(&str, f64); 6] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
const SIZES: [(&str, f64); 7] =
    [("byte", 1.0), ("bytes", 1.0), ("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];

/// What is wrong with a value, and what to write.
type Refused = (String, &'static str);

fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_'))).unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some((number, text[end..].trim()))
}

/// The value in the smallest unit, as a whole number.
fn whole(
    text: &str,
    factor_of: impl Fn(&str) -> Option<f64>,
    what: &str,
    remedy: &'static str,
) -> Result<u64, Refused> {
    let refused = || (format!("{text:?} is not a valid {what}"), remedy);
    let (number, unit) = number_and_unit(text).ok_or_else(refused)?;
    let factor = factor_of(unit).ok_or_else(refused)?;
    let value = (number * factor).round();
    if value < 9e18 {
        Ok(value as u64)
    } else {
        Err((format!("{text:?} is too large"), remedy))
    }
}

/// From a list of units.
fn among<'a>(units: &'a [(&str, f64)]) -> impl Fn(&str) -> Option<f64> + 'a {
    |unit| units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

impl Time {
    /// Reads "48 ms".
    pub fn parse(text: &str) -> Result<Self, Refused> {
        whole(text, among(&TIMES), "time", "write a number and ns, us, ms, s, min or h: \"48 ms\"")
            .map(|ns| Self(Duration::from_nanos(ns)))
    }
}

impl Rate {
    /// Reads "622 Mbit/s", in every unit that a parameter's rate can have.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let remedy = "write a number and its unit: \"622 Mbit/s\", 622mbit, 622Mbps or 622M";
        let bits = |unit: &str| ccctl_catalog::bits_per_s_of(unit).map(|bits| bits as f64);
        match whole(text, bits, "rate", remedy)? {
            0 => Err((format!("the rate {text:?} is 0"), remedy)),
            bits if bits > 100_000_000_000_000 => Err((format!("{text:?} exceeds 100 Tbit/s"), remedy)),
            bits => Ok(Self(bits)),
        }
    }
}

impl Bytes {
    /// Reads "10 MB".
    pub fn parse(text: &str) -> Result<Self, Refused> {
        whole(text, among(&SIZES), "size", "write a number and bytes, kB, MB or GB: \"10 MB\"").map(Self)
    }
}

impl Amount {
    /// Reads "300 packets", "64 kB" or "20 % BDP".
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let remedy = "write \"300 packets\", \"64 kB\" or \"20 % BDP\"";
        let refused = || (format!("{text:?} is neither a number of packets or bytes nor a share of the BDP"), remedy);
        let (number, unit) = number_and_unit(text).ok_or_else(refused)?;
        let words: Vec<&str> = unit.split_whitespace().collect();
        match words[..] {
            ["packet" | "packets"] if number.fract() == 0.0 && number < f64::from(u32::MAX) => {
                Ok(Self::Packets(number as u32))
            }
            ["%", "BDP"] | ["%BDP"] => Ok(Self::OfBdp(number / 100.0)),
            ["BDP"] => Ok(Self::OfBdp(number)),
            [_] => whole(text, among(&SIZES), "amount", remedy).map(Self::Bytes),
            _ => Err(refused()),
        }
    }
}

impl Share {
    /// Reads "1 %".
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let remedy = "write a number from 0 to 1, or a percentage: 0.01, \"1 %\"";
        match number_and_unit(text) {
            Some((number, "%")) => Self::of_number(number / 100.0),
            _ => Err((format!("{text:?} is not a share"), remedy)),
        }
    }

    fn of_number(number: f64) -> Result<Self, Refused> {
        if (0.0..=1.0).contains(&number) {
            Ok(Self(number))
        } else {
            Err((format!("{number} is not a share"), "write a number from 0 to 1, or a percentage: 0.01, \"1 %\""))
        }
    }
}

fn refusal<E: Error>((cause, remedy): Refused) -> E {
    E::custom(format!("{cause}{REMEDY}{remedy}"))
}

macro_rules! reads_text {
    ($kind:ident, $expected:literal) => {
        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;
                impl Visitor<'_> for Reader {
                    type Value = $kind;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str($expected)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$kind, E> {
                        $kind::parse(text).map_err(refusal)
                    }
                }
                deserializer.deserialize_any(Reader)
            }
        }
    };
}

reads_text!(Time, "a time with its unit, such as \"48 ms\"");
reads_text!(Rate, "a rate with its unit, such as \"622 Mbit/s\"");
reads_text!(Bytes, "a size with its unit, such as \"10 MB\"");
reads_text!(Amount, "an amount with its unit, such as \"300 packets\" or \"20 % BDP\"");

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Share;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a share, such as 0.01 or \"1 %\"")
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Share, E> {
                Share::of_number(number).map_err(refusal)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Share, E> {
                Share::of_number(number as f64).map_err(refusal)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Share, E> {
                Share::parse(text).map_err(refusal)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_their_units() {
        assert_eq!(Time::parse("48 ms"), Ok(Time(Duration::from_millis(48))));
        assert_eq!(Time::parse("1.5min"), Ok(Time(Duration::from_secs(90))));
        assert_eq!(Rate::parse("622 Mbit/s"), Ok(Rate(622_000_000)));
        assert_eq!(Rate::parse("0.5 Gbit/s"), Ok(Rate(500_000_000)));
        for text in ["1 Gbit/s", "1 gbit", "1Gbit", "1G", "1 Gbps", "1000M", "1000 Mbps", "1_000_000 kbit/s"] {
            assert_eq!(Rate::parse(text), Ok(Rate(1_000_000_000)), "{text}");
        }
        assert_eq!(Bytes::parse("1460 bytes"), Ok(Bytes(1460)));
        assert_eq!(Amount::parse("1_555 packets"), Ok(Amount::Packets(1555)));
        assert_eq!(Amount::parse("20 % BDP"), Ok(Amount::OfBdp(0.2)));
        assert_eq!(Amount::parse("20% BDP"), Ok(Amount::OfBdp(0.2)));
        assert_eq!(Amount::parse("2 BDP"), Ok(Amount::OfBdp(2.0)));
        assert_eq!(Amount::parse("64 kB"), Ok(Amount::Bytes(64_000)));
        assert_eq!(Share::parse("1 %"), Ok(Share(0.01)));
    }

    #[test]
    fn what_has_no_unit_or_a_wrong_one_is_refused() {
        assert!(["48", "ms", "48 m", "-1 s", "", "48 ms x"].iter().all(|text| Time::parse(text).is_err()));
        assert!(["622", "0 Mbit/s", "622 MB/s", "622 mbps", "622m", "1e30 bit/s"]
            .iter()
            .all(|text| Rate::parse(text).is_err()));
        assert!(["20 %", "1.5 packets", "BDP", "20 % RTT"].iter().all(|text| Amount::parse(text).is_err()));
        assert!(["101 %", "0.5", "x"].iter().all(|text| Share::parse(text).is_err()));
    }
}
