// SPDX-License-Identifier: GPL-2.0-only
//! The program `ccctl-lab` with the simulator: needs no privileges.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod bad_input;
mod examples;
mod hostile_input;
mod own_algorithm;
mod pages;
mod recorded;
mod run;
#[path = "../support/scratch.rs"]
mod scratch;
mod shards;
mod tested;
mod udt;
