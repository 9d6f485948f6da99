// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the screen has done for it meanwhile, each in a thread of its own: lookups, changes, files. Changes are the same
//! operations as those of the commands.

use std::fs::OpenOptions;
use std::io::Write as _;

use ccctl_console::{cause, output};
use ccctl_core::error;
use ccctl_core::operations::{self, Migrated};
use ccctl_core::settings::{Changes, Setting, Settings, ShownParameter};

use super::model::{Change, Choice, Export, Lookup, Migration};
use super::source::ask;

/// What can be chosen.
pub fn look_up(lookup: &Lookup) -> Result<Vec<Choice>, String> {
    match lookup {
        Lookup::Algorithms => ask(&operations::Algorithms {}).map(|found| {
            let choice = |one: operations::AlgorithmSummary| Choice {
                key: one.name,
                more: one.congestion_control,
                note: one.title,
            };
            found.algorithms.into_iter().map(choice).collect()
        }),
        Lookup::Parameters(name) => ask(&operations::List {}).map(|listing| {
            let instance = listing.instances.into_iter().find(|instance| instance.name == *name);
            let parameters = instance.map(|instance| instance.parameters).unwrap_or_default();
            parameters.iter().filter(|parameter| parameter.is_of_interest()).map(parameter_choice).collect()
        }),
        Lookup::Disabled => ask(&operations::Guard { rearm: None, dry_run: false }).map(|answer| {
            let choice = |one: operations::Tripped| Choice {
                key: one.name,
                more: format!("for {}, {} in its place", output::age(&one.since), one.fallback),
                note: one.why,
            };
            answer.tripped.into_iter().map(choice).collect()
        }),
    }
    .map_err(|error| refusal(&error, 0))
}

fn parameter_choice(parameter: &ShownParameter) -> Choice {
    Choice {
        key: parameter.name.clone(),
        more: parameter.value_text.clone().unwrap_or_default(),
        note: format!("{}: {}", parameter.range(), parameter.text),
    }
}

/// Does it, and says what came of it.
pub fn carry_out(change: &Change) -> Result<String, String> {
    match change {
        Change::Migrate(migration) => return migrate(migration),
        Change::Load { algorithm, .. } => load(algorithm),
        Change::Swap { name, with, .. } => swap(name, with),
        Change::Tune { name, key, value, .. } => tune(name, key, value),
        Change::Assign { cgroup, to, .. } => assign(cgroup, to),
        Change::Rearm { name, .. } => rearm(name),
    }
    .map_err(|error| refusal(&error, 0))
}

fn load(algorithm: &str) -> anyhow::Result<String> {
    let loaded = ask(&operations::Load {
        algorithm: algorithm.to_owned(),
        name: None,
        profile: None,
        set: Settings::default(),
        default: false,
        trust_writable: false,
        dry_run: false,
    })?;
    let name = loaded.name;
    Ok(if loaded.changed {
        format!("loaded {} as {name}", loaded.algorithm)
    } else {
        format!("{name} already runs this program: nothing to do")
    })
}

fn swap(name: &str, with: &str) -> anyhow::Result<String> {
    let swapped = ask(&operations::Swap {
        name: name.to_owned(),
        with: Some(with.to_owned()),
        profile: None,
        set: Settings::default(),
        trust_writable: false,
        dry_run: false,
    })?;
    let old = output::count(swapped.sockets_on_old_program, "socket");
    let rest = swapped.not_followed.first().map_or(String::new(), |reason| format!("; not followed: {reason}"));
    Ok(format!("{name}: new connections use {}; {old} on the previous program{rest}", swapped.algorithm))
}

fn tune(name: &str, key: &str, value: &str) -> anyhow::Result<String> {
    let set = Changes([(key.to_owned(), Setting::Text(value.to_owned()))].into());
    let tuned = ask(&operations::Tune { name: name.to_owned(), set, dry_run: false })?;
    let changed = tuned.parameters.iter().find(|parameter| parameter.value_before_text.is_some());
    Ok(match changed {
        None => format!("{name} already has this value: nothing to do"),
        Some(parameter) => format!(
            "{name}: {} = {} (was {})",
            parameter.name,
            parameter.value_text.as_deref().unwrap_or_default(),
            parameter.value_before_text.as_deref().unwrap_or_default()
        ),
    })
}

