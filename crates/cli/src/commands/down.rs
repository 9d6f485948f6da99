// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl down`

use ccctl_console::{output, Exit};
use ccctl_core::operations::{Down, TornDown};

use crate::arguments::Asked;
use crate::client;

pub fn run(arguments: &Asked<Down>) -> anyhow::Result<Exit> {
    let down = client::ask(&arguments.request)?;
    let failed = &down.sockets_of_rules.failed;
    let left = down.unloaded.left + failed.len() + down.unloaded.not_restored.len();
    let exit = if left == 0 { Exit::Done } else { Exit::Partial };
    if arguments.output.json {
        output::json(&down)?;
        return Ok(exit);
    }
    if down.unloaded.dry_run {
        return print_preview(&down).map(|()| exit);
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
        output::line(&format!("not restored: {reason}"))?;
    }
    if let Some(pid) = down.ended {
        output::line(&format!("the daemon (pid {pid}) has stopped"))?;
    }
    output::line("nothing of ccctl is left")?;
    Ok(exit)
}

fn print_preview(down: &TornDown) -> anyhow::Result<()> {
    let sockets = output::count(down.sockets_of_rules.found, "socket");
    output::line(&format!(
        "would remove {}; {sockets} that met them would get their previous algorithm",
        output::count(down.rules_removed, "rule")
    ))?;
    for name in &down.unloaded.unloaded {
        output::line(&format!("would unload {name}"))?;
    }
    output::line(&format!("would move {} to the default", output::count(down.unloaded.migrated, "socket")))?;
    if let Some(pid) = down.ended {
        output::line(&format!("would stop the daemon (pid {pid})"))?;
    }
    output::line("nothing was changed")
}
