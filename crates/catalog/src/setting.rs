// SPDX-License-Identifier: MIT OR Apache-2.0
//! A parameter's value in TOML and JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameters::Parameter;

/// A parameter's value: a number, or text: a number with its unit, or for a choice its word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a parameter's value is a number or a text, such as 0.7 or \"100ms\"")]
pub enum Setting {
    /// A number without decimals.
    Whole(u64),
    /// Any other number.
    Decimal(f64),
    /// A number with its unit, or one of the parameter's words.
    Text(String),
}

impl Setting {
    /// The value of this parameter: a number in its unit, or its word.
    #[must_use]
    pub fn of(parameter: &Parameter, integer: u32) -> Self {
        let number = parameter.number(integer);
        if !parameter.words.is_empty() {
            Self::Text(parameter.format(integer))
        } else if number.fract() == 0.0 {
            Self::Whole(number as u64) // at most 2^32 times the largest unit of a C file, and not negative
        } else {
            Self::Decimal(number)
        }
    }
}

/// As it is typed: a number is never written with an exponent.
impl std::fmt::Display for Setting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => write!(formatter, "{number}"),
            Self::Decimal(number) => write!(formatter, "{number}"),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_or_texts() {
        let read = |text: &str| toml::from_str::<toml::Table>(text).expect("TOML")["x"].clone().try_into::<Setting>();
        for (toml, typed) in [("0.7", "0.7"), ("16", "16"), ("1e-7", "0.0000001"), ("-1", "-1"), ("\"100ms\"", "100ms")]
        {
            assert_eq!(read(&format!("x = {toml}")).map(|setting| setting.to_string()), Ok(typed.to_owned()));
        }
        for wrong in ["true", "[1]", "{ a = 1 }"] {
            let error = read(&format!("x = {wrong}")).expect_err("it is no value").to_string();
            assert!(error.contains("a number or a text"), "{error}");
        }
    }

    #[test]
    fn values_are_in_the_base_unit() {
        let parameter = |tag: &str| Parameter::of_tag("x", tag).expect("well-formed");
        assert_eq!(Setting::of(&parameter("cc_param|1|0|9|pkts||t"), 9), Setting::Whole(9));
        assert_eq!(Setting::of(&parameter("cc_param|0|0|9000000|kB/s||t"), 4_000_000), Setting::Whole(32_000_000_000));
        assert_eq!(Setting::of(&parameter("cc_param|1|0|900000|us||t"), 1000), Setting::Decimal(0.001));
        assert_eq!(Setting::of(&parameter("cc_param|1|0|1||off|on|t"), 1), Setting::Text("on".to_owned()));
    }
}
