// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schemas of what `ccctl --json` prints and of `ccctl.toml`, from the types themselves.

use ccctl_console::schema::{of, versioned, Schemas};
use ccctl_core::configuration;
use ccctl_core::daemon::Event;
use ccctl_core::operations::{acks, canary, trace};
use schemars::schema_for;

use super::fault::ErrorAnswer;
use super::registry::operations;
use crate::commands::{metrics, plot, top, version};

/// Schemas by the name of the command; `error` is what each prints that fails.
pub fn all() -> Schemas {
    let mut all: Schemas = operations().map(|entry| (entry.name, versioned((entry.answer_alone)()))).collect();
    all.insert("error", of::<ErrorAnswer>());
    all.insert("canary", of::<canary::CanaryAnswer>());
    all.insert("events", of::<Event>());
    all.insert("acks", of::<acks::Acks>());
    all.insert("trace", of::<trace::Summary>());
    all.insert("plot", of::<plot::Answer>());
    all.insert("top", of::<top::Answer>());
    all.insert("metrics", of::<metrics::Answer>());
    all.insert("version", of::<version::Answer>());
    all.insert("ccctl.toml", schema_for!(configuration::File));
    all
}
