// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl default`

use ccctl_console::{output, Exit};

use crate::arguments::Default;
use ccctl_core::operations;

use crate::client;

pub fn run(arguments: &Default) -> anyhow::Result<Exit> {
    let answer = client::ask(&operations::Default { name: arguments.name.clone() })?;
    let now = &answer.congestion_control;
    if arguments.output.json {
        output::json(&answer)?;
        return Ok(Exit::Done);
    }
    match &answer.congestion_control_before {
        None => output::line(now)?,
        Some(before) if before == now => output::line(&format!("{now} is the default already: nothing to do"))?,
        Some(before) => output::line(&format!("{now} is the default of this network namespace (was {before})"))?,
    }
    Ok(Exit::Done)
}
