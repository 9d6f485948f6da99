// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters: what a C file declares, and their values as people write them.

use crate::notation::{Notation, Unreadable};

/// A tunable of an algorithm, as its C file declares it. In C every parameter is an unsigned 32-bit integer; people write and
/// read `0.7`, `100ms`, `15%`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name: that of the C member, without a suffix that the written value makes superfluous.
    pub name: String,
    /// Name of the C member: `beta_q10`.
    pub member: String,
    /// The C member's integer unless set.
    pub default: u32,
    /// Smallest integer allowed.
    pub minimum: u32,
    /// Largest integer allowed.
    pub maximum: u32,
    /// For a choice: the words for 0, 1, ... Empty for a number.
    pub words: Vec<String>,
    /// One line of explanation.
    pub text: String,
    /// Only comparisons need it: it chooses another version of the law, such as Linux's or a draft's.
    pub is_variant: bool,
    /// A rule may give its connections a value of their own.
    pub is_per_connection: bool,
    notation: Notation,
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
    #[error("{algorithm} has no parameter {key:?}")]
    UnknownKey {
        /// Algorithm.
        algorithm: String,
        /// What was asked for.
        key: String,
        /// What to type instead.
        remedy: String,
    },
    /// No value that the parameter can have.
    #[error("{key}={value}: {cause}")]
    Value {
        /// Parameter.
        key: String,
        /// What was given.
        value: String,
        /// What is wrong with it, with the range.
        cause: String,
        /// What to type instead.
        remedy: String,
    },
}

impl ParameterError {
    /// What to type instead.
    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Self::UnknownKey { remedy, .. } | Self::Value { remedy, .. } => Some(remedy),
            Self::Tag { .. } | Self::Default { .. } | Self::NotNumber { .. } => None,
        }
    }
}

impl Parameter {
    /// A number that no algorithm declares, such as a setting of a socket: from `minimum` to `maximum` of what a C file would
    /// declare as `unit`. `default` is what messages give as an example.
    #[must_use]
    pub fn of_range(member: &str, unit: &str, (minimum, maximum): (u32, u32), default: u32) -> Self {
        let notation = Notation::of_declared(unit);
        Self {
            name: notation.name_of(member),
            member: member.to_owned(),
            default,
            minimum,
            maximum,
            words: Vec::new(),
            text: String::new(),
            is_variant: false,
            is_per_connection: false,
            notation,
        }
    }

    /// Is this a tag that `params.h` writes?
    pub(crate) fn has_tag(tag: &str) -> bool {
        tag.starts_with("cc_param|") || tag.starts_with("cc_variant|")
    }

