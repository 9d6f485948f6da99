// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl check`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use ccctl_core::operations::Check;

use crate::client;

pub fn run(arguments: &Asked<Check>) -> anyhow::Result<Exit> {
    let checked = client::ask(&arguments.request)?;
    if arguments.output.json {
        output::json(&checked)?;
        return Ok(Exit::Done);
    }
    output::line(&format!("the kernel accepts {}", checked.algorithm))?;
    let rows = checked.verified.into_iter();
    let rows = rows.map(|program| vec![program.name, program.verified_instructions.to_string()]);
    output::table(&["HOOK", "INSTRUCTIONS VERIFIED (OF 1000000)"], rows.collect())?;
    Ok(Exit::Done)
}
