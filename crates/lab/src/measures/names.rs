// SPDX-License-Identifier: GPL-2.0-only
//! Names that a reference to a measure may contain.

use std::time::Duration;

/// What measures can be about.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Groups of flows.
    pub groups: Vec<String>,
    /// Links.
    pub links: Vec<String>,
    /// Length of the shortest run.
    pub duration: Duration,
}
