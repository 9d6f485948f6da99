// SPDX-License-Identifier: GPL-2.0-only
//! The lab: experiments with congestion control, described by scenarios, run, measured.
//!
//! On the running kernel they run in the network namespaces of `ccctl_testbed`, over the path that `ccctl_path` emulates.

pub mod backend;
pub mod experiment;
pub mod measures;
pub mod picture;
pub mod report;
pub mod run;
pub mod scenario;
mod seed;
pub mod shipped;
pub mod statements;
