// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl load`

use ccctl_console::{output, Exit};

use super::file::absolute;
use crate::arguments::Load;
use ccctl_core::operations;
use ccctl_core::settings::{changed_exactly, settings};

use crate::client;

pub fn run(arguments: &Load) -> anyhow::Result<Exit> {
    let loaded = client::ask(&operations::Load {
        algorithm: absolute(&arguments.algorithm)?,
        name: arguments.name.clone(),
        profile: arguments.parameters.profile.clone(),
        set: settings(&arguments.parameters.set)?,
        default: arguments.default,
        trust_writable: arguments.trust_writable,
    })?;
    if arguments.output.json {
        output::json(&loaded)?;
        return Ok(Exit::Done);
    }
    let name = &loaded.name;
    let with = changed_exactly(&loaded.parameters);
    let with = if with.is_empty() { String::new() } else { format!(" with {with}") };
    if loaded.changed {
        output::line(&format!("loaded {} as {name}{with}", loaded.algorithm))?;
    } else {
        output::line(&format!("{name} already runs this program{with}: nothing to do"))?;
    }
    if let Some(before) = loaded.congestion_control_before.filter(|before| before != name) {
        output::line(&format!("{name} is the default of this network namespace (was {before})"))?;
    }
    Ok(Exit::Done)
}
