// SPDX-License-Identifier: GPL-2.0-only
//! Runs that were made and are not to be believed: noted with their reasons, and in no measure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trial::Renumber;

/// `invalid/NAME.json`: a run whose backend called every try invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvalidRun {
    /// Number of its point in the sweep, from 1.
    pub point: usize,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Values of the axes at this point.
    pub place: BTreeMap<String, String>,
    /// How often it was tried.
    pub tries: u32,
    /// What speaks against the last try.
    pub reasons: Vec<String>,
}

impl Renumber for InvalidRun {
    fn count_from_one(&mut self) {
        (self.point, self.repeat) = (self.point + 1, self.repeat + 1);
    }
}
