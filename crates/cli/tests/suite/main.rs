// SPDX-License-Identifier: MIT OR Apache-2.0
//! All tests of the program in one binary: many would be linked, and kept, 45 times.
//!
//! A folder has the tests that need the same; `support` has what they share.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod daemon;
mod kernel;
mod lab;
mod support;
#[path = "../two_users/mod.rs"]
mod two_users;