fn assign(cgroup: &str, to: &str) -> anyhow::Result<String> {
    let assigned = ask(&operations::Assign {
        cgroup: Some(cgroup.to_owned()),
        targets: Some(to.to_owned()),
        ..operations::Assign::default()
    })?;
    let rule = &assigned.rule;
    let before = match assigned.targets_before.filter(|_| assigned.changed) {
        Some(before) => {
            format!(" (was {})", operations::gives(&before, &assigned.own_parameters_before, &assigned.settings_before))
        }
        None if assigned.changed => String::new(),
        None => " already: nothing to do".to_owned(),
    };
    Ok(format!("rule {}: cgroup {} gets {}{before}", rule.id, rule.cgroup, rule.gives()))
}

fn rearm(name: &str) -> anyhow::Result<String> {
    let answer = ask(&operations::Guard { rearm: Some(name.to_owned()), dry_run: false })?;
    let rest = match answer.guard {
        Some(_) => "used and watched again",
        None => "used again where a file says so (ccctl apply)",
    };
    Ok(format!("{name} is {rest}; connections that were moved stay where they are"))
}

/// Moves sockets; one that closed meanwhile is not found, which is no failure.
fn migrate(migration: &Migration) -> Result<String, String> {
    let (mut found, mut moved, mut failures) = (0, 0, Vec::new());
    for request in migration.requests() {
        let answer: Migrated = ask(&request).map_err(|error| refusal(&error, moved))?;
        found += answer.found;
        moved += answer.moved;
        failures.extend(answer.failed);
    }
    let text = format!("moved {moved} of {} to {}", output::count(found, "socket"), migration.to);
    match failures.first() {
        None => Ok(text),
        Some(first) => {
            let more = failures.len();
            Err(format!("{text}; {more} not moved, the first: {}: {}", first.socket, first.reason))
        }
    }
}

/// Writes a file; one that exists stays as it is.
pub fn write(export: &Export) -> Result<String, String> {
    let Export { path, text, rows } = export;
    let write = || OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes());
    match write() {
        Ok(()) => Ok(format!("wrote {} to {path}", output::count(*rows, "row"))),
        Err(error) => Err(format!("write {path}: {error}")),
    }
}

fn refusal(error: &anyhow::Error, moved: usize) -> String {
    let before = if moved > 0 { format!("moved {moved}, then: ") } else { String::new() };
    let remedy = error::remedy(error).map_or(String::new(), |remedy| format!("; try: {remedy}"));
    format!("{before}{}{remedy}", cause(error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_is_not_overwritten() {
        let path = std::env::temp_dir().join(format!("ccctl-top-export-{}", std::process::id()));
        let path = path.display().to_string();
        let export = |text: &str| Export { path: path.clone(), text: text.to_owned(), rows: 1 };
        assert_eq!(write(&export("first")).unwrap(), format!("wrote 1 row to {path}"));
        assert!(write(&export("second")).unwrap_err().contains("File exists"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
        std::fs::remove_file(path).unwrap();
    }

    /// What cubic declares: C and beta with their ranges; variants that only comparisons need are left out.
    #[test]
    fn parameters_are_offered_with_value_and_range() {
        let declared = ccctl_catalog::algorithm("cubic").unwrap().layout().parameters;
        let set = ccctl_catalog::ParameterSet::defaults("cubic", &declared);
        let shown = ShownParameter::all_in_force(&set);
        let beta = shown.iter().find(|parameter| parameter.name == "beta").map(parameter_choice).unwrap();
        assert_eq!((beta.key.as_str(), beta.more.as_str()), ("beta", "0.7"));
        assert!(beta.note.starts_with("0.5 to "), "{}", beta.note);
    }
}
