// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl show`

use ccctl_console::{output, Exit};
use ccctl_loader::ProgramInfo;

use crate::arguments::Show;
use ccctl_core::operations::{Shown, ShownAlgorithm, ShownInstance};
use ccctl_core::settings::ShownParameter;

use crate::client;

pub fn run(arguments: &Show) -> anyhow::Result<Exit> {
    let shown = client::ask(&arguments.request)?;
    match &shown {
        _ if arguments.output.json => output::json(&shown)?,
        Shown::Algorithm(algorithm) => print_algorithm(algorithm, arguments.all)?,
        Shown::Instance(instance) => print_instance(instance, arguments.all)?,
    }
    Ok(Exit::Done)
}

fn print_algorithm(algorithm: &ShownAlgorithm, all: bool) -> anyhow::Result<()> {
    output::line(&algorithm.title)?;
    output::line("")?;
    let purpose = match algorithm.purpose.as_str() {
        "" => String::new(),
        purpose => format!("{purpose}: {}", algorithm.good_for),
    };
    for (row, text) in [
        ("File", &algorithm.file.clone().unwrap_or_default()),
        ("For", &purpose),
        ("Use it", &algorithm.use_when),
        ("Not", &algorithm.not_when),
        ("Source", &algorithm.papers),
        ("Law", &algorithm.law.join("\n")),
        ("Why", &algorithm.why),
        ("Differs", &algorithm.differs),
        ("Range", &algorithm.range),
        ("Needs", &algorithm.needs),
        ("Fenced", &algorithm.fence.clone().unwrap_or_default()),
        ("Profiles", &algorithm.profiles.join(", ")),
    ] {
        print_row(row, text)?;
    }
    let rows = listed(&algorithm.parameters, all).map(|parameter| {
        let texts = [&parameter.name, &parameter.default_text, &parameter.range(), &parameter.step_text];
        let rest = [counted(parameter), parameter.text.clone()];
        texts.into_iter().cloned().chain(rest).collect()
    });
    print_parameters(&["PARAMETER", "DEFAULT", "RANGE", "STEP", "UNIT", "MEANING"], rows.collect())?;
    print_per_connection(&algorithm.parameters)?;
    print_unlisted(&algorithm.name, &algorithm.parameters, all)
}

/// What a plain number counts. Any other has its unit with it.
fn counted(parameter: &ShownParameter) -> String {
    let is_with_it = matches!(parameter.unit.as_str(), "s" | "bit/s" | "%" | "ppm");
    if is_with_it { "" } else { &parameter.unit }.to_owned()
}

fn listed(parameters: &[ShownParameter], all: bool) -> impl Iterator<Item = &ShownParameter> {
    parameters.iter().filter(move |parameter| all || parameter.is_of_interest())
}

/// No header without rows: all parameters of an algorithm may be variants.
fn print_parameters(header: &[&str], rows: Vec<Vec<String>>) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    output::line("")?;
    output::table(header, rows)
}

fn print_per_connection(parameters: &[ShownParameter]) -> anyhow::Result<()> {
    let names = parameters.iter().filter(|parameter| parameter.is_per_connection).map(|one| one.name.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    if names.is_empty() {
        return Ok(());
    }
    output::line("")?;
    output::line(&format!("rules may set per connection, with ccctl assign --param: {names}"))
}

fn print_unlisted(name: &str, parameters: &[ShownParameter], all: bool) -> anyhow::Result<()> {
    let count = parameters.len() - listed(parameters, all).count();
    if count == 0 {
        return Ok(());
    }
    output::line("")?;
    let parameters = output::count(count, "parameter");
    output::line(&format!("ccctl show {name} --all also lists {parameters} for comparisons"))
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

fn print_instance(instance: &ShownInstance, all: bool) -> anyhow::Result<()> {
    let default = if instance.is_default { ", default of this network namespace" } else { "" };
    output::line(&format!("{}: {}{default}", instance.name, instance.algorithm))?;
    output::line("")?;
    let link = instance.link_id.map_or("none".to_owned(), |id| id.to_string());
    let profile = if instance.profile.is_empty() { "none" } else { &instance.profile };
    for (row, text) in [
        ("since", format!("{} ({} ago)", instance.loaded_at, output::age(&instance.loaded_at))),
        ("by", format!("ccctl {}", instance.ccctl_version)),
        ("profile", profile.to_owned()),
        ("ids", format!("map {}, link {link}", instance.map_id)),
        ("sockets", instance.socket_count.to_string()),
    ] {
        output::line(&format!("{row:<9}{text}"))?;
    }
    if instance.sockets_on_old_program > 0 {
        let (name, old) = (&instance.name, instance.sockets_on_old_program);
        output::line(&format!(
            "         {old} of them use the program from before the last swap (ccctl migrate --instance {name} --to {name} moves them)"
        ))?;
    }
    let rows = listed(&instance.parameters, all).map(|parameter| {
        let value = parameter.value_text.clone().unwrap_or_default();
        let texts = [&parameter.name, &value, &parameter.default_text, &parameter.range(), &parameter.step_text];
        texts.into_iter().cloned().chain([counted(parameter)]).collect()
    });
    print_parameters(&["PARAMETER", "VALUE", "DEFAULT", "RANGE", "STEP", "UNIT"], rows.collect())?;
    print_per_connection(&instance.parameters)?;
    print_unlisted(&instance.name, &instance.parameters, all)?;
    output::line("")?;
    print_programs(&instance.programs, instance.statistics_enabled)
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
