// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl down`

use ccctl_console::{arguments::Output, output, Exit};

use ccctl_core::operations;

use crate::client;

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let down = client::ask(&operations::Down {})?;
    let failed = &down.sockets_of_rules.failed;
    let left = down.unloaded.left + failed.len() + down.unloaded.not_restored.len();
    let exit = if left == 0 { Exit::Done } else { Exit::Partly };
    if arguments.json {
        output::json(&down)?;
        return Ok(exit);
    }
    if down.rules_removed > 0 {
        let sockets = output::count(down.sockets_of_rules.moved, "socket");
        output::line(&format!(
            "removed {}; {sockets} have their previous algorithm again",
            output::count(down.rules_removed, "rule")
        ))?;
    }
    for failure in failed {
        output::line(&format!("not moved back: {}: {}", failure.socket, failure.reason))?;
    }
    for name in &down.unloaded.unloaded {
        output::line(&format!("unloaded {name}"))?;
    }
    if down.unloaded.migrated > 0 {
        output::line(&format!("moved {} to the default", output::count(down.unloaded.migrated, "socket")))?;
    }
    if down.unloaded.left > 0 {
        let sockets = output::count(down.unloaded.left, "socket");
        output::line(&format!("{sockets} could not be moved and keep the program until they close"))?;
    }
    for restored in &down.unloaded.defaults_restored {
        output::line(&format!("{}: the default is {} again", restored.namespace, restored.congestion_control))?;
    }
    for reason in &down.unloaded.not_restored {
        output::line(&format!("not put back: {reason}"))?;
    }
    if let Some(pid) = down.ended {
        output::line(&format!("the daemon (pid {pid}) has ended"))?;
    }
    output::line("nothing of ccctl is left")?;
    Ok(exit)
}
