// SPDX-License-Identifier: GPL-2.0-only
//! In what two files of one scenario differ.

use std::collections::BTreeMap;

/// The sections that decide what a run is.
const SECTIONS: [&str; 4] = ["link", "flows", "tcp", "run"];
/// Of `run`: which runs are made, and how often.
const WHICH_RUNS: [&str; 4] = ["run.repeats", "run.seed", "run.only", "run.exclude"];

/// Values that are others in the second: "link.bottleneck.rate = 62.2 Mbit/s instead of 622 Mbit/s".
pub(super) fn changes(first: &str, second: &str) -> Vec<String> {
    let (first, second) = (values(first), values(second));
    let paths = first.keys().chain(second.keys().filter(|path| !first.contains_key(*path)));
    let shown = |value: Option<&String>| value.map_or("none", String::as_str).to_owned();
    paths
        .filter(|path| first.get(*path) != second.get(*path))
        .map(|path| format!("{path} = {} instead of {}", shown(second.get(path)), shown(first.get(path))))
        .collect()
}

/// All values by their paths, as `--set` has them.
fn values(text: &str) -> BTreeMap<String, String> {
    // Scenarios of folders have been read: they are TOML.
    let table: toml::Table = text.parse().unwrap_or_default();
    let mut found = BTreeMap::new();
    for (key, value) in table.iter().filter(|(key, _)| SECTIONS.contains(&key.as_str())) {
        add(key.clone(), value, &mut found);
    }
    found.retain(|path, _| !WHICH_RUNS.contains(&path.as_str()));
    found
}

fn add(path: String, value: &toml::Value, found: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(key, value)| add(format!("{path}.{key}"), value, found)),
        toml::Value::Array(items) if items.iter().any(|item| name(item).is_some()) => {
            for item in items {
                add(format!("{path}.{}", name(item).unwrap_or_default()), item, found);
            }
        }
        toml::Value::String(text) => drop(found.insert(path, text.clone())),
        other => drop(found.insert(path, other.to_string())),
    }
}

fn name(item: &toml::Value) -> Option<&str> {
    item.get("name")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::changes;

    const FIRST: &str =
        "title = \"a\"\n[[link]]\nname = \"l\"\nrate = \"622 Mbit/s\"\nqueue = { size = \"20 % BDP\" }\n\
                         [run]\nduration = \"500 s\"\nrepeats = 3\n";

    #[test]
    fn what_was_set_is_told_by_its_path() {
        let second = "title = \"b\"\n[[link]]\nname = \"l\"\nrate = \"62.2 Mbit/s\"\nqueue = { size = \"20 % BDP\" }\n\
                      delay = \"480 ms\"\n[run]\nduration = \"500 s\"\nrepeats = 1\nonly = [{ a = \"b\" }]\n";
        assert_eq!(
            changes(FIRST, second),
            [
                "link.l.rate = 62.2 Mbit/s instead of 622 Mbit/s".to_owned(),
                "link.l.delay = 480 ms instead of none".to_owned()
            ]
        );
        assert!(changes(FIRST, FIRST).is_empty());
    }
}
