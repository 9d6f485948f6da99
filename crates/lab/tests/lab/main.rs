// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the lab that need no privileges.

#![allow(clippy::unwrap_used)] // a test ends where something is missing

mod bad_scenarios;
mod causes;
mod columns;
mod good_scenarios;
mod invalid;
mod judging;
mod measuring;
mod pictures;
mod recorded;
mod reproduction;
mod running;
#[path = "../support/scratch.rs"]
mod scratch;

use std::path::{Path, PathBuf};

use ccctl_lab::experiment::ScenarioError;
use ccctl_lab::scenario::Scenario;

/// A file of this repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A scenario of this text, in the folder of the shipped ones.
fn scenario(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::of_text(Path::new("s.toml"), text, &[])
}
