// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl unassign`

use ccctl_console::{output, Exit};

use crate::arguments::Unassign;
use crate::commands::assign::{exit, print_moved, selector};
use ccctl_core::operations;

use crate::client;

pub fn run(arguments: &Unassign) -> anyhow::Result<Exit> {
    let which = &arguments.which;
    let unassigned = client::ask(&operations::Unassign {
        id: which.id,
        all: which.all,
        cgroup: which.cgroup.clone(),
        unit: which.unit.clone(),
        pid: which.pid,
        to: arguments.to.clone(),
        to_port: arguments.to_port,
        existing: arguments.existing,
    })?;
    let exit = exit(unassigned.existing.as_ref());
    if arguments.output.json {
        output::json(&unassigned)?;
        return Ok(exit);
    }
    if unassigned.removed.is_empty() {
        output::line("there are no rules: nothing to do")?;
    }
    for rule in &unassigned.removed {
        output::line(&format!("rule {} is gone: {} got {}", rule.id, selector(rule), rule.targets))?;
    }
    if let Some(moved) = &unassigned.existing {
        print_moved(moved)?;
    }
    Ok(exit)
}
