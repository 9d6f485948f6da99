// SPDX-License-Identifier: MIT OR Apache-2.0
//! A field of what an algorithm keeps for a socket: its unit is the end of its name (house style).

use ccctl_series::{fixed_point, is_moment, unit_of};

/// Where the algorithm has no value.
const NOTHING: &str = "-";
/// The end of names of sequence numbers.
const SEQUENCE: &str = "_seq";
/// How names begin of what is kept in case a loss was none.
const UNDO: &str = "undo";

/// A field at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct StateField {
    /// As the algorithm's C file has it.
    pub name: String,
    /// In `unit`, fixed point undone; none where the algorithm has no value.
    pub value: Option<f64>,
    /// Empty: a count or a flag.
    pub unit: String,
    /// Bits behind the point.
    pub fraction_bits: u32,
}

impl StateField {
    /// What this name and number mean.
    pub fn new(name: &str, raw: Option<f64>) -> Self {
        let (fraction_bits, unit) = fixed_point(&unit_of(name));
        let fraction_bits = fraction_bits.unwrap_or_default();
        let value = raw.map(|raw| raw / 2_f64.powi(fraction_bits as i32));
        Self { name: name.to_owned(), value, unit, fraction_bits }
    }

    /// As the algorithm has it.
    pub fn raw(&self) -> Option<f64> {
        self.value.map(|value| value * 2_f64.powi(self.fraction_bits as i32))
    }

    /// A clock or a sequence number: it says when or where, and not how much.
    pub fn is_position(&self) -> bool {
        self.name.ends_with(SEQUENCE) || is_moment(&self.name)
    }

    /// How much it says at first sight: a window most, then what has a unit, then counts.
    pub fn interest(&self) -> u8 {
        match self.unit.as_str() {
            _ if self.is_position() => 0,
            _ if self.name.starts_with(UNDO) => 1,
            "" => 2,
            "packets" => 4,
            _ => 3,
        }
    }

    /// The value and its unit.
    pub fn text(&self) -> String {
        let Some(value) = self.value else { return NOTHING.to_owned() };
        let value = match self.fraction_bits {
            0 => format!("{value}"),
            _ if value != 0.0 && value.abs() < 0.1 => format!("{value:.6}"), // packets per us
            _ => format!("{value:.3}"),
        };
        format!("{value} {}", self.unit).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `epoch_us` and `round_end_seq` only rise; what a loss may undo is no news.
    #[test]
    fn windows_are_of_more_interest_than_clocks() {
        let names = ["epoch_us", "round_end_seq", "undo_w_max_pkts", "rounds", "k_q10s", "w_max_pkts"];
        assert_eq!(names.map(|name| StateField::new(name, Some(1.0)).interest()), [0, 0, 1, 2, 3, 4]);
        assert!(!StateField::new("undo_epoch_age_us", Some(1.0)).is_position(), "an age is no clock");
    }

    /// Names of the style guide, and what they mean by it.
    #[test]
    fn names_tell_their_units() {
        let told = |name: &str, raw: f64| StateField::new(name, Some(raw)).text();
        assert_eq!(told("min_rtt_us", 40_000.0), "40000 us");
        assert_eq!(told("alpha_q10", 512.0), "0.500");
        assert_eq!(told("bw_q24", 16_777.216), "0.001000");
        assert_eq!(told("alpha_pkts_q10", 1536.0), "1.500 packets");
        assert_eq!(told("bandwidth_bytes_per_s", 7.0), "7 bytes/s");
        assert_eq!(told("k_q10s", 2560.0), "2.500 s");
        assert_eq!(told("offset_q3us", 12.0), "1.500 us");
        assert_eq!(told("is_reset", 1.0), "1");
        assert_eq!(told("half_us[2]", 3.0), "3 us");
        assert_eq!(told("seq_quit", 3.0), "3");
        assert_eq!(StateField::new("min_rtt_us", None).text(), "-");
    }
}
