// SPDX-License-Identifier: MIT OR Apache-2.0
//! One difference between the file and the kernel, as it is told.

use ccctl_console::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is to be done, or was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What.
    #[serde(rename = "do")]
    pub kind: Kind,
    /// To what: a kernel name, or the connections of a rule.
    pub name: String,
    /// The rest of the sentence.
    pub detail: String,
    /// Why it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
}

/// Kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Register an instance.
    Load,
    /// Replace the program behind its name.
    Swap,
    /// Change its parameters.
    Tune,
    /// Record that the file manages it from now on: it was made by hand and matches the file.
    Adopt,
    /// Set a rule.
    Assign,
    /// Remove a rule that an earlier file had asked for; live connections keep what they have.
    Unassign,
    /// Enable an instance that the guard has disabled.
    Rearm,
    /// Set the default, or restore the one before.
    Default,
    /// Unload an instance that an earlier file had asked for; its sockets move to the default of their namespace.
    Unload,
}

impl Step {
    /// A step that is not done yet.
    pub fn new(kind: Kind, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind, name: name.into(), detail: detail.into(), error: None }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Load => "load",
            Kind::Swap => "swap",
            Kind::Tune => "tune",
            Kind::Adopt => "adopt",
            Kind::Assign => "assign",
            Kind::Unassign => "unassign",
            Kind::Rearm => "rearm",
            Kind::Default => "default",
            Kind::Unload => "unload",
        };
        write!(formatter, "{kind} {}: {}", self.name, self.detail)
    }
}
