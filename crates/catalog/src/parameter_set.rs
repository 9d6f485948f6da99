// SPDX-License-Identifier: MIT OR Apache-2.0
//! A set of values for an algorithm's parameters.

use crate::closest;
use crate::parameters::{Parameter, ParameterError};

/// A value for each parameter of an algorithm, every one within its range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSet {
    algorithm: String,
    parameters: Vec<Parameter>,
    values: Vec<u32>,
}

impl ParameterSet {
    /// The defaults.
    #[must_use]
    pub fn defaults(algorithm: &str, parameters: &[Parameter]) -> Self {
        let values = parameters.iter().map(|parameter| parameter.default).collect();
        Self { algorithm: algorithm.to_owned(), parameters: parameters.to_vec(), values }
    }

    /// The values in a set as it lies in the kernel's map: one little-endian u32 per parameter.
    #[must_use]
    pub fn of_bytes(algorithm: &str, parameters: &[Parameter], bytes: &[u8]) -> Option<Self> {
        if bytes.len() != 4 * parameters.len() {
            return None;
        }
        let values =
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
        Some(Self { algorithm: algorithm.to_owned(), parameters: parameters.to_vec(), values })
    }

    /// The set as it lies in the kernel's map.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// Sets one parameter, both as a user types them; the set is unchanged where this fails.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ParameterError> {
        let index = self.index(|parameter| parameter.name == key).ok_or_else(|| self.unknown(key, value))?;
        self.values[index] = self.parameters[index].parse(value)?;
        Ok(())
    }

    /// Gives a C member its integer, as vectors and recordings have it. None: there is no such member, or it may not be that.
    pub fn set_member(&mut self, member: &str, integer: u32) -> Option<()> {
        let index = self.index(|parameter| parameter.member == member)?;
        let parameter = &self.parameters[index];
        self.values[index] = Some(integer).filter(|it| (parameter.minimum..=parameter.maximum).contains(it))?;
        Some(())
    }

    /// The integer of one parameter.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<u32> {
        self.index(|parameter| parameter.name == key).map(|index| self.values[index])
    }

    /// Parameters and their integers, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&Parameter, u32)> {
        self.parameters.iter().zip(self.values.iter().copied())
    }

    fn index(&self, is_it: impl Fn(&Parameter) -> bool) -> Option<usize> {
        self.parameters.iter().position(is_it)
    }

    fn unknown(&self, key: &str, value: &str) -> ParameterError {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let member = self.parameters.iter().find(|parameter| parameter.member == key);
        let remedy = match (member, closest(key, names.iter().copied())) {
            (Some(parameter), _) => parameter.instead_of_member(value),
            (None, Some(name)) => format!("did you mean {name}?"),
            (None, None) => format!("it has {}", names.join(", ")),
        };
        ParameterError::UnknownKey { algorithm: self.algorithm.clone(), key: key.to_owned(), remedy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(member: &str, tag: &str) -> Parameter {
        Parameter::of_tag(member, tag).expect("well-formed")
    }

    #[test]
    fn values_out_of_range_or_of_another_kind_are_refused_and_change_nothing() {
        let parameters = [parameter("x", "cc_param|16|1|100|pkts||t")];
        let mut set = ParameterSet::defaults("a", &parameters);
        for value in ["0", "101", "-1", "4294967312", "x", "", "1.5"] {
            assert!(set.set("x", value).is_err(), "{value}");
        }
        assert_eq!(set.get("x"), Some(16));
        assert_eq!(said(&set, "y", "1"), "a has no parameter \"y\"; it has x");
        assert_eq!(ParameterSet::of_bytes("a", &parameters, &set.to_bytes()), Some(set));
    }

    fn said(set: &ParameterSet, key: &str, value: &str) -> String {
        let error = set.clone().set(key, value).expect_err("it is wrong");
        format!("{error}; {}", error.remedy().unwrap_or_default())
    }

    /// CUBIC's beta: 1000/1024 is 0.9765625.
    #[test]
    fn a_refusal_names_the_range_and_what_to_type() {
        let tags = [
            ("beta_q10", "cc_param|717|512|1000|1/1024||share kept"),
            ("rtt_ref_us", "cc_param|100000|1000|10000000|us||RTT"),
            ("delta_pct", "cc_param|15|1|90|%||share of the range"),
            ("up_kbytes_per_s", "cc_param|1500|1|4000000|kB/s||threshold"),
            ("friendly", "cc_param|1|0|1||off|on|as Reno"),
        ];
        let parameters = tags.map(|(member, tag)| parameter(member, tag));
        let set = ParameterSet::defaults("a", &parameters);
        for (key, value, expected) in [
            ("beta", "1.2", "beta=1.2: out of range: 0.5 to 0.977; beta=0.977"),
            ("beta", "0.49", "beta=0.49: out of range: 0.5 to 0.977; beta=0.5"),
            ("beta", "much", "beta=much: expected a number, 0.5 to 0.977; beta=0.7"),
            ("rtt_ref", "100", "rtt_ref=100: a time needs its unit (1ms to 10s); rtt_ref=100us or 100ms or 100s"),
            ("rtt_ref", "11s", "rtt_ref=11s: out of range: 1ms to 10s; rtt_ref=10s"),
            (
                "rtt_ref",
                "1234.5us",
                "rtt_ref=1234.5us: finer than its steps of 1us (1ms to 10s); rtt_ref=1.234ms or rtt_ref=1.235ms",
            ),
            ("delta", "30", "delta=30: a percentage needs its unit (1% to 90%); delta=30%"),
            ("up", "1GB", "up=1GB: expected a rate, 8kbit to 32gbit; up=12mbit"),
            ("up", "9kbit", "up=9kbit: finer than its steps of 8kbit (8kbit to 32gbit); up=8kbit or up=16kbit"),
            ("friendly", "1", "friendly=1: expected off or on; friendly=on"),
            ("beta_q10", "717", "a has no parameter \"beta_q10\"; beta=0.7"),
            ("beta_q10", "0.8", "a has no parameter \"beta_q10\"; beta=0.8"),
            ("beta_q10", "1024", "a has no parameter \"beta_q10\"; beta=0.7, of 0.5 to 0.977"),
            ("rtt_ref_us", "25000", "a has no parameter \"rtt_ref_us\"; rtt_ref=25ms"),
            ("up_kbytes_per_s", "1250", "a has no parameter \"up_kbytes_per_s\"; up=10mbit"),
            ("bta", "0.7", "a has no parameter \"bta\"; did you mean beta?"),
        ] {
            assert_eq!(said(&set, key, value), expected);
        }
    }

    /// 0.8 times 1024 is 819.2.
    #[test]
    fn what_is_set_is_the_integer_of_the_c_member() {
        let beta = parameter("beta_q10", "cc_param|717|512|1000|1/1024||share kept");
        let mut set = ParameterSet::defaults("a", std::slice::from_ref(&beta));
        assert_eq!(set.set("beta", "0.8"), Ok(()));
        assert_eq!((set.get("beta"), beta.exact(819), beta.number(819)), (Some(819), Some("819/1024".to_owned()), 0.8));
        assert_eq!((set.set_member("beta_q10", 896), set.get("beta")), (Some(()), Some(896)));
        assert_eq!(
            (set.set_member("beta_q10", 1), set.set_member("beta", 900), set.get("beta")),
            (None, None, Some(896))
        );
    }
}
