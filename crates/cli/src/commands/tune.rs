//! `ccctl tune`

use ccctl_loader::tune;
use serde_json::{json, Value};

use crate::arguments::Tune;
use crate::commands::request;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Tune) -> anyhow::Result<Exit> {
    let changes = request::key_values(&arguments.changes)?;
    let lock = request::lock()?;
    let tuned = tune(&lock, &arguments.name, &changes)?;
    let values = tuned.before.iter().zip(tuned.after.iter());
    let differing: Vec<_> = values.filter(|((_, before), (_, after))| before != after).collect();
    if arguments.output.json {
        let parameters = differing.iter().map(|((parameter, before), (_, after))| {
            let (before, after) = (output::value(parameter, *before), output::value(parameter, *after));
            json!({ "name": parameter.name, "before": before, "after": after })
        });
        output::json(&json!({
            "name": arguments.name,
            "changed": !differing.is_empty(),
            "parameters": parameters.collect::<Vec<Value>>(),
        }))?;
        return Ok(Exit::Done);
    }
    if differing.is_empty() {
        output::line(&format!("{} already has these values: nothing to do", arguments.name))?;
    }
    for ((parameter, before), (_, after)) in differing {
        let (before, after) = (parameter.format(before), parameter.format(after));
        output::line(&format!("{}: {} = {after} (was {before})", arguments.name, parameter.name))?;
    }
    Ok(Exit::Done)
}
