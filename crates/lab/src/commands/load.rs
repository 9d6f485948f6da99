// SPDX-License-Identifier: GPL-2.0-only
//! Finds scenarios, and changes them as the command line asks.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ccctl_console::UsageError;
use ccctl_lab::experiment::{ScenarioError, SCENARIO_BYTES_MAX};
use ccctl_lab::scenario::{Override, Scenario};
use ccctl_lab::shipped::{shipped as all_shipped, Shipped};

use tempfile::TempDir;

use super::task::{Own, Task};
use super::{fault, own_algorithm};
use crate::arguments::Part;

/// A scenario that can be run, and the folder of its traces, which is there as long as this is.
pub struct Loaded {
    pub scenario: Scenario,
    _files: Option<TempDir>,
}

/// A text, and the path that it has or would have.
struct Source {
    path: PathBuf,
    text: String,
    files: Option<TempDir>,
}

/// The shipped scenario of this name.
pub fn shipped(name: &str) -> anyhow::Result<Shipped> {
    let all = all_shipped();
    if let Some(found) = all.iter().find(|scenario| scenario.name == name) {
        return Ok(*found);
    }
    let remedy = ccctl_catalog::did_you_mean(name, all.iter().map(|scenario| scenario.name), || {
        "ccctl lab list shows the built-in scenarios; a file needs a / or .toml in its name".to_owned()
    });
    Err(UsageError::new(format!("there is no scenario {name:?}"), remedy).into())
}

/// Reads a shipped scenario as it is.
pub fn read_shipped(scenario: &Shipped) -> anyhow::Result<Loaded> {
    read(source_of_shipped(*scenario)?, &[])
}

/// Reads what a command line names, and changes it.
pub fn load(task: &Task<'_>) -> anyhow::Result<Loaded> {
    let Task { name, axes, own, part } = *task;
    let mut source = source(name)?;
    if part.no_paper || !axes.is_empty() || !own.is_empty() {
        source.text = without_paper(&source, axes, own)?;
    }
    let overrides = overrides(part)?;
    if part.testbed {
        return read_at_testbed(source, &overrides)?.ok_or_else(|| no_noise(name));
    }
    read(source, &overrides)
}

/// Scenarios as they are, and with the noise of their testbeds where they have some: these, or all built-in ones with
/// statements.
pub fn variants(names: &[String]) -> anyhow::Result<Vec<Loaded>> {
    let sources: Vec<Source> = if names.is_empty() {
        all_shipped().into_iter().map(source_of_shipped).collect::<anyhow::Result<_>>()?
    } else {
        names.iter().map(|name| source(name)).collect::<anyhow::Result<_>>()?
    };
    let mut found = Vec::new();
    for one in sources {
        let again = Source { path: one.path.clone(), text: one.text.clone(), files: None };
        let exact = read(one, &[])?;
        if names.is_empty() && exact.scenario.statements.is_empty() {
            continue;
        }
        let noisy = read_at_testbed(again, &[])?;
        found.push(exact);
        found.extend(noisy);
    }
    Ok(found)
}

fn no_noise(name: &str) -> anyhow::Error {
    let cause = format!("{name} says of no noise that its testbed had");
    UsageError::new(cause, "run it without --testbed, or add [testbed] with set to the scenario").into()
}

fn source(name: &str) -> anyhow::Result<Source> {
    let path = Path::new(name);
    if !name.contains('/') && path.extension().is_none_or(|extension| extension != "toml") {
        return source_of_shipped(shipped(name)?);
    }
    let text = ccctl_series::read_regular_text(path, SCENARIO_BYTES_MAX).map_err(|error| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let remedy = match shipped(&stem) {
            Ok(found) => format!("{} is a built-in scenario: name it without path and .toml", found.name),
            Err(_) => "ccctl lab list shows the built-in scenarios".to_owned(),
        };
        UsageError::new(format!("cannot read the scenario {name}: {error}"), remedy)
    })?;
    Ok(Source { path: path.to_owned(), text, files: None })
}

fn source_of_shipped(scenario: Shipped) -> anyhow::Result<Source> {
    let path = PathBuf::from(scenario.name).with_extension("toml");
    let (path, files) = if scenario.needs_files() {
        let files = private_folder()?;
        (scenario.unpack_files(files.path())?, Some(files))
    } else {
        (path, None)
    };
    Ok(Source { path, text: scenario.text.to_owned(), files })
}

/// A folder that was not there before and that only this user can enter: nobody can have put links into it. It goes when
/// it is no longer needed.
fn private_folder() -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix("ccctl-lab-").permissions(Permissions::from_mode(0o700)).tempdir()
}

fn read(source: Source, overrides: &[Override]) -> anyhow::Result<Loaded> {
    let scenario = Scenario::of_text(&source.path, &source.text, overrides);
    let scenario = scenario.map_err(|error| explained(&source, overrides, error))?;
    Ok(Loaded { scenario, _files: source.files })
}

