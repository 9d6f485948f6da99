// SPDX-License-Identifier: GPL-2.0-only
//! The daemon's configuration file: read, resolved to instances, rules and limits, and planned for a host that has none of them.

use std::collections::BTreeSet;

use ccctl_console::cause;
use ccctl_core::configuration::Configuration;
use ccctl_core::plan;
use ccctl_core::trust::Trust;
use ccctl_loader::Program;

/// How messages call the file.
const FILE: &str = "ccctl.toml";

/// Reads a file and plans it.
///
/// # Panics
/// Where an error names no line of the file, two rules are for the same connections, something that is wanted has no step, or
/// a parameter's value is not read as it is written.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if names_files(text) {
        return;
    }
    match Configuration::of_text(FILE, text, Trust::Checked) {
        Err(error) => {
            let message = cause(&error);
            let lines = text.matches('\n').count() + 1;
            assert!(every_fault_names_a_line(&message, lines), "{message}");
        }
        Ok(configuration) => {
            if configuration.rules.iter().any(|rule| rule.unit.is_some()) {
                return; // systemd would be asked for each
            }
            let selectors = configuration.rules.iter().filter_map(|rule| rule.selector().ok());
            let different: BTreeSet<_> = selectors.collect();
            assert!(different.is_empty() || different.len() == configuration.rules.len(), "{:?}", configuration.rules);
            for (parameter, integer) in configuration.instances.iter().flat_map(|wanted| wanted.parameters.iter()) {
                assert_eq!(parameter.parse(&parameter.format(integer)), Ok(integer), "{}", parameter.name);
            }
            let steps = plan::for_empty(&configuration);
            assert_eq!(steps.len(), configuration.instances.len() + configuration.rules.len());
        }
    }
}

/// One fault is `FILE:22: ...`; several are `2 faults: FILE:22: ...; FILE:32: ...`.
fn every_fault_names_a_line(message: &str, lines: usize) -> bool {
    let many = message.split_once(" faults: ").and_then(|(count, faults)| Some((count.parse().ok()?, faults)));
    let (count, faults): (usize, &str) = many.unwrap_or((1, message));
    let line_of = |fault: &str| fault.strip_prefix(FILE)?.strip_prefix(':')?.split(':').next()?.parse().ok();
    let names_a_line = |fault: &&str| line_of(fault).is_some_and(|line| (1..=lines).contains(&line));
    names_a_line(&faults) && faults.split("; ").filter(names_a_line).count() >= count
}

/// Does it name object files? They would be read, and looked at by another process; the target `objects` has them.
fn names_files(text: &str) -> bool {
    let Ok(table) = text.parse::<toml::Table>() else { return false };
    let instances = table.get("instance").and_then(toml::Value::as_table).into_iter().flatten();
    instances.filter_map(|(_, instance)| instance.get("algorithm")?.as_str()).any(Program::is_file)
}
