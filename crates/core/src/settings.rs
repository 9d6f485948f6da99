// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameter values as they are told.

use std::collections::BTreeMap;

use ccctl_catalog::{Parameter, ParameterSet};
use ccctl_console::arguments::key_values;
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
    #[must_use]
    pub fn of(parameter: &Parameter, value: u32) -> Self {
        if parameter.words.is_empty() {
            Self::Number(value)
        } else {
            Self::Word(parameter.format(value))
        }
    }
}

/// Settings out of words of the form `KEY=VALUE`.
pub fn settings(words: &[String]) -> anyhow::Result<Settings> {
    let values = key_values(words)?;
    Ok(values.into_iter().map(|(key, value)| (key, Setting::Word(value))).collect())
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
    /// Only comparisons need it: it chooses another version of the law, such as Linux's or a draft's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_variant: bool,
    /// Value in force; only of an instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Setting>,
    /// Value before, where `tune` has changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_before: Option<Setting>,
}

impl ShownParameter {
    /// A parameter of an algorithm.
    #[must_use]
    pub fn declared(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.clone(),
            default: Setting::of(parameter, parameter.default),
            minimum: parameter.minimum,
            maximum: parameter.maximum,
            unit: parameter.unit.clone(),
            words: parameter.words.clone(),
            text: parameter.text.clone(),
            is_variant: parameter.is_variant,
            value: None,
            value_before: None,
        }
    }

    /// A parameter of an instance.
    #[must_use]
    pub fn in_force(parameter: &Parameter, value: u32) -> Self {
        Self { value: Some(Setting::of(parameter, value)), ..Self::declared(parameter) }
    }

    /// Does an operator want to see it? A variant only where it is set.
    #[must_use]
    pub fn is_of_interest(&self) -> bool {
        !self.is_variant || self.value.as_ref().is_some_and(|value| *value != self.default)
    }

    /// All parameters of an instance, in the order of their declaration.
    #[must_use]
    pub fn all_in_force(set: &ParameterSet) -> Vec<Self> {
        set.iter().map(|(parameter, value)| Self::in_force(parameter, value)).collect()
    }

    /// Its range as text.
    #[must_use]
    pub fn range(&self) -> String {
        if self.words.is_empty() {
            format!("{} .. {}", self.minimum, self.maximum)
        } else {
            self.words.join(" | ")
        }
    }
}

/// Those that differ from their defaults, as one would set them.
#[must_use]
pub fn changed(parameters: &[ShownParameter]) -> String {
    let differing = parameters.iter().filter_map(|parameter| {
        let value = parameter.value.as_ref().filter(|value| **value != parameter.default)?;
        Some(format!("{}={value}", parameter.name))
    });
    differing.collect::<Vec<_>>().join(" ")
}
