//! `ccctl default`

use crate::arguments::Default;
use crate::engine;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Default) -> anyhow::Result<Exit> {
    let answer = engine::ask(&engine::Default { name: arguments.name.clone() })?;
    let now = &answer.default;
    if arguments.output.json {
        output::json(&answer)?;
        return Ok(Exit::Done);
    }
    match &answer.before {
        None => output::line(now)?,
        Some(before) if before == now => output::line(&format!("{now} is the default already: nothing to do"))?,
        Some(before) => output::line(&format!("{now} is the default of this network namespace (was {before})"))?,
    }
    Ok(Exit::Done)
}
