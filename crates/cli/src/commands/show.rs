//! `ccctl show`

use ccctl_catalog::{algorithm, Algorithm};
use ccctl_loader::{count_sockets, current_default, Error, Instance, ProgramInfo, Usage};
use serde_json::{json, Value};

use crate::arguments::Show;
use crate::commands::algorithms::needs;
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Show) -> anyhow::Result<Exit> {
    let name = arguments.name.as_str();
    match Instance::named(name) {
        Ok(instance) => show_instance(&instance, arguments.output.json)?,
        Err(error) => match algorithm(name) {
            Some(algorithm) => show_algorithm(algorithm, arguments.output.json)?,
            None => return Err(neither(name, error).into()),
        },
    }
    Ok(Exit::Done)
}

/// The message that helps most: about algorithms, unless the name looks like an instance's.
fn neither(name: &str, instance_error: Error) -> Error {
    let names = ccctl_catalog::algorithms().iter().map(Algorithm::name);
    match (ccctl_catalog::closest(name, names), instance_error) {
        (Some(similar), Error::Unknown { .. }) if !name.starts_with("bpf_") => Error::Unknown {
            kind: "algorithm or instance",
            name: name.to_owned(),
            hint: format!("did you mean {similar}? ccctl algorithms and ccctl list show all"),
        },
        (_, Error::Unknown { hint, .. }) => {
            Error::Unknown { kind: "algorithm or instance", name: name.to_owned(), hint }
        }
        (_, other) => other,
    }
}

fn show_algorithm(algorithm: &Algorithm, as_json: bool) -> anyhow::Result<()> {
    let description = algorithm.description();
    let layout = algorithm.layout();
    if as_json {
        let parameters: Vec<Value> = layout
            .parameters
            .iter()
            .map(|parameter| {
                let mut value = json!(parameter);
                value["default"] = output::value(parameter, parameter.default);
                value
            })
            .collect();
        return output::json(&json!({
            "kind": "algorithm",
            "name": algorithm.name(),
            "title": description.title,
            "source": description.source,
            "law": description.law,
            "why": description.why,
            "differs": description.differs,
            "range": description.range,
            "needs": needs(&description.needs),
            "parameters": parameters,
            "state": layout.state,
            "state_bytes": layout.state_bytes,
        }));
    }
    output::line(&description.title)?;
    output::line("")?;
    for (row, text) in [
        ("Source", &description.source),
        ("Law", &description.law.join("\n")),
        ("Why", &description.why),
        ("Differs", &description.differs),
        ("Range", &description.range),
        ("Needs", &needs(&description.needs)),
    ] {
        print_row(row, text)?;
    }
    output::line("")?;
    let rows = layout.parameters.iter().map(|parameter| {
        let default = parameter.format(parameter.default);
        vec![parameter.name.clone(), default, output::range(parameter), parameter.unit.clone(), parameter.text.clone()]
    });
    output::table(&["PARAMETER", "DEFAULT", "RANGE", "UNIT", "MEANING"], rows.collect())
}

/// A row of the header: its word, and the text wrapped beside it.
fn print_row(row: &str, text: &str) -> anyhow::Result<()> {
    const WIDTH: usize = 100;
    let mut label = row;
    for paragraph in text.lines() {
        let mut current = String::new();
        for word in paragraph.split(' ') {
            if !current.is_empty() && current.len() + word.len() >= WIDTH {
                output::line(&format!("{label:<9}{current}"))?;
                (label, current) = ("", String::new());
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        output::line(&format!("{label:<9}{current}"))?;
        label = "";
    }
    Ok(())
}

fn show_instance(instance: &Instance, as_json: bool) -> anyhow::Result<()> {
    let usage = count_sockets(&instance.name)?.of(&instance.name);
    let is_default = current_default()? == instance.name;
    let statistics = std::fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled").is_ok_and(|text| text.trim() == "1");
    if as_json {
        return output::json(&instance_json(instance, &usage, is_default, statistics));
    }
    let old = usage.on_other_map(instance.map_id);
    let profile = &instance.identity.profile;
    let default = if is_default { ", default of this network namespace" } else { "" };
    output::line(&format!("{}: {}{default}", instance.name, instance.identity.algorithm))?;
    output::line("")?;
    for (row, text) in [
        ("since", format!("{} ({} ago)", output::time(instance.loaded_at), output::age(instance.loaded_at))),
        ("by", format!("ccctl {}", instance.identity.ccctl_version)),
        ("profile", if profile.is_empty() { "none".to_owned() } else { profile.clone() }),
        (
            "ids",
            format!(
                "map {}, link {}",
                instance.map_id,
                instance.link_id().map_or("none".to_owned(), |id| id.to_string())
            ),
        ),
        ("sockets", usage.sockets.to_string()),
    ] {
        output::line(&format!("{row:<9}{text}"))?;
    }
    if old > 0 {
        let name = &instance.name;
        output::line(&format!(
            "         {old} of them on a program before the last swap (ccctl migrate --from {name} --to {name})"
        ))?;
    }
    output::line("")?;
    let rows = instance.parameters.iter().map(|(parameter, value)| {
        let default = parameter.format(parameter.default);
        vec![parameter.name.clone(), parameter.format(value), default, output::range(parameter), parameter.unit.clone()]
    });
    output::table(&["PARAMETER", "VALUE", "DEFAULT", "RANGE", "UNIT"], rows.collect())?;
    output::line("")?;
    print_programs(&instance.programs, statistics)
}

fn print_programs(programs: &[ProgramInfo], statistics: bool) -> anyhow::Result<()> {
    let rows = programs.iter().map(|program| {
        let per_run = program.run_time_ns.checked_div(program.run_count);
        let (runs, time) = match (statistics || program.run_count > 0, per_run) {
            (true, Some(ns)) => (program.run_count.to_string(), format!("{ns} ns")),
            (true, None) => ("0".to_owned(), String::new()),
            (false, _) => (String::new(), String::new()),
        };
        let sizes = [program.translated_bytes.to_string(), program.jited_bytes.to_string()];
        let [translated, jited] = sizes;
        let verified = program.verified_instructions.to_string();
        vec![program.name.clone(), program.id.to_string(), program.tag.clone(), translated, jited, verified, runs, time]
    });
    output::table(&["HOOK", "ID", "TAG", "BPF BYTES", "JIT BYTES", "VERIFIED", "RUNS", "PER RUN"], rows.collect())
}

fn instance_json(instance: &Instance, usage: &Usage, is_default: bool, statistics: bool) -> Value {
    let parameters: Vec<Value> = instance
        .parameters
        .iter()
        .map(|(parameter, value)| {
            let mut entry = json!(parameter);
            entry["value"] = output::value(parameter, value);
            entry["default"] = output::value(parameter, parameter.default);
            entry
        })
        .collect();
    json!({
        "kind": "instance",
        "name": instance.name,
        "algorithm": instance.identity.algorithm,
        "profile": instance.identity.profile,
        "ccctl_version": instance.identity.ccctl_version,
        "map_id": instance.map_id,
        "link_id": instance.link_id(),
        "loaded_at": output::time(instance.loaded_at),
        "is_default": is_default,
        "parameters": parameters,
        "sockets": usage.sockets,
        "sockets_on_old_program": usage.on_other_map(instance.map_id),
        "programs": instance.programs,
        "statistics_enabled": statistics,
    })
}