    /// Reads the tag of a C member: `cc_param|default|minimum|maximum|unit|words|text`, or the same with `cc_variant`. Words
    /// are separated by `|` as well.
    pub(crate) fn of_tag(member: &str, tag: &str) -> Result<Self, ParameterError> {
        let malformed = || ParameterError::Tag { name: member.to_owned(), tag: tag.to_owned() };
        let (kind, rest) = tag.split_once('|').filter(|_| Self::has_tag(tag)).ok_or_else(malformed)?;
        let mut fields = rest.splitn(5, '|');
        let mut next = || fields.next().ok_or_else(malformed);
        let (default, minimum, maximum) = (next()?, next()?, next()?);
        let notation = Notation::of_declared(next()?);
        let (words, text) = next()?.rsplit_once('|').ok_or_else(malformed)?;
        let number = |what: &'static str, text: &str| {
            let wrong = || ParameterError::NotNumber { name: member.to_owned(), what, text: text.to_owned() };
            text.trim_end_matches(['u', 'U']).parse::<u32>().map_err(|_| wrong())
        };
        let parameter = Self {
            name: notation.name_of(member),
            member: member.to_owned(),
            default: number("default", default)?,
            minimum: number("minimum", minimum)?,
            maximum: number("maximum", maximum)?,
            words: words.split('|').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
            text: text.to_owned(),
            is_variant: kind == "cc_variant",
            is_per_connection: false,
            notation,
        };
        if (parameter.minimum..=parameter.maximum).contains(&parameter.default) {
            return Ok(parameter);
        }
        let Self { member: name, default, minimum, maximum, .. } = parameter;
        Err(ParameterError::Default { name, default, minimum, maximum })
    }

    /// The same, where a second tag says that connections may have a value of their own.
    pub(crate) fn per_connection(self, is_per_connection: bool) -> Self {
        Self { is_per_connection, ..self }
    }

    /// Reads a value as a user types it: a number with the unit that it needs, or one of the words.
    pub fn parse(&self, value: &str) -> Result<u32, ParameterError> {
        if !self.words.is_empty() {
            let position = self.words.iter().position(|word| word == value);
            let words = self.words.join(" or ");
            let remedy = format!("{}={}", self.name, self.format(self.default));
            return position
                .map(|index| index as u32)
                .ok_or_else(|| self.refused(value, format!("expected {words}"), remedy));
        }
        let read = self.notation.read(value).map_err(|why| self.unreadable(value, &why))?;
        if (self.minimum..=self.maximum).contains(&read) {
            Ok(read)
        } else {
            Err(self.out_of_range(value, read < self.minimum))
        }
    }

    /// The integer as a user would type it: the shortest text that [`Self::parse`] takes for the same integer.
    #[must_use]
    pub fn format(&self, integer: u32) -> String {
        self.words.get(integer as usize).cloned().unwrap_or_else(|| self.notation.text(integer))
    }

    /// The integer as a number in [`Self::unit`].
    #[must_use]
    pub fn number(&self, integer: u32) -> f64 {
        self.notation.number(integer)
    }

    /// The value as a fraction, where its text is a rounded one: `717/1024` of 0.7.
    #[must_use]
    pub fn exact(&self, integer: u32) -> Option<String> {
        self.notation.exact(integer)
    }

    /// Unit of [`Self::number`]: `s`, `bit/s`, `%`, `pkts`; empty for a pure number.
    #[must_use]
    pub fn unit(&self) -> &str {
        self.notation.unit()
    }

    /// By what values can differ, where that is not 1: `1/1024`, `1us`.
    #[must_use]
    pub fn step(&self) -> String {
        self.notation.step_text()
    }

    /// All values: `0.5 to 0.977`, `off | on`.
    #[must_use]
    pub fn range(&self) -> String {
        if self.words.is_empty() {
            format!("{} to {}", self.format(self.minimum), self.format(self.maximum))
        } else {
            self.words.join(" | ")
        }
    }

    /// Of a value that cannot be read.
    fn unreadable(&self, value: &str, why: &Unreadable) -> ParameterError {
        let (name, what, range) = (&self.name, self.notation.what(), self.range());
        let default = format!("{name}={}", self.format(self.default));
        let (cause, remedy) = match why {
            Unreadable::Malformed => (format!("expected {what}, {range}"), default),
            Unreadable::NoUnit => {
                let number = value.trim();
                let with_unit: Vec<String> = self.notation.names().map(|unit| format!("{number}{unit}")).collect();
                (format!("{what} needs its unit ({range})"), format!("{name}={}", with_unit.join(" or ")))
            }
            Unreadable::TooLarge => return self.out_of_range(value, false),
            Unreadable::TooFine { below } => {
                let near = [*below, below.saturating_add(1)].map(|near| near.clamp(self.minimum, self.maximum));
                let mut near = near.map(|near| format!("{name}={}", self.format(near))).to_vec();
                near.dedup();
                let step = if self.step().is_empty() { "1".to_owned() } else { self.step() };
                (format!("finer than its steps of {step} ({range})"), near.join(" or "))
            }
        };
        self.refused(value, cause, remedy)
    }

    fn out_of_range(&self, value: &str, is_below: bool) -> ParameterError {
        let nearest = self.format(if is_below { self.minimum } else { self.maximum });
        self.refused(value, format!("out of range: {}", self.range()), format!("{}={nearest}", self.name))
    }

    fn refused(&self, value: &str, cause: String, remedy: String) -> ParameterError {
        ParameterError::Value { key: self.name.clone(), value: value.to_owned(), cause, remedy }
    }

    /// What to type instead of `member=value`, as it was typed before values had units.
    pub(crate) fn instead_of_member(&self, value: &str) -> String {
        let integer = value.parse().ok().filter(|integer| (self.minimum..=self.maximum).contains(integer));
        match integer.or_else(|| self.parse(value).ok()) {
            Some(integer) => format!("{}={}", self.name, self.format(integer)),
            None => format!("{}={}, of {}", self.name, self.format(self.default), self.range()),
        }
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
        assert_eq!((number.unit(), number.text.as_str()), ("pkts", "below: Reno"));
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
}
