//! `ccctl load`

use ccctl_loader::{load, set_default, LoadRequest};
use serde_json::json;

use crate::arguments::Load;
use crate::engine::request;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Load) -> anyhow::Result<Exit> {
    let program = request::program(&arguments.algorithm)?;
    let set = request::parameters(&program, program.defaults(), &arguments.parameters)?;
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => program.default_name()?,
    };
    let profile = arguments.parameters.profile.as_deref().unwrap_or_default();
    let lock = request::lock()?;
    let request = LoadRequest { program: &program, name: &name, profile, parameters: &set };
    let loaded = load(&lock, &request)?;
    let default = if arguments.default { Some(set_default(&lock, &name)?) } else { None };

    if arguments.output.json {
        output::json(&json!({
            "name": name,
            "algorithm": program.algorithm,
            "map_id": loaded.instance.map_id,
            "link_id": loaded.instance.link_id(),
            "changed": loaded.changed,
            "default_before": default.as_ref().map(|change| &change.before),
        }))?;
        return Ok(Exit::Done);
    }
    let with = output::changed_parameters(&set);
    let with = if with.is_empty() { String::new() } else { format!(" with {with}") };
    if loaded.changed {
        output::line(&format!("loaded {} as {name}{with}", program.algorithm))?;
    } else {
        output::line(&format!("{name} already runs this program{with}: nothing to do"))?;
    }
    if let Some(change) = default.filter(|change| change.before != change.now) {
        output::line(&format!("{name} is the default of this network namespace (was {})", change.before))?;
    }
    Ok(Exit::Done)
}
