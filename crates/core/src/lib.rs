// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ccctl does, below the programs and the daemon that offer it: operations, the configuration file, the plan that brings
//! the kernel to it, and what these need. Nothing here knows the command line or the API.

pub mod advise;
pub mod configuration;
pub mod counters;
pub mod daemon;
pub mod error;
pub mod experiment;
pub mod fence;
pub mod local_algorithms;
pub mod object_scan;
mod operation;
pub mod operations;
pub mod plan;
pub mod request;
mod rule_target;
pub mod settings;
pub mod shares;
pub mod sys;
pub mod trust;

pub use operation::Operation;
pub use rule_target::RuleTarget;
