// SPDX-License-Identifier: GPL-2.0-only
//! The laboratory on the running kernel: needs root, and `--test-threads=1`.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod netns_run;
mod netns_scenario;
mod netns_stop;
#[path = "../support/scratch.rs"]
mod scratch;
mod support;
