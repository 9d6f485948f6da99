// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameter values as they are told.

use std::collections::BTreeMap;

pub use ccctl_catalog::Setting;
use ccctl_catalog::{Parameter, ParameterSet};
use ccctl_console::arguments::key_values;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters by name: `--set KEY=VALUE`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Settings(pub BTreeMap<String, Setting>);

/// Parameters by name that are given without an option: `KEY=VALUE ...`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Changes(pub BTreeMap<String, Setting>);

/// Parameters that connections have of their own, by name: `--param KEY=VALUE`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct OwnSettings(pub BTreeMap<String, Setting>);

const SET: &str = "set";

fn setting_arg() -> Arg {
    Arg::new(SET).value_name("KEY=VALUE").action(ArgAction::Append)
}

/// The settings of words of the form `KEY=VALUE`.
fn settings(matches: &ArgMatches) -> Result<BTreeMap<String, Setting>, clap::Error> {
    let words: Vec<String> = matches.get_many::<String>(SET).unwrap_or_default().cloned().collect();
    let values = key_values(&words).map_err(|error| {
        clap::Error::raw(ErrorKind::ValueValidation, format!("{error}\n\n  tip: {}\n", error.remedy()))
    })?;
    Ok(values.into_iter().map(|(key, value)| (key, Setting::Text(value))).collect())
}

/// Tells clap how to read a type whose words [`settings`] reads.
macro_rules! read_as_settings {
    ($type:ident, $argument:expr) => {
        impl FromArgMatches for $type {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                settings(matches).map(Self)
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                self.0.extend(settings(matches)?);
                Ok(())
            }
        }

        impl Args for $type {
            fn augment_args(command: clap::Command) -> clap::Command {
                command.arg($argument)
            }

            fn augment_args_for_update(command: clap::Command) -> clap::Command {
                Self::augment_args(command)
            }
        }
    };
}

read_as_settings!(Settings, setting_arg().long(SET).help("Set one parameter, such as beta=0.8; may be repeated"));
read_as_settings!(
    OwnSettings,
    setting_arg()
        .long("param")
        .help("Set a parameter of the algorithm for these connections alone, such as rate=50mbit; may be repeated")
);
read_as_settings!(
    Changes,
    setting_arg().required(true).help("Parameters to change, such as beta=0.8: all of them or none")
);

/// A parameter: what its C file declares, and its value where an instance has one. Numbers are in `unit`; what ends in
/// `_text` is as people write it, and as `set` takes it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShownParameter {
    /// Name.
    pub name: String,
    /// Value unless set.
    pub default: Setting,
    /// The same as text.
    pub default_text: String,
    /// Smallest value allowed.
    pub minimum: Setting,
    /// The same as text.
    pub minimum_text: String,
    /// Largest value allowed.
    pub maximum: Setting,
    /// The same as text.
    pub maximum_text: String,
    /// By what values can differ, where that is not 1: `1/1024`, `1us`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step_text: String,
    /// Unit of the numbers: `s`, `bit/s`, `%`, `pkts`; empty for a pure number.
    pub unit: String,
    /// For a choice: its words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// One line of explanation.
    pub text: String,
    /// Only comparisons need it: it chooses another version of the law, such as Linux's or a draft's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_variant: bool,
    /// A rule may give its connections a value of their own (`ccctl assign --param`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_per_connection: bool,
    /// Value in force; only of an instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Setting>,
    /// The same as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_text: Option<String>,
    /// The same as a fraction, where number and text are a rounded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_exact: Option<String>,
    /// Value before, where `tune` has changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_before: Option<Setting>,
    /// The same as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_before_text: Option<String>,
}

