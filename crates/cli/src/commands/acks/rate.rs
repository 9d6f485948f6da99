// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rate as it is typed, and the time between packets at it.

use std::fmt;
use std::time::Duration;

use ccctl_console::UsageError;

const PACKET_BYTES: f64 = 1500.0;
/// As tc has them, in bits per second.
const UNITS: [(&str, f64); 4] = [("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)];

/// A rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    bits_per_s: f64,
    text: String,
}

impl Rate {
    /// `250mbit`, `1.5gbit`, ...
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let lower = text.to_ascii_lowercase();
        let wrong = || UsageError::new(format!("{text:?} is not a rate"), "--rate 250mbit (bit, kbit, mbit or gbit)");
        let (number, factor) =
            UNITS.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, factor))).ok_or_else(wrong)?;
        let bits_per_s = number.trim().parse::<f64>().map_err(|_| wrong())? * factor;
        if !(1.0..=1e13).contains(&bits_per_s) {
            return Err(wrong());
        }
        Ok(Self { bits_per_s, text: lower })
    }

    /// Mean time between packets of 1500 bytes.
    pub fn packet_interval(&self) -> Duration {
        Duration::from_secs_f64(PACKET_BYTES * 8.0 / self.bits_per_s)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// S0: 48 us between packets of 1500 bytes at 250 Mbit/s.
    #[test]
    fn packets_at_250_mbit_come_every_48_us() {
        assert_eq!(Rate::parse("250mbit").unwrap().packet_interval(), Duration::from_micros(48));
        assert_eq!(Rate::parse("1.5Gbit").unwrap().packet_interval(), Duration::from_micros(8));
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in ["", "250", "mbit", "-1mbit", "0mbit", "nanmbit", "infgbit", "250MB"] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
    }
}
