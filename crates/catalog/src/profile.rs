// SPDX-License-Identifier: MIT OR Apache-2.0
//! Profiles: parameter values that belong together, one TOML file a profile, one table an algorithm.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::folders::profile_folder;
use crate::parameter_set::ParameterSet;
use crate::parameters::ParameterError;
use crate::setting::Setting;
use crate::{did_you_mean, PROFILES};

/// A named set of parameter values for one or more algorithms.
#[derive(Debug, Clone, Deserialize)]
pub struct Profile {
    /// File name without ending.
    #[serde(skip)]
    pub name: String,
    /// One line: what the values are for.
    pub title: String,
    /// Where the values come from.
    pub source: String,
    /// Values per algorithm.
    #[serde(flatten)]
    values: BTreeMap<String, BTreeMap<String, Setting>>,
}

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// No such profile.
    #[error("there is no profile {name:?}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What to type instead.
        hint: String,
    },
    /// Not valid TOML, or not a profile.
    #[error("profile {name}: {message}")]
    Malformed {
        /// Profile.
        name: String,
        /// What is wrong, with its line.
        message: String,
    },
    /// The profile has nothing for this algorithm.
    #[error("profile {profile} has no values for {algorithm}; it has {available}")]
    NotForAlgorithm {
        /// Profile.
        profile: String,
        /// Algorithm.
        algorithm: String,
        /// Algorithms that it has values for.
        available: String,
    },
    /// A value that the algorithm refuses.
    #[error("profile {profile}: {error}")]
    Parameter {
        /// Profile.
        profile: String,
        /// Why.
        error: Box<ParameterError>,
    },
}

impl ProfileError {
    /// What to type or to change instead.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Unknown { hint, .. } => hint.clone(),
            Self::Malformed { name, .. } => format!("correct {}", file_of(name).display()),
            Self::NotForAlgorithm { algorithm, .. } => {
                format!("ccctl show {algorithm} lists the profiles that have values for it")
            }
            Self::Parameter { profile, error } => {
                format!("{} in {}", error.remedy().unwrap_or("correct it"), file_of(profile).display())
            }
        }
    }
}

/// Where an administrator writes this one.
fn file_of(name: &str) -> PathBuf {
    profile_folder().join(format!("{name}.toml"))
}

impl Profile {
    /// Names of all profiles that have values for an algorithm. Those that cannot be read have none.
    #[must_use]
    pub fn names_for(algorithm: &str) -> Vec<String> {
        let has_values = |name: &String| Self::named(name).is_ok_and(|profile| profile.values.contains_key(algorithm));
        Self::names().into_iter().filter(has_values).collect()
    }

    /// All profiles: the administrator's, then those built in that these do not replace.
    #[must_use]
    pub fn names() -> Vec<String> {
        let own = std::fs::read_dir(profile_folder()).into_iter().flatten().flatten();
        let own = own.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".toml")?.to_owned()));
        let mut names: Vec<String> = own.chain(PROFILES.iter().map(|(name, _)| (*name).to_owned())).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The profile of this name.
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        let plain = !name.is_empty() && !name.contains(['/', '.']);
        if let Some(text) = plain.then(|| std::fs::read_to_string(file_of(name)).ok()).flatten() {
            return Self::of_text(name, &text);
        }
        match PROFILES.iter().find(|(built_in, _)| *built_in == name) {
            Some((_, text)) => Self::of_text(name, text),
            None => Err(Self::unknown(name)),
        }
    }

    fn unknown(name: &str) -> ProfileError {
        let names = Self::names();
        let hint = did_you_mean(name, names.iter().map(String::as_str), || format!("there are {}", names.join(", ")));
        ProfileError::Unknown { name: name.to_owned(), hint }
    }

    fn of_text(name: &str, text: &str) -> Result<Self, ProfileError> {
        let malformed = |error: toml::de::Error| ProfileError::Malformed {
            name: name.to_owned(),
            message: error.to_string().trim().replace('\n', " "),
        };
        let profile: Self = toml::from_str(text).map_err(malformed)?;
        Ok(Self { name: name.to_owned(), ..profile })
    }

    /// Algorithms that the profile has values for.
    pub fn algorithms(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Sets what the profile says of this algorithm. All values or none.
    pub fn apply(&self, algorithm: &str, set: &mut ParameterSet) -> Result<(), ProfileError> {
        let values = self.values.get(algorithm).ok_or_else(|| ProfileError::NotForAlgorithm {
            profile: self.name.clone(),
            algorithm: algorithm.to_owned(),
            available: self.algorithms().collect::<Vec<_>>().join(", "),
        })?;
        let mut changed = set.clone();
        for (key, value) in values {
            changed
                .set(key, &value.to_string())
                .map_err(|error| ProfileError::Parameter { profile: self.name.clone(), error: Box::new(error) })?;
        }
        *set = changed;
        Ok(())
    }
}