/// With what its testbed had; none where that is nothing.
fn read_at_testbed(source: Source, overrides: &[Override]) -> anyhow::Result<Option<Loaded>> {
    let scenario = Scenario::at_testbed(&source.path, &source.text, overrides);
    let scenario = scenario.map_err(|error| explained(&source, overrides, error))?;
    Ok(scenario.map(|scenario| Loaded { scenario, _files: source.files }))
}

/// What the command line changes has no place in the file; where only the paper's part does not fit to it, that is said.
fn explained(source: &Source, overrides: &[Override], error: ScenarioError) -> anyhow::Error {
    let reads = |text: &str, overrides: &[Override]| Scenario::of_text(&source.path, text, overrides).is_ok();
    if overrides.is_empty() || error.file == "--set" || !reads(&source.text, &[]) {
        return fault::of_scenario(&error);
    }
    if without_paper(source, &[], &[]).is_ok_and(|text| reads(&text, overrides)) {
        let cause = format!("--set contradicts the paper's values or statements: {}", error.cause);
        return UsageError::new(cause, "leave them out with --no-paper").into();
    }
    UsageError::new(error.cause, error.remedy).into()
}

/// The text without the paper's values and statements, with users' algorithms, and with these axes: `PATH=V1,V2`.
fn without_paper(source: &Source, axes: &[String], own: &[Own]) -> anyhow::Result<String> {
    // A text that is no TOML is refused with its place by who reads it next.
    let Ok(mut table) = source.text.parse::<toml::Table>() else { return Ok(source.text.clone()) };
    table.remove("paper");
    table.remove("statement");
    own_algorithm::place(&mut table, &own.iter().map(|own| own.name.clone()).collect::<Vec<_>>());
    for axis in axes {
        let added = toml::Value::Table(self::axis(axis)?);
        match table.entry("sweep").or_insert_with(|| toml::Value::Array(Vec::new())) {
            toml::Value::Array(sweep) => sweep.push(added),
            _ => break,
        }
    }
    Ok(table.to_string())
}

/// An axis out of `PATH=V1,V2`.
fn axis(text: &str) -> anyhow::Result<toml::Table> {
    let wrong = |cause: &str| UsageError::new(format!("--axis {text}: {cause}"), "--axis 'flows.NAME.count=1,2,4'");
    let (path, values) = text.split_once('=').ok_or_else(|| wrong("it needs a ="))?;
    let values: Vec<toml::Value> = values.split(',').map(|value| word(value.trim())).collect();
    let mut axis = toml::Table::new();
    axis.insert("name".to_owned(), path.into());
    axis.insert("values".to_owned(), values.into());
    axis.insert("set".to_owned(), vec![path].into());
    Ok(axis)
}

/// A number or a truth where it is one, a text otherwise; quotes make a text of anything.
fn word(text: &str) -> toml::Value {
    let parsed = format!("value = {text}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("value"));
    parsed.unwrap_or_else(|| text.into())
}

fn overrides(part: &Part) -> anyhow::Result<Vec<Override>> {
    let mut overrides = Vec::new();
    for text in &part.set {
        let wrong = || UsageError::new(format!("--set {text}: it needs a ="), "--set 'run.duration=60 s'");
        let (path, value) = text.split_once('=').ok_or_else(wrong)?;
        overrides.push((path.trim().to_owned(), value.trim().to_owned()));
    }
    if let Some(seed) = part.seed {
        overrides.push(("run.seed".to_owned(), seed.to_string()));
    }
    if let Some(repeats) = part.repeats {
        overrides.push(("run.repeats".to_owned(), repeats.to_string()));
    }
    if !part.only.is_empty() {
        overrides.push(("run.only".to_owned(), only(&part.only)?));
    }
    Ok(overrides)
}

/// `run.only` out of several `AXIS=VALUE`: values of one axis are alternatives.
fn only(texts: &[String]) -> anyhow::Result<String> {
    let mut axes = toml::Table::new();
    for text in texts {
        let wrong = || UsageError::new(format!("--only {text}: it needs a ="), "--only 'buffer=40 packets'");
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let values = axes.entry(name.trim().to_owned()).or_insert_with(|| toml::Value::Array(Vec::new()));
        if let toml::Value::Array(values) = values {
            values.push(value.trim().into());
        }
    }
    Ok(toml::Value::Array(vec![toml::Value::Table(axes)]).to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use super::*;

    /// A folder in `/tmp` whose name can be foreseen can be made by anybody before, with links in it.
    #[test]
    fn attack_folder_for_files_made_before() {
        let scenario = Shipped { name: "attacked", text: "[[link]]\ntrace = \"traces/x\"\n" };
        let foreseen = std::env::temp_dir().join(format!("ccctl-lab-attacked-{}", std::process::id()));
        std::fs::create_dir(&foreseen).unwrap();
        let source = source_of_shipped(scenario);
        let _ = std::fs::remove_dir_all(&foreseen);
        let source = source.unwrap();
        let folder = source.path.parent().unwrap();
        assert_ne!(folder, foreseen);
        let metadata = std::fs::symlink_metadata(folder).unwrap();
        assert!(metadata.is_dir());
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o700);
        let folder = folder.to_owned();
        drop(source);
        assert!(!folder.exists());
    }
}
