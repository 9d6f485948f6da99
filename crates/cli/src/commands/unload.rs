// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl unload`

use ccctl_console::{output, Exit};

use crate::arguments::Unload;
use ccctl_core::operations;

use crate::client;

pub fn run(arguments: &Unload) -> anyhow::Result<Exit> {
    let result = client::ask(&operations::Unload {
        names: arguments.names.clone(),
        all: arguments.all,
        migrate_to: arguments.migrate_to.clone(),
        force: arguments.force,
    })?;
    let exit = if result.not_restored.is_empty() { Exit::Done } else { Exit::Partly };
    if arguments.output.json {
        output::json(&result)?;
        return Ok(exit);
    }
    if result.unloaded.is_empty() {
        output::line("nothing is loaded")?;
    }
    for name in &result.unloaded {
        output::line(&format!("unloaded {name}"))?;
    }
    if result.migrated > 0 {
        let target = arguments.migrate_to.as_deref().unwrap_or_default();
        output::line(&format!("moved {} to {target}", output::count(result.migrated, "socket")))?;
    }
    if result.left > 0 {
        let sockets = output::count(result.left, "socket");
        output::line(&format!("{sockets} keep the program, which stays in the kernel until they close"))?;
    }
    if result.rules_changed > 0 {
        let target = arguments.migrate_to.as_deref().unwrap_or_default();
        output::line(&format!("{} now with {target}", output::count(result.rules_changed, "rule")))?;
    }
    if result.rules_left > 0 {
        let rules = output::count(result.rules_left, "rule");
        output::line(&format!("{rules} still with a name that is gone: ccctl rules"))?;
    }
    for restored in &result.defaults_restored {
        output::line(&format!("{}: the default is {} again", restored.namespace, restored.congestion_control))?;
    }
    for reason in &result.not_restored {
        output::line(&format!("not put back: {reason}"))?;
    }
    Ok(exit)
}
