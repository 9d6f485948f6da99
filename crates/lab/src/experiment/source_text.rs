// SPDX-License-Identifier: GPL-2.0-only
//! What is wrong with a scenario: one line, with its place and what to write instead.

use std::fmt::Display;
use std::ops::Range;

/// Stands in messages of quantities between what is wrong and what to write.
pub(crate) const REMEDY: char = '\u{1f}';

/// Why a scenario cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {cause}; {remedy}")]
pub struct ScenarioError {
    /// The file, as it was named.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub cause: String,
    /// What to write instead.
    pub remedy: String,
}

/// A text, for the line of what is wrong in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceText<'a> {
    /// How messages call the file.
    pub(crate) file: &'a str,
    /// All of it; what follows `length` are values from a command line.
    pub(crate) text: &'a str,
    /// Bytes that are of the file.
    pub(crate) length: usize,
}

impl SourceText<'_> {
    /// What is wrong there.
    pub(crate) fn wrong(&self, span: &Range<usize>, cause: impl Display, remedy: impl Into<String>) -> ScenarioError {
        let (file, from) = if span.start > self.length { ("--set", self.length + 1) } else { (self.file, 0) };
        let before = self.text.get(from..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ScenarioError { file: file.to_owned(), line, column, cause: cause.to_string(), remedy: remedy.into() }
    }

    /// An error of the TOML reader, or of a type of [`super::file`].
    pub(crate) fn of_toml(&self, error: &toml::de::Error) -> ScenarioError {
        let message = error.message().lines().collect::<Vec<_>>().join(" ");
        let span = error.span().unwrap_or(0..0);
        if let Some((cause, remedy)) = message.split_once(REMEDY) {
            return self.wrong(&span, cause, remedy);
        }
        let remedy =
            suggestion(&message).unwrap_or_else(|| "docs/reference/scenarios.md describes every key".to_owned());
        self.wrong(&span, message, remedy)
    }
}

/// Out of "unknown field `x`, expected one of `y`, `z`": the one most like it.
fn suggestion(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown ").then(|| quoted.next()).flatten()?;
    Some(did_you_mean(unknown, quoted))
}

/// "did you mean x?", or all there are.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    ccctl_catalog::did_you_mean(name, known.iter().copied(), || {
        if known.is_empty() {
            "there are none".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        }
    })
}
