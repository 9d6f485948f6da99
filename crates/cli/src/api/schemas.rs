// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schemas of what `ccctl --json` prints and of `ccctl.toml`, from the types themselves.

use std::collections::BTreeMap;

use ccctl_console::output::JSON_VERSION;
use ccctl_core::configuration;
use ccctl_core::daemon::Event;
use ccctl_core::operations::{acks, canary, trace};
use schemars::{schema_for, JsonSchema, Schema};
use serde_json::{json, Value};

use super::fault::ErrorAnswer;
use super::registry::operations;
use crate::commands::{metrics, plot, top, version};

/// Schemas by the name of the command; `error` is what each prints that fails.
pub fn all() -> BTreeMap<&'static str, Schema> {
    let mut all: BTreeMap<_, _> = operations().map(|entry| (entry.name, versioned((entry.answer_alone)()))).collect();
    all.insert("error", of::<ErrorAnswer>());
    all.insert("canary", of::<canary::CanaryAnswer>());
    all.insert("events", schema_for!(Event));
    all.insert("acks", of::<acks::Acks>());
    all.insert("trace", of::<trace::Summary>());
    all.insert("plot", of::<plot::Answer>());
    all.insert("top", of::<top::Answer>());
    all.insert("metrics", of::<metrics::Answer>());
    all.insert("version", of::<version::Answer>());
    all.insert("ccctl.toml", schema_for!(configuration::File));
    all
}

fn of<T: JsonSchema>() -> Schema {
    versioned(schema_for!(T))
}

/// With the version that [`ccctl_console::output::json`] puts first.
fn versioned(mut schema: Schema) -> Schema {
    let version = json!({ "type": "integer", "const": JSON_VERSION, "description": "Version of this form." });
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("json_version".to_owned(), version);
    }
    schema
}