impl ShownParameter {
    /// A parameter of an algorithm.
    #[must_use]
    pub fn declared(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.clone(),
            default: Setting::of(parameter, parameter.default),
            default_text: parameter.format(parameter.default),
            minimum: Setting::of(parameter, parameter.minimum),
            minimum_text: parameter.format(parameter.minimum),
            maximum: Setting::of(parameter, parameter.maximum),
            maximum_text: parameter.format(parameter.maximum),
            step_text: parameter.step(),
            unit: parameter.unit().to_owned(),
            words: parameter.words.clone(),
            text: parameter.text.clone(),
            is_variant: parameter.is_variant,
            is_per_connection: parameter.is_per_connection,
            value: None,
            value_text: None,
            value_exact: None,
            value_before: None,
            value_before_text: None,
        }
    }

    /// A parameter of an instance.
    #[must_use]
    pub fn in_force(parameter: &Parameter, value: u32) -> Self {
        Self {
            value: Some(Setting::of(parameter, value)),
            value_text: Some(parameter.format(value)),
            value_exact: parameter.exact(value),
            ..Self::declared(parameter)
        }
    }

    /// The same, where it was `before` until now.
    #[must_use]
    pub fn changed(parameter: &Parameter, before: u32, value: u32) -> Self {
        let before = Some(before).filter(|before| *before != value);
        Self {
            value_before: before.map(|before| Setting::of(parameter, before)),
            value_before_text: before.map(|before| parameter.format(before)),
            ..Self::in_force(parameter, value)
        }
    }

    /// Does an operator want to see it? A variant only where it is set.
    #[must_use]
    pub fn is_of_interest(&self) -> bool {
        !self.is_variant || self.value_text.as_ref().is_some_and(|value| *value != self.default_text)
    }

    /// All values allowed, as text.
    #[must_use]
    pub fn range(&self) -> String {
        if self.words.is_empty() {
            format!("{} to {}", self.minimum_text, self.maximum_text)
        } else {
            self.words.join(" | ")
        }
    }

    /// All parameters of an instance, in the order of their declaration.
    #[must_use]
    pub fn all_in_force(set: &ParameterSet) -> Vec<Self> {
        set.iter().map(|(parameter, value)| Self::in_force(parameter, value)).collect()
    }
}

/// Those that differ from their defaults, as one would set them.
#[must_use]
pub fn changed(parameters: &[ShownParameter]) -> String {
    let differing = differing(parameters).map(|(parameter, value)| format!("{}={value}", parameter.name));
    differing.collect::<Vec<_>>().join(" ")
}

/// The same, with what a rounded value is: `beta=0.8 (819/1024)`.
#[must_use]
pub fn changed_exactly(parameters: &[ShownParameter]) -> String {
    let one = |(parameter, value): (&ShownParameter, &String)| match &parameter.value_exact {
        Some(exact) => format!("{}={value} ({exact})", parameter.name),
        None => format!("{}={value}", parameter.name),
    };
    differing(parameters).map(one).collect::<Vec<_>>().join(" ")
}

fn differing(parameters: &[ShownParameter]) -> impl Iterator<Item = (&ShownParameter, &String)> {
    parameters.iter().filter_map(|parameter| {
        let value = parameter.value_text.as_ref().filter(|value| **value != parameter.default_text)?;
        Some((parameter, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, to_value};

    fn shown(of: &str, name: &str, integer: u32) -> serde_json::Value {
        let declared = ccctl_catalog::algorithm(of).expect("it exists").layout().parameters;
        let parameter = declared.iter().find(|parameter| parameter.name == name).expect("it is declared");
        to_value(ShownParameter::changed(parameter, parameter.default, integer)).expect("plain data")
    }

    /// 0.8 times 1024 is 819.2; C has the RTT in us.
    #[test]
    fn answers_have_numbers_in_the_base_unit_and_what_people_write() {
        let beta = shown("cubic", "beta", 819);
        let keys = ["value", "value_text", "value_exact", "value_before", "default", "unit", "step_text"];
        assert_eq!(
            keys.map(|key| beta[key].clone()),
            [json!(0.8), json!("0.8"), json!("819/1024"), json!(0.7), json!(0.7), json!(""), json!("1/1024")]
        );
        let rtt = shown("htcp", "rtt_ref", 250_000);
        let keys = ["value", "value_text", "value_before_text", "minimum", "maximum_text", "unit", "step_text"];
        assert_eq!(
            keys.map(|key| rtt[key].clone()),
            [json!(0.25), json!("250ms"), json!("100ms"), json!(0.001), json!("10s"), json!("s"), json!("1us")]
        );
        assert!(rtt.get("value_exact").is_none() && shown("htcp", "rtt_ref", 100_000).get("value_before").is_none());
        assert_eq!(shown("fast", "mode0_up", 1500)["value"], json!(12_000_000));
        assert_eq!(shown("cubic", "slow_start_exit", 2)["value"], json!("hystart++"));
    }

    #[test]
    fn what_differs_is_written_as_one_would_set_it() {
        let declared = ccctl_catalog::algorithm("cubic").expect("it exists").layout().parameters;
        let mut set = ParameterSet::defaults("cubic", &declared);
        assert_eq!(changed(&ShownParameter::all_in_force(&set)), "");
        for (key, value) in [("beta", "0.8"), ("c", "0.5")] {
            set.set(key, value).expect("in range");
        }
        let shown = ShownParameter::all_in_force(&set);
        assert_eq!(changed(&shown), "beta=0.8 c=0.5");
        assert_eq!(changed_exactly(&shown), "beta=0.8 (819/1024) c=0.5");
    }
}
