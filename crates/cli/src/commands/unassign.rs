// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl unassign`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use crate::commands::assign::{exit, print_moved, selector};
use ccctl_core::operations::Unassign;

use crate::client;

pub fn run(arguments: &Asked<Unassign>) -> anyhow::Result<Exit> {
    let unassigned = client::ask(&arguments.request)?;
    let exit = exit(unassigned.existing.as_ref());
    if arguments.output.json {
        output::json(&unassigned)?;
        return Ok(exit);
    }
    if unassigned.removed.is_empty() {
        output::line("there are no rules: nothing to do")?;
    }
    let done = if unassigned.dry_run { "would remove" } else { "removed" };
    for rule in &unassigned.removed {
        output::line(&format!("{done} rule {}: {} got {}", rule.id, selector(rule), rule.gives()))?;
    }
    match &unassigned.existing {
        Some(moved) if unassigned.dry_run => {
            output::line(&format!("{} met them and would be moved", output::count(moved.found, "live socket")))?;
        }
        Some(moved) => print_moved(moved)?,
        None => {}
    }
    Ok(exit)
}
