// SPDX-License-Identifier: GPL-2.0-only
//! What is known of a scenario: what papers say, and what came out, as the page has it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    pub(super) title: String,
    pub(super) source: String,
    pub(super) notes: String,
    pub(super) statements: Vec<Stated>,
    pub(super) paper: Vec<PaperValue>,
    /// The simulator's results.
    pub(super) sim: Side,
    /// The simulator's with the noise of the testbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) testbed: Option<Side>,
    /// The running kernel's: what was set as here before what was not, each of its settings once; twice where some of it was run
    /// before windows were checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) kernel: Vec<Side>,
}

/// A statement of a paper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stated {
    pub(super) id: String,
    pub(super) text: String,
    #[serde(rename = "where")]
    pub(super) stands: String,
}

/// A value of a paper, as the page has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperValue {
    pub(super) measure: String,
    pub(super) place: String,
    #[serde(rename = "where")]
    pub(super) stands: String,
    pub(super) unit: String,
    pub(super) value: String,
}

/// What came out on one backend, as the page has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Side {
    /// What was run, where, and how.
    pub(super) description: String,
    /// Of the kernel's: what was set otherwise than in the simulator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<String>,
    /// Of the kernel's: windows that no algorithm can mean made a run invalid, whenever they were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) windows_checked: bool,
    pub(super) runs_done: usize,
    pub(super) runs: usize,
    /// By the statement's id; nothing of it was run where it is missing.
    pub(super) found: BTreeMap<String, ClaimResult>,
    /// By [`PaperValue::key`]: our value, and by how many percent it is off; it was not run where it is missing.
    pub(super) paper: BTreeMap<String, [String; 2]>,
}

/// What became of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimResult {
    pub(super) text: String,
    pub(super) verdict: Outcome,
}

/// Our verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    Holds,
    /// Places are missing; it holds at all others.
    HoldsWhereRun,
    DoesNotHold,
    /// Places are missing, and it holds at some of the others only.
    Undecided,
}

/// Whether a statement that stands there says of another one why that does not hold, as a run of the simulator with one thing changed.
pub(super) fn is_cause(stands: &str) -> bool {
    stands.starts_with("cause of ")
}

impl PaperValue {
    /// By which a side finds its own value.
    pub(super) fn key(&self) -> String {
        [self.measure.as_str(), &self.place, &self.stands].join("; ")
    }
}

impl ClaimResult {
    /// By all of its places, or by one that contradicts it.
    pub(super) fn is_decided(&self) -> bool {
        matches!(self.verdict, Outcome::Holds | Outcome::DoesNotHold)
    }
}

impl Outcome {
    /// Nothing where it is not decided.
    pub(super) fn holds(self) -> Option<bool> {
        match self {
            Self::Holds | Self::HoldsWhereRun => Some(true),
            Self::DoesNotHold => Some(false),
            Self::Undecided => None,
        }
    }

    /// In words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsWhereRun => "holds where run",
            Self::DoesNotHold => "does not hold",
            Self::Undecided => "not decided",
        }
    }
}
