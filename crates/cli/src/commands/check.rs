// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl check`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use ccctl_core::operations::{Check, CheckedProgram};

use crate::client;

pub fn run(arguments: &Asked<Check>) -> anyhow::Result<Exit> {
    let checked = client::ask(&arguments.request)?;
    if arguments.output.json {
        output::json(&checked)?;
        return Ok(Exit::Done);
    }
    output::line(&format!("the kernel accepts {}", checked.algorithm))?;
    print_verified(checked.verified)?;
    Ok(Exit::Done)
}

/// The hooks, and what the verifier examined of each.
pub fn print_verified(verified: Vec<CheckedProgram>) -> anyhow::Result<()> {
    let rows = verified.into_iter().map(|program| vec![program.name, program.verified_instructions.to_string()]);
    output::table(&["HOOK", "INSTRUCTIONS VERIFIED (OF 1000000)"], rows.collect())
}
