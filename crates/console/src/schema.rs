// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schemas of what a program prints with `--json`.

use std::collections::BTreeMap;

use schemars::{schema_for, JsonSchema, Schema};
use serde_json::{json, Value};

use crate::output::{self, JSON_VERSION};
use crate::{Exit, UsageError};

/// Schemas by the name of the command.
pub type Schemas = BTreeMap<&'static str, Schema>;

/// The schema of an answer.
#[must_use]
pub fn of<T: JsonSchema>() -> Schema {
    versioned(schema_for!(T))
}

/// With the version that [`output::json`] puts first.
#[must_use]
pub fn versioned(mut schema: Schema) -> Schema {
    let version = json!({ "type": "integer", "const": JSON_VERSION, "description": "Version of this form." });
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("json_version".to_owned(), version);
    }
    schema
}

/// Prints the schema of this name, or all names.
///
/// # Errors
/// Where there is none of this name, or stdout cannot be written.
pub fn print(program: &str, all: &Schemas, name: Option<&str>) -> anyhow::Result<Exit> {
    let Some(name) = name else {
        all.keys().try_for_each(|name| output::line(name))?;
        return Ok(Exit::Done);
    };
    let Some(schema) = all.get(name) else {
        let cause = format!("there is no schema of {name:?}");
        return Err(UsageError::new(cause, format!("{program} schema lists them")).into());
    };
    output::lines(&serde_json::to_string_pretty(schema)?)?;
    Ok(Exit::Done)
}
