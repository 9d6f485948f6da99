// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completion in shells: what stands on the command line, and names that only this host knows.
//!
//! The script of a shell calls `ccctl` with COMPLETE set. Nothing here may fail aloud: what cannot be read is not offered.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use ccctl_catalog::Parameter;
use ccctl_loader::CgroupTree;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::CompleteEnv;

use crate::help;

/// Gives all values that there are.
type Source = fn() -> Vec<CompletionCandidate>;

/// Arguments by their id, and where their values come from.
const SOURCES: [(&str, Source); 9] = [
    ("name", names),
    ("names", names),
    ("instance", names),
    ("to", names),
    ("migrate_to", names),
    ("profile", profiles),
    ("set", parameters),
    ("unit", units),
    ("netns", namespaces),
];

/// Answers the shell and ends the process, if it asks.
pub fn answer() {
    CompleteEnv::with_factory(command).complete();
}

fn command() -> clap::Command {
    let mut command = help::command();
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, with_sources);
    }
    command
}

fn with_sources(command: clap::Command) -> clap::Command {
    let is_load = command.get_name() == "load";
    command.mut_args(|argument| match argument.get_id().as_str() {
        "algorithm" if argument.get_long().is_some() => argument.add(ArgValueCandidates::new(algorithms)),
        "algorithm" | "with" => argument.add(ArgValueCompleter::new(algorithms_and_objects)),
        "name" if is_load => argument, // a new one
        "set" if argument.get_long() == Some("param") => argument.add(ArgValueCandidates::new(own_parameters)),
        "cgroup" => argument.add(ArgValueCompleter::new(cgroups)),
        id => match SOURCES.iter().find(|(known, _)| *known == id) {
            Some((_, source)) => argument.add(ArgValueCandidates::new(*source)),
            None => argument,
        },
    })
}

fn candidates<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Vec<CompletionCandidate> {
    values.into_iter().map(|value| CompletionCandidate::new(value.into())).collect()
}

/// Instances and algorithms that are built in
fn names() -> Vec<CompletionCandidate> {
    candidates(ccctl_loader::available_algorithms().unwrap_or_default())
}

/// Those of ccctl and of the administrator
fn known_algorithms() -> impl Iterator<Item = &'static ccctl_catalog::Algorithm> {
    ccctl_core::local_algorithms::refresh();
    ccctl_catalog::names().into_iter().filter_map(ccctl_catalog::algorithm)
}

fn algorithms() -> Vec<CompletionCandidate> {
    candidates(known_algorithms().map(ccctl_catalog::Algorithm::name))
}

fn algorithms_and_objects(word: &OsStr) -> Vec<CompletionCandidate> {
    let start = word.to_string_lossy();
    let algorithms = known_algorithms().filter(|one| one.name().starts_with(start.as_ref()));
    let algorithms =
        algorithms.map(|one| CompletionCandidate::new(one.name()).help(Some(one.description().title.into())));
    algorithms
        .chain(below(Path::new("."), &start, |name| Path::new(name).extension().is_some_and(|end| end == "o")))
        .collect()
}

fn profiles() -> Vec<CompletionCandidate> {
    candidates(ccctl_catalog::Profile::names())
}

/// `KEY=` of all algorithms
fn parameters() -> Vec<CompletionCandidate> {
    keys(|parameter| !parameter.is_variant)
}

/// Those that rules may set
fn own_parameters() -> Vec<CompletionCandidate> {
    keys(|parameter| parameter.is_per_connection)
}

fn keys(is_wanted: fn(&Parameter) -> bool) -> Vec<CompletionCandidate> {
    let all = known_algorithms().flat_map(|algorithm| algorithm.layout().parameters);
    let mut keys: Vec<String> = all.filter(is_wanted).map(|parameter| format!("{}=", parameter.name)).collect();
    keys.sort();
    keys.dedup();
    candidates(keys)
}

/// Units that have a cgroup now
fn units() -> Vec<CompletionCandidate> {
    let Ok(tree) = CgroupTree::find() else { return Vec::new() };
    let mut found = Vec::new();
    for slice in ["system.slice", "user.slice"] {
        let entries = fs::read_dir(tree.mount().join(slice)).into_iter().flatten().flatten();
        found.extend(entries.filter_map(|entry| entry.file_name().into_string().ok()));
    }
    found.retain(|name| [".service", ".scope", ".slice"].iter().any(|end| name.ends_with(end)));
    candidates(found)
}

fn cgroups(word: &OsStr) -> Vec<CompletionCandidate> {
    let start = word.to_string_lossy();
    let inner = start.strip_prefix('/').unwrap_or(&start);
    let Ok(tree) = CgroupTree::find() else { return Vec::new() };
    below(tree.mount(), inner, |_| false).into_iter().map(|one| one.add_prefix("/")).collect()
}

fn namespaces() -> Vec<CompletionCandidate> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    candidates(entries.filter_map(|entry| entry.file_name().into_string().ok()))
}

/// Folders, and files that are wanted, below a root whose path begins like this
fn below(root: &Path, start: &str, is_wanted: fn(&str) -> bool) -> Vec<CompletionCandidate> {
    let (folder, begin) = start.rsplit_once('/').unwrap_or(("", start));
    let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| name.starts_with(begin))?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        match (is_folder, is_wanted(&name)) {
            (true, _) => Some(format!("{path}/")),
            (false, true) => Some(path),
            (false, false) => None,
        }
    });
    candidates(named.collect::<Vec<_>>())
}
