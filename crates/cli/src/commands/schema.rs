// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl schema`: what the JSON of each command, and `ccctl.toml`, look like, and the API's `OpenAPI` document, from the
//! types themselves.

use ccctl_console::schema::{of, print, versioned, Schemas};
use ccctl_console::Exit;
use ccctl_core::advise::Advice;
use ccctl_core::configuration;
use ccctl_core::daemon::Event;
use ccctl_core::operations::{acks, canary, trace};
use schemars::schema_for;

use super::{build, metrics, new, plot, top, verify, version};
use crate::api::{openapi_document, operations, ErrorAnswer};
use crate::arguments::Schema;

pub fn run(arguments: &Schema) -> anyhow::Result<Exit> {
    print("ccctl", &all(), arguments.name.as_deref())
}

/// Schemas by the name of the command; `error` is what each prints that fails.
fn all() -> Schemas {
    let mut all: Schemas = operations().map(|entry| (entry.name, versioned((entry.answer_alone)()))).collect();
    all.insert("error", of::<ErrorAnswer>());
    all.insert("canary", of::<canary::CanaryAnswer>());
    all.insert("events", of::<Event>());
    all.insert("acks", of::<acks::Acks>());
    all.insert("advise", of::<Advice>());
    all.insert("trace", of::<trace::Summary>());
    all.insert("new", of::<new::Answer>());
    all.insert("build", of::<build::Answer>());
    all.insert("plot", of::<plot::Answer>());
    all.insert("top", of::<top::Answer>());
    all.insert("metrics", of::<metrics::Answer>());
    all.insert("verify", of::<verify::Answer>());
    all.insert("version", of::<version::Answer>());
    all.insert("ccctl.toml", schema_for!(configuration::File));
    all.insert("openapi.json", openapi_document().try_into().expect("the document is an object"));
    all
}
