// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that are written as text in the file, the API and on the command line: `10m`, `5%`, `retransmits=50%`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::metric::Metric;

/// A length of time: `10m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A share or a change: `5%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percent(pub f64);

/// By how much a metric may be worse: `retransmits=50%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// The metric.
    pub metric: Metric,
    /// The limit, relative to arm A.
    pub percent: Percent,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ccctl_console::arguments::time(text).map(Self)
    }
}

impl Display for Span {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", humantime::format_duration(self.0))
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>();
        let number = number.ok().filter(|number| number.is_finite() && (0.0..=10_000.0).contains(number));
        number.map(Self).ok_or_else(|| "write a number of per cent, such as 5%".to_owned())
    }
}

impl Display for Percent {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}%", self.0)
    }
}

impl Percent {
    /// As a difference of logarithms.
    #[must_use]
    pub fn log(self) -> f64 {
        (self.0 / 100.0).ln_1p()
    }
}

impl FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (metric, percent) = text.split_once('=').ok_or("write METRIC=PERCENT, such as retransmits=50%")?;
        Ok(Self { metric: metric.trim().parse()?, percent: percent.trim().parse()? })
    }
}

impl Display for Margin {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.metric, self.percent)
    }
}

macro_rules! as_text {
    ($($name:ident)*) => {
        $(
            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
                }
            }

            impl JsonSchema for $name {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn inline_schema() -> bool {
                    true
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    String::json_schema(generator)
                }
            }
        )*
    };
}

as_text!(Span Percent Margin);
