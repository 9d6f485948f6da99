// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl swap`

use ccctl_console::{output, Exit};

use super::file::absolute;
use crate::arguments::Swap;
use ccctl_core::operations;
use ccctl_core::settings::settings;

use crate::client;

pub fn run(arguments: &Swap) -> anyhow::Result<Exit> {
    let swapped = client::ask(&operations::Swap {
        name: arguments.name.clone(),
        with: arguments.with.as_deref().map(absolute).transpose()?,
        profile: arguments.parameters.profile.clone(),
        set: settings(&arguments.parameters.set)?,
        trust_writable: arguments.trust_writable,
    })?;
    let exit = if swapped.not_followed.is_empty() { Exit::Done } else { Exit::Partly };
    if arguments.output.json {
        output::json(&swapped)?;
        return Ok(exit);
    }
    let name = &swapped.name;
    output::line(&format!("{name}: new connections use {}", swapped.algorithm))?;
    if swapped.sockets_on_old_program > 0 {
        let sockets = output::count(swapped.sockets_on_old_program, "live connection");
        output::line(&format!("{sockets} on the program before; ccctl migrate --from {name} --to {name} moves them"))?;
    }
    for reason in &swapped.not_followed {
        output::line(&format!("not followed: {reason}"))?;
    }
    Ok(exit)
}
