// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters: their declaration, and sets of values for them.

use serde::Serialize;

use crate::closest;

/// A tunable of an algorithm, as its C file declares it. Every parameter is an unsigned 32-bit number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Name; its suffix repeats the unit.
    pub name: String,
    /// Value unless set.
    pub default: u32,
    /// Smallest value allowed.
    pub minimum: u32,
    /// Largest value allowed.
    pub maximum: u32,
    /// Unit as the field writes it, or empty for a pure number.
    pub unit: String,
    /// For a choice: the words for 0, 1, ... Empty for a number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// One line of explanation.
    pub text: String,
    /// Only comparisons need it: it chooses another version of the law, such as Linux's or a draft's.
    pub is_variant: bool,
}

/// Why a parameter or a value for one was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The object's tag cannot be read.
    #[error("parameter {name}: malformed declaration {tag:?} in the object's BTF")]
    Tag {
        /// Parameter.
        name: String,
        /// Its tag.
        tag: String,
    },
    /// A default that the parameter cannot have.
    #[error("parameter {name}: default {default} is outside {minimum} .. {maximum}")]
    Default {
        /// Parameter.
        name: String,
        /// Its default.
        default: u32,
        /// Smallest value allowed.
        minimum: u32,
        /// Largest value allowed.
        maximum: u32,
    },
    /// A default or a limit that is not one number.
    #[error("parameter {name}: {what} {text:?} is not a whole number from 0 to 4294967295")]
    NotNumber {
        /// Parameter.
        name: String,
        /// "default", "minimum" or "maximum".
        what: &'static str,
        /// What is there.
        text: String,
    },
    /// No such parameter.
    #[error("{algorithm} has no parameter {key:?}; {hint}")]
    UnknownKey {
        /// Algorithm.
        algorithm: String,
        /// What was asked for.
        key: String,
        /// What to type instead.
        hint: String,
    },
    /// Not a number, not one of the words.
    #[error("{key}={value}: expected {expected}")]
    Malformed {
        /// Parameter.
        key: String,
        /// What was given.
        value: String,
        /// What is expected.
        expected: String,
    },
    /// Outside the range.
    #[error("{key}={value} is out of range: {minimum} to {maximum}{unit}")]
    OutOfRange {
        /// Parameter.
        key: String,
        /// What was given.
        value: u64,
        /// Smallest value allowed.
        minimum: u32,
        /// Largest value allowed.
        maximum: u32,
        /// Unit, with a leading space, or empty.
        unit: String,
    },
}

impl Parameter {
    /// Is this a tag that `params.h` writes?
    pub(crate) fn has_tag(tag: &str) -> bool {
        tag.starts_with("cc_param|") || tag.starts_with("cc_variant|")
    }

