// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thing that the host can or cannot do, and what to do about it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Works.
    Ok,
    /// Something is missing, but not for `load`.
    Warn,
    /// Algorithms cannot be loaded.
    Fail,
    /// Could not be looked at.
    Unknown,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What.
    pub name: Cow<'static, str>,
    /// Result.
    pub status: Status,
    /// What was found.
    pub detail: String,
    /// What to do, where something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Check {
    pub(crate) fn new(name: &'static str, status: Status, detail: impl Into<String>, remedy: &str) -> Self {
        let remedy = (status != Status::Ok).then(|| remedy.to_owned());
        Self { name: name.into(), status, detail: detail.into(), remedy }
    }
}
