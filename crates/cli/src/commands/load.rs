// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl load`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use ccctl_core::operations::Load;
use ccctl_core::settings::changed_exactly;

use crate::client;

pub fn run(arguments: &Asked<Load>) -> anyhow::Result<Exit> {
    let loaded = client::ask(&arguments.request)?;
    if arguments.output.json {
        output::json(&loaded)?;
        return Ok(Exit::Done);
    }
    let name = &loaded.name;
    let with = changed_exactly(&loaded.parameters);
    let with = if with.is_empty() { String::new() } else { format!(" with {with}") };
    if loaded.changed {
        let done = if loaded.dry_run { "would load" } else { "loaded" };
        output::line(&format!("{done} {} as {name}{with}", loaded.algorithm))?;
    } else {
        output::line(&format!("{name} already runs this program{with}: nothing to do"))?;
    }
    if let Some(before) = loaded.congestion_control_before.filter(|before| before != name) {
        let is = if loaded.dry_run { "would be" } else { "is" };
        output::line(&format!("{name} {is} the default of this network namespace (was {before})"))?;
    }
    Ok(Exit::Done)
}
