//! `ccctl check`

use ccctl_loader::check;
use serde_json::{json, Value};

use crate::arguments::Check;
use crate::engine::request;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Check) -> anyhow::Result<Exit> {
    let program = request::program(&arguments.algorithm)?;
    let verified = check(&program)?;
    if arguments.output.json {
        let programs = verified.iter().map(|(name, count)| json!({ "name": name, "verified_instructions": count }));
        let programs = programs.collect::<Vec<Value>>();
        output::json(&json!({ "algorithm": program.algorithm, "accepted": true, "programs": programs }))?;
        return Ok(Exit::Done);
    }
    output::line(&format!("the kernel accepts {}", program.algorithm))?;
    let rows = verified.into_iter().map(|(name, count)| vec![name, count.to_string()]);
    output::table(&["HOOK", "VERIFIED"], rows.collect())?;
    Ok(Exit::Done)
}