    /// Reads `cc_param|default|minimum|maximum|unit|words|text`, or the same with `cc_variant`. Words are separated by `|`
    /// as well.
    pub(crate) fn of_tag(name: &str, tag: &str) -> Result<Self, ParameterError> {
        let malformed = || ParameterError::Tag { name: name.to_owned(), tag: tag.to_owned() };
        let (kind, rest) = tag.split_once('|').filter(|_| Self::has_tag(tag)).ok_or_else(malformed)?;
        let mut fields = rest.splitn(5, '|');
        let mut next = || fields.next().ok_or_else(malformed);
        let (default, minimum, maximum) = (next()?, next()?, next()?);
        let unit = next()?.to_owned();
        let (words, text) = next()?.rsplit_once('|').ok_or_else(malformed)?;
        let number = |what: &'static str, text: &str| {
            let wrong = || ParameterError::NotNumber { name: name.to_owned(), what, text: text.to_owned() };
            text.trim_end_matches(['u', 'U']).parse::<u32>().map_err(|_| wrong())
        };
        let parameter = Self {
            name: name.to_owned(),
            default: number("default", default)?,
            minimum: number("minimum", minimum)?,
            maximum: number("maximum", maximum)?,
            unit,
            words: words.split('|').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
            text: text.to_owned(),
            is_variant: kind == "cc_variant",
        };
        if (parameter.minimum..=parameter.maximum).contains(&parameter.default) {
            return Ok(parameter);
        }
        let Self { name, default, minimum, maximum, .. } = parameter;
        Err(ParameterError::Default { name, default, minimum, maximum })
    }

    /// Reads a value as a user types it: a number, or one of the words.
    pub fn parse(&self, value: &str) -> Result<u32, ParameterError> {
        let malformed =
            |expected: String| ParameterError::Malformed { key: self.name.clone(), value: value.to_owned(), expected };
        if !self.words.is_empty() {
            let position = self.words.iter().position(|word| word == value);
            return position.map(|index| index as u32).ok_or_else(|| malformed(self.words.join(" or ")));
        }
        let number = value.parse::<u64>().map_err(|_| {
            malformed(format!("a whole number from {} to {}{}", self.minimum, self.maximum, self.spaced_unit()))
        })?;
        self.check(number)
    }

    fn check(&self, value: u64) -> Result<u32, ParameterError> {
        u32::try_from(value).ok().filter(|value| (self.minimum..=self.maximum).contains(value)).ok_or_else(|| {
            ParameterError::OutOfRange {
                key: self.name.clone(),
                value,
                minimum: self.minimum,
                maximum: self.maximum,
                unit: self.spaced_unit(),
            }
        })
    }

    /// The value as a user would type it.
    #[must_use]
    pub fn format(&self, value: u32) -> String {
        self.words.get(value as usize).cloned().unwrap_or_else(|| value.to_string())
    }

    /// The unit behind a number: " pkts", or " (in 1/1024)" where it is a number itself.
    fn spaced_unit(&self) -> String {
        match self.unit.chars().next() {
            None => String::new(),
            Some('0'..='9') => format!(" (in {})", self.unit),
            Some(_) => format!(" {}", self.unit),
        }
    }
}

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

    /// Sets one parameter; the set is unchanged where this fails.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ParameterError> {
        let index = self.index(key)?;
        self.values[index] = self.parameters[index].parse(value)?;
        Ok(())
    }

    /// The value of one parameter.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<u32> {
        self.index(key).ok().map(|index| self.values[index])
    }

    /// Parameters and their values, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&Parameter, u32)> {
        self.parameters.iter().zip(self.values.iter().copied())
    }

    fn index(&self, key: &str) -> Result<usize, ParameterError> {
        self.parameters.iter().position(|parameter| parameter.name == key).ok_or_else(|| {
            let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            let hint = match closest(key, names.iter().copied()) {
                Some(name) => format!("did you mean {name}?"),
                None => format!("it has {}", names.join(", ")),
            };
            ParameterError::UnknownKey { algorithm: self.algorithm.clone(), key: key.to_owned(), hint }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(tag: &str) -> Result<Parameter, ParameterError> {
        Parameter::of_tag("x", tag)
    }

    #[test]
    fn a_tag_gives_range_unit_words_and_text() {
        let number = parameter("cc_param|16|0|100|pkts||below: Reno").expect("well-formed");
        assert_eq!((number.default, number.minimum, number.maximum), (16, 0, 100));
        assert_eq!((number.unit.as_str(), number.text.as_str()), ("pkts", "below: Reno"));
        assert!(number.words.is_empty() && !number.is_variant);
        assert!(parameter("cc_variant|0|0|1||off|on|as Linux counts").expect("well-formed").is_variant);
        let choice = parameter("cc_param|1|0|2||a|b|c|which").expect("well-formed");
        assert_eq!(choice.words, ["a", "b", "c"]);
        assert_eq!(choice.parse("c"), Ok(2));
        assert_eq!(choice.format(1), "b");
    }

    #[test]
    fn malformed_tags_are_refused() {
        for tag in ["", "cc_params|0|0|1||t", "cc_param|1|0|2|u", "cc_param|9|0|2|u||t", "cc_param|x|0|2|u||t"] {
            assert!(parameter(tag).is_err(), "{tag}");
        }
    }

    #[test]
    fn a_default_that_cannot_be_is_named_with_its_range() {
        for (tag, message) in [
            ("cc_param|100|1|64|pkts||t", "parameter x: default 100 is outside 1 .. 64"),
            ("cc_param|0|1|64|pkts||t", "parameter x: default 0 is outside 1 .. 64"),
            (
                "cc_param|(1 + 1)|1|64|pkts||t",
                "parameter x: default \"(1 + 1)\" is not a whole number from 0 to 4294967295",
            ),
            ("cc_param|1|0|1 << 4|u||t", "parameter x: maximum \"1 << 4\" is not a whole number from 0 to 4294967295"),
        ] {
            assert_eq!(parameter(tag).map_err(|error| error.to_string()), Err(message.to_owned()));
        }
    }

    #[test]
    fn values_out_of_range_or_of_another_kind_are_refused_and_change_nothing() {
        let parameters = [parameter("cc_param|16|1|100|pkts||t").expect("well-formed")];
        let mut set = ParameterSet::defaults("a", &parameters);
        for value in ["0", "101", "-1", "4294967312", "x", "", "1.5"] {
            assert!(set.set("x", value).is_err(), "{value}");
        }
        assert_eq!(set.get("x"), Some(16));
        assert_eq!(
            set.set("y", "1").map_err(|error| error.to_string()),
            Err("a has no parameter \"y\"; it has x".to_owned())
        );
        assert_eq!(ParameterSet::of_bytes("a", &parameters, &set.to_bytes()), Some(set));
    }
}
