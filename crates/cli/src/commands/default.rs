// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl default`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use ccctl_core::operations::Default;

use crate::client;

pub fn run(arguments: &Asked<Default>) -> anyhow::Result<Exit> {
    let answer = client::ask(&arguments.request)?;
    let now = &answer.congestion_control;
    if arguments.output.json {
        output::json(&answer)?;
        return Ok(Exit::Done);
    }
    match &answer.congestion_control_before {
        None => output::line(now)?,
        Some(before) if before == now => output::line(&format!("{now} is already the default: nothing to do"))?,
        Some(before) if answer.dry_run => {
            output::line(&format!("{now} would be the default of this network namespace (was {before})"))?;
        }
        Some(before) => output::line(&format!("{now} is the default of this network namespace (was {before})"))?,
    }
    Ok(Exit::Done)
}
