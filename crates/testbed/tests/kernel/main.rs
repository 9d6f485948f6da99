// SPDX-License-Identifier: GPL-2.0-only
//! The testbed on the running kernel: needs root, and `--test-threads=1`.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod netns_testbed;
