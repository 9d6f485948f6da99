//! `ccctl tune`

use crate::arguments::Tune;
use crate::commands::key_value::settings;
use crate::engine;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Tune) -> anyhow::Result<Exit> {
    let set = settings(&arguments.changes)?;
    let tuned = engine::ask(&engine::Tune { name: arguments.name.clone(), set })?;
    if arguments.output.json {
        output::json(&tuned)?;
        return Ok(Exit::Done);
    }
    if !tuned.changed {
        output::line(&format!("{} already has these values: nothing to do", tuned.name))?;
    }
    for change in &tuned.parameters {
        output::line(&format!("{}: {} = {} (was {})", tuned.name, change.name, change.after, change.before))?;
    }
    Ok(Exit::Done)
}
