// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl assign`

use ccctl_console::{output, Exit};
use ccctl_loader::Moved;

use crate::arguments::Assign;
use ccctl_core::operations::{self, Assigned, RuleInfo};

use crate::client;

/// More failures than this are counted, not listed, for people; JSON has all.
const LISTED_FAILURES: usize = 10;

pub fn run(arguments: &Assign) -> anyhow::Result<Exit> {
    let place = &arguments.place;
    let assigned = client::ask(&operations::Assign {
        cgroup: place.cgroup.clone(),
        unit: place.unit.clone(),
        pid: place.pid,
        to: arguments.to.clone(),
        to_port: arguments.to_port,
        targets: arguments.targets.clone(),
        existing: arguments.existing,
        absent_ok: arguments.absent_ok,
    })?;
    if arguments.output.json {
        output::json(&assigned)?;
    } else {
        print(&assigned)?;
    }
    Ok(exit(assigned.existing.as_ref()))
}

fn print(assigned: &Assigned) -> anyhow::Result<()> {
    let Assigned { rule, targets_before, .. } = assigned;
    output::line(&match targets_before {
        None => format!("rule {}: {} gets {}", rule.id, selector(rule), rule.targets),
        Some(_) if !assigned.changed => {
            format!("rule {}: {} gets {} already: nothing to do", rule.id, selector(rule), rule.targets)
        }
        Some(before) => format!("rule {}: {} gets {} (was {before})", rule.id, selector(rule), rule.targets),
    })?;
    if !assigned.absent.is_empty() {
        output::line(&format!("not in the kernel now: {}", assigned.absent.join(", ")))?;
    }
    if !assigned.cgroup_exists {
        output::line(&format!("cgroup {} does not exist now", rule.cgroup))?;
    }
    assigned.existing.as_ref().map_or(Ok(()), print_moved)
}

/// For whom a rule is, in words.
pub fn selector(rule: &RuleInfo) -> String {
    let to = rule.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
    let port = rule.to_port.map(|port| format!(" port {port}")).unwrap_or_default();
    format!("cgroup {}{to}{port}", rule.cgroup)
}

/// What was done to live sockets.
pub fn print_moved(moved: &Moved) -> anyhow::Result<()> {
    output::line(&format!("live: {}, {} moved", output::count(moved.found, "socket"), moved.moved))?;
    for failure in moved.failed.iter().take(LISTED_FAILURES) {
        output::line(&format!("not moved: {}: {}", failure.socket, failure.reason))?;
    }
    if moved.failed.len() > LISTED_FAILURES {
        output::line(&format!("and {} more that were not moved", moved.failed.len() - LISTED_FAILURES))?;
    }
    for reason in &moved.unreadable {
        output::line(&format!("not looked at: {reason}"))?;
    }
    Ok(())
}

/// All done, or only a part of it.
pub fn exit(moved: Option<&Moved>) -> Exit {
    if moved.is_some_and(|moved| !moved.failed.is_empty()) {
        Exit::Partly
    } else {
        Exit::Done
    }
}
