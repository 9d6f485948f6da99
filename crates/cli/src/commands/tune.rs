// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl tune`

use ccctl_console::{output, Exit};

use crate::arguments::Tune;
use ccctl_core::operations;
use ccctl_core::settings::settings;

use crate::client;

pub fn run(arguments: &Tune) -> anyhow::Result<Exit> {
    let set = settings(&arguments.changes)?;
    let tuned = client::ask(&operations::Tune { name: arguments.name.clone(), set })?;
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
            output::line(&format!("{}: {} = {now} (was {before}{exact})", tuned.name, parameter.name))?;
        }
    }
    Ok(Exit::Done)
}
