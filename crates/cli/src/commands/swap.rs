//! `ccctl swap`

use ccctl_loader::{count_sockets, swap, Instance, SwapRequest};
use serde_json::json;

use crate::arguments::Swap;
use crate::engine::request;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Swap) -> anyhow::Result<Exit> {
    let name = arguments.name.as_str();
    let lock = request::lock()?;
    let before = Instance::named(name)?;
    let program = request::program(arguments.with.as_deref().unwrap_or(&before.identity.algorithm))?;
    // The same algorithm keeps its parameters where they still exist; a profile or another algorithm starts anew.
    let keeps = program.layout.parameters == before.layout.parameters
        && program.algorithm == before.identity.algorithm
        && arguments.parameters.profile.is_none();
    let base = if keeps { before.parameters.clone() } else { program.defaults() };
    let set = request::parameters(&program, base, &arguments.parameters)?;
    let kept_profile = if keeps { before.identity.profile.clone() } else { String::new() };
    let profile = arguments.parameters.profile.as_deref().unwrap_or(&kept_profile);
    drop(before); // its descriptors would keep the old programs alive
    let swapped = swap(&lock, &SwapRequest { name, program: &program, profile, parameters: &set })?;
    let old = count_sockets(name)?.of(name).on_other_map(swapped.instance.map_id);

    if arguments.output.json {
        output::json(&json!({
            "name": name,
            "algorithm": program.algorithm,
            "map_id_before": swapped.map_id_before,
            "map_id": swapped.instance.map_id,
            "changed": true,
            "sockets_on_old_program": old,
        }))?;
        return Ok(Exit::Done);
    }
    output::line(&format!("{name}: new connections use {}", program.algorithm))?;
    if old > 0 {
        let sockets = output::count(old, "live connection");
        output::line(&format!("{sockets} on the program before; ccctl migrate --from {name} --to {name} moves them"))?;
    }
    Ok(Exit::Done)
}
