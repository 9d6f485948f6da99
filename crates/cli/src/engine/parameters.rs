//! Parameter values as they are told.

use std::collections::BTreeMap;

use ccctl_catalog::{Parameter, ParameterSet};
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

/// Parameters by name.
pub type Settings = BTreeMap<String, Setting>;

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

/// A parameter: what its C file declares, and its value where an instance has one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShownParameter {
    /// Name; its suffix repeats the unit.
    pub name: String,
    /// Value unless set.
    pub default: Setting,
    /// Smallest value allowed.
    pub minimum: u32,
    /// Largest value allowed.
    pub maximum: u32,
    /// Unit as the field writes it, or empty for a pure number.
    pub unit: String,
    /// For a choice: the words for 0, 1, ...
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// One line of explanation.
    pub text: String,
    /// Value in force; only of an instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Setting>,
}

impl ShownParameter {
    /// A parameter of an algorithm.
    pub fn declared(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.clone(),
            default: Setting::of(parameter, parameter.default),
            minimum: parameter.minimum,
            maximum: parameter.maximum,
            unit: parameter.unit.clone(),
            words: parameter.words.clone(),
            text: parameter.text.clone(),
            value: None,
        }
    }

    /// A parameter of an instance.
    pub fn in_force(parameter: &Parameter, value: u32) -> Self {
        Self { value: Some(Setting::of(parameter, value)), ..Self::declared(parameter) }
    }

    /// Its range as text.
    pub fn range(&self) -> String {
        if self.words.is_empty() {
            format!("{} .. {}", self.minimum, self.maximum)
        } else {
            self.words.join(" | ")
        }
    }
}

/// Those that differ from their defaults.
pub fn changed(set: &ParameterSet) -> Settings {
    let changed = set.iter().filter(|(parameter, value)| parameter.default != *value);
    changed.map(|(parameter, value)| (parameter.name.clone(), Setting::of(parameter, value))).collect()
}
