// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl schema`: what the JSON of each command, and `ccctl.toml`, look like.

use ccctl_console::{schema, Exit};

use crate::api::schemas;
use crate::arguments::Schema;

pub fn run(arguments: &Schema) -> anyhow::Result<Exit> {
    schema::print("ccctl", &schemas::all(), arguments.name.as_deref())
}
