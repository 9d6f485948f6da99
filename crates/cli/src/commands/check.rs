// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl check`

use ccctl_console::{output, Exit};

use super::file::absolute;
use crate::arguments::Check;
use ccctl_core::operations;

use crate::client;

pub fn run(arguments: &Check) -> anyhow::Result<Exit> {
    let algorithm = absolute(&arguments.algorithm)?;
    let checked = client::ask(&operations::Check { algorithm, trust_writable: arguments.trust_writable })?;
    if arguments.output.json {
        output::json(&checked)?;
        return Ok(Exit::Done);
    }
    output::line(&format!("the kernel accepts {}", checked.algorithm))?;
    let rows = checked.verified.into_iter();
    let rows = rows.map(|program| vec![program.name, program.verified_instructions.to_string()]);
    output::table(&["HOOK", "VERIFIED"], rows.collect())?;
    Ok(Exit::Done)
}
