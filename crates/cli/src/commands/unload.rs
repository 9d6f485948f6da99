// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl unload`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use ccctl_core::operations::Unload;
use ccctl_loader::Unloaded;

use crate::client;

pub fn run(arguments: &Asked<Unload>) -> anyhow::Result<Exit> {
    let result = client::ask(&arguments.request)?;
    let exit = if result.not_restored.is_empty() { Exit::Done } else { Exit::Partial };
    if arguments.output.json {
        output::json(&result)?;
        return Ok(exit);
    }
    if result.unloaded.is_empty() {
        output::line("nothing is loaded")?;
    }
    if result.dry_run {
        return print_preview(&result, arguments.request.migrate_to.as_deref()).map(|()| exit);
    }
    for name in &result.unloaded {
        output::line(&format!("unloaded {name}"))?;
    }
    if result.migrated > 0 {
        let target = arguments.request.migrate_to.as_deref().unwrap_or_default();
        output::line(&format!("moved {} to {target}", output::count(result.migrated, "socket")))?;
    }
    if result.left > 0 {
        let sockets = output::count(result.left, "socket");
        output::line(&format!("{sockets} keep the program, which stays in the kernel until they close"))?;
    }
    if result.rules_changed > 0 {
        let target = arguments.request.migrate_to.as_deref().unwrap_or_default();
        output::line(&format!("{} now with {target}", output::count(result.rules_changed, "rule")))?;
    }
    if result.rules_left > 0 {
        let rules = output::count(result.rules_left, "rule");
        output::line(&format!("{rules} still name an algorithm that no longer exists: ccctl rules"))?;
    }
    for restored in &result.defaults_restored {
        output::line(&format!("{}: the default is {} again", restored.namespace, restored.congestion_control))?;
    }
    for reason in &result.not_restored {
        output::line(&format!("not restored: {reason}"))?;
    }
    Ok(exit)
}

fn print_preview(result: &Unloaded, target: Option<&str>) -> anyhow::Result<()> {
    for name in &result.unloaded {
        output::line(&format!("would unload {name}"))?;
    }
    match target {
        Some(target) => output::line(&format!(
            "{} and {} would get {target}",
            output::count(result.migrated, "socket"),
            output::count(result.rules_changed, "rule")
        )),
        None => output::line(&format!(
            "{} would keep the program until they close; {} would name an algorithm that no longer exists",
            output::count(result.left, "socket"),
            output::count(result.rules_left, "rule")
        )),
    }
}
