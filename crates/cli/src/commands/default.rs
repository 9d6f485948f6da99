//! `ccctl default`

use ccctl_loader::{current_default, set_default};
use serde_json::json;

use crate::arguments::Default;
use crate::commands::request;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Default) -> anyhow::Result<Exit> {
    let (now, before) = match &arguments.name {
        None => (current_default()?, None),
        Some(name) => {
            let change = set_default(&request::lock()?, name)?;
            (change.now, Some(change.before))
        }
    };
    if arguments.output.json {
        output::json(&json!({ "default": now, "before": before }))?;
        return Ok(Exit::Done);
    }
    match before {
        None => output::line(&now)?,
        Some(before) if before == now => output::line(&format!("{now} is the default already: nothing to do"))?,
        Some(before) => output::line(&format!("{now} is the default of this network namespace (was {before})"))?,
    }
    Ok(Exit::Done)
}
