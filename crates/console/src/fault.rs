// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors that say themselves how the program ends and what to try.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;

/// A request that is wrong before the kernel is asked.
#[derive(Debug)]
pub struct UsageError {
    cause: String,
    pub(crate) remedy: String,
}

impl UsageError {
    /// What is wrong, and what to type instead.
    pub fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.into(), remedy: remedy.into() }
    }

    /// What to type instead.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

impl std::fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.cause)
    }
}

impl std::error::Error for UsageError {}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// One line.
    pub cause: String,
    /// What to try, where anything is known.
    pub remedy: Option<String>,
    /// The exit code of the command, see `ccctl --help`.
    pub exit: u8,
}

impl Fault {
    /// A fault of the request, or of who asks.
    pub fn new(exit: Exit, cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.into(), remedy: Some(remedy.into()), exit: exit as u8 }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.cause)
    }
}

impl std::error::Error for Fault {}
