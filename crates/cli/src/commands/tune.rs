// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl tune`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use ccctl_core::operations::Tune;

use crate::client;

pub fn run(arguments: &Asked<Tune>) -> anyhow::Result<Exit> {
    let tuned = client::ask(&arguments.request)?;
    if arguments.output.json {
        output::json(&tuned)?;
        return Ok(Exit::Done);
    }
    if !tuned.changed {
        output::line(&format!("{} already has these values: nothing to do", tuned.name))?;
    }
    for parameter in &tuned.parameters {
        if let (Some(now), Some(before)) = (&parameter.value_text, &parameter.value_before_text) {
            let exact = parameter.value_exact.as_ref();
            let exact = exact.map_or_else(String::new, |exact| format!("; {now} is {exact}"));
            let is = if tuned.dry_run { "would be" } else { "=" };
            output::line(&format!("{}: {} {is} {now} (was {before}{exact})", tuned.name, parameter.name))?;
        }
    }
    Ok(Exit::Done)
}
