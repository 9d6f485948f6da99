// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab show`

use std::io::Write as _;

use ccctl_console::{output, Exit};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::load;
use crate::arguments::Show as Arguments;

/// A scenario that is part of ccctl.
#[derive(Serialize, JsonSchema)]
pub struct Answer {
    name: String,
    /// What is in its file, without the comments.
    document: Value,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scenario = load::shipped(&arguments.name)?;
    if arguments.output.json {
        let document = toml::from_str(scenario.text)?;
        output::json(&Answer { name: scenario.name.to_owned(), document })?;
    } else {
        std::io::stdout().lock().write_all(scenario.text.as_bytes())?;
    }
    Ok(Exit::Done)
}
