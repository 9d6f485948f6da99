//! Parameter values as they are told.

use ccctl_catalog::Parameter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A parameter's value: a number, or, for a choice, its word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Setting {
    /// In the parameter's unit.
    Number(u32),
    /// One of the parameter's words.
    Word(String),
}

impl Setting {
    /// The value of this parameter.
    pub fn of(parameter: &Parameter, value: u32) -> Self {
        if parameter.words.is_empty() {
            Self::Number(value)
        } else {
            Self::Word(parameter.format(value))
        }
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Word(word) => formatter.write_str(word),
        }
    }
}
