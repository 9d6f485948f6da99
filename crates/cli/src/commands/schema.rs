// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl schema`: what the JSON of each command, and `ccctl.toml`, look like.

use ccctl_console::{output, Exit, UsageError};

use crate::api::schemas;
use crate::arguments::Schema;

pub fn run(arguments: &Schema) -> anyhow::Result<Exit> {
    let all = schemas::all();
    let Some(name) = &arguments.name else {
        all.keys().try_for_each(|name| output::line(name))?;
        return Ok(Exit::Done);
    };
    let Some(schema) = all.get(name.as_str()) else {
        let cause = format!("there is no schema of {name:?}");
        return Err(UsageError::new(cause, "ccctl schema lists them").into());
    };
    output::lines(&serde_json::to_string_pretty(schema)?)?;
    Ok(Exit::Done)
}
