// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options, and values of options, that several commands have.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use anstream::ColorChoice;
use clap::{Args, ValueEnum};

use crate::fault::UsageError;

/// How to print.
#[derive(Debug, Args)]
pub struct Output {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Not at all
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::AlwaysAnsi,
            Color::Never => Self::Never,
        }
    }
}

/// The words of the command line behind the program's name, as they can be shown: names of files need not be text.
#[must_use]
pub fn words() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Splits `KEY=VALUE`.
fn key_value(word: &str) -> Result<(String, String), UsageError> {
    match word.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(UsageError::new(format!("{word:?} is not KEY=VALUE"), "write it like beta=0.7")),
    }
}

/// Splits words of the form `KEY=VALUE`.
///
/// # Errors
/// Refuses a key that is given twice: only one of its values could be meant.
pub fn key_values(words: &[String]) -> Result<BTreeMap<String, String>, UsageError> {
    let mut values = BTreeMap::new();
    for word in words {
        let (key, value) = key_value(word)?;
        if values.contains_key(&key) {
            return Err(UsageError::new(format!("{key} is set twice"), format!("write {key}=VALUE once")));
        }
        values.insert(key, value);
    }
    Ok(values)
}

/// Reads a time, such as `10ms`.
///
/// # Errors
/// Says what is wrong with the text. A number without a unit is not a time: it could be seconds or milliseconds.
pub fn time(text: &str) -> Result<Duration, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text} has no unit: {text}s, {text}ms or {text}m"));
    }
    humantime::parse_duration(text).map_err(|error| error.to_string())
}

/// Reads a time, such as `10ms`, that must be within bounds.
///
/// # Errors
/// Says what is wrong with the text; of a time outside of the bounds it says `instead`, what to give instead.
pub fn time_within(text: &str, bounds: RangeInclusive<Duration>, instead: &str) -> Result<Duration, String> {
    let read = time(text)?;
    if bounds.contains(&read) {
        Ok(read)
    } else {
        Err(instead.to_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_the_first_equals_sign_and_a_key_is_given_once() {
        let words = ["rate=2gbit".to_owned(), "note=a=b".to_owned()];
        let expected = [("note", "a=b"), ("rate", "2gbit")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(key_values(&words).unwrap(), BTreeMap::from(expected));
        for wrong in [vec!["rate"], vec!["=1"], vec!["rate="], vec!["rate=1", "rate=1"]] {
            let words: Vec<String> = wrong.iter().map(|word| (*word).to_owned()).collect();
            assert!(key_values(&words).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_answered_with_the_units() {
        assert_eq!(time("1"), Err("1 has no unit: 1s, 1ms or 1m".to_owned()));
        assert_eq!((time("1s"), time("1m")), (Ok(Duration::from_secs(1)), Ok(Duration::from_secs(60))));
        assert!(time("").is_err() && time("soon").is_err());
    }

    #[test]
    fn a_time_is_within_its_bounds_which_belong_to_them() {
        let bounds = || Duration::from_millis(1)..=Duration::from_secs(60);
        assert_eq!(time_within("1ms", bounds(), "more"), Ok(Duration::from_millis(1)));
        assert_eq!(time_within("1min", bounds(), "less"), Ok(Duration::from_secs(60)));
        assert_eq!(time_within("999us", bounds(), "more"), Err("more".to_owned()));
        assert!(time_within("soon", bounds(), "more").is_err_and(|error| error != "more"));
    }
}
