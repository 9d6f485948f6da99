// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl assign`

use ccctl_console::{output, Exit};
use ccctl_loader::Moved;

use crate::arguments::Asked;
use ccctl_core::operations::{Assign, Assigned, RuleInfo};

use crate::client;

/// More failures than this are counted, not listed, for people; JSON has all.
const LISTED_FAILURES: usize = 10;

pub fn run(arguments: &Asked<Assign>) -> anyhow::Result<Exit> {
    let assigned = client::ask(&arguments.request)?;
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
        _ if assigned.dry_run && assigned.changed => {
            let before = targets_before.as_ref().map(|before| format!(" (was {before})")).unwrap_or_default();
            format!("rule {}: {} would get {}{before}", rule.id, selector(rule), rule.targets)
        }
        None => format!("rule {}: {} gets {}", rule.id, selector(rule), rule.targets),
        Some(_) if !assigned.changed => {
            format!("rule {}: {} already gets {}: nothing to do", rule.id, selector(rule), rule.targets)
        }
        Some(before) => format!("rule {}: {} gets {} (was {before})", rule.id, selector(rule), rule.targets),
    })?;
    if !assigned.absent.is_empty() {
        output::line(&format!("not in the kernel at the moment: {}", assigned.absent.join(", ")))?;
    }
    if !assigned.cgroup_exists {
        output::line(&format!("cgroup {} does not exist at the moment", rule.cgroup))?;
    }
    match &assigned.existing {
        None => Ok(()),
        Some(moved) if assigned.dry_run => {
            output::line(&format!("at most {} would be moved", output::count(moved.found, "live socket")))
        }
        Some(moved) => print_moved(moved),
    }
}

/// For whom a rule is, in words.
pub fn selector(rule: &RuleInfo) -> String {
    let to = rule.dst.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
    let port = rule.port.map(|port| format!(" port {port}")).unwrap_or_default();
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
        output::line(&format!("not examined: {reason}"))?;
    }
    Ok(())
}

/// All done, or only a part of it.
pub fn exit(moved: Option<&Moved>) -> Exit {
    if moved.is_some_and(|moved| !moved.failed.is_empty()) {
        Exit::Partial
    } else {
        Exit::Done
    }
}
