// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl assign`

use ccctl_console::{output, Exit};
use ccctl_loader::Moved;

use crate::arguments::Asked;
use ccctl_core::operations::{gives, Assign, Assigned, RuleInfo};

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
    let Assigned { rule, targets_before, own_parameters_before, settings_before, .. } = assigned;
    let (whom, given) = (selector(rule), rule.gives());
    let before = targets_before
        .as_ref()
        .map(|before| format!(" (was {})", gives(before, own_parameters_before, settings_before)));
    let before = before.filter(|_| assigned.changed).unwrap_or_default();
    output::line(&if !assigned.changed {
        format!("rule {}: {whom} already gets {given}: nothing to do", rule.id)
    } else if assigned.dry_run {
        format!("rule {}: {whom} would get {given}{before}", rule.id)
    } else {
        format!("rule {}: {whom} gets {given}{before}", rule.id)
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
        Some(moved) => {
            print_moved(moved)?;
            print_new_only(rule)
        }
    }
}

/// What live connections cannot be given.
fn print_new_only(rule: &RuleInfo) -> anyhow::Result<()> {
    for setting in rule.settings.iter().filter(|one| !one.setting.is_for_live()) {
        output::line(&format!("{}: only for new connections", setting.setting.key()))?;
    }
    Ok(())
}

/// For whom a rule is, in words.
pub fn selector(rule: &RuleInfo) -> String {
    let to = rule.dst.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
    let port = rule.port.map(|port| format!(" port {port}")).unwrap_or_default();
    let conditions = Some(rule.conditions()).filter(|conditions| !conditions.is_empty());
    let conditions = conditions.map(|conditions| format!(" {conditions}")).unwrap_or_default();
    format!("cgroup {}{to}{port}{conditions}", rule.cgroup)
}

/// What was done to live sockets.
pub fn print_moved(moved: &Moved) -> anyhow::Result<()> {
    let set = if moved.settings_changed > 0 {
        format!(", settings of {} changed", moved.settings_changed)
    } else {
        String::new()
    };
    let set = if moved.parameters_changed > 0 {
        format!("{set}, parameters of {} changed", moved.parameters_changed)
    } else {
        set
    };
    output::line(&format!("live: {}, {} moved{set}", output::count(moved.found, "socket"), moved.moved))?;
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
