// SPDX-License-Identifier: GPL-2.0-only
//! `--algorithm FILE`: a user's algorithm for the runs of one command, and its place in a scenario.

use std::path::Path;

use ccctl_catalog::{AddError, Algorithm, Target, SOURCE_ENDING};
use ccctl_console::{Exit, Fault, UsageError};
use ccctl_core::request::{program, program_of};
use ccctl_core::trust::{self, Trust, Unread};
use ccctl_sim::{Program, ProgramError};
use tempfile::TempDir;
use toml::{Table, Value};

use super::fault;

/// A program without a dynamic loader interprets C files as well: their objects.
pub const IS_STATIC: bool = cfg!(target_feature = "crt-static");
/// Largest C file.
const MOST_SOURCE_BYTES: u64 = 1 << 20;

/// Lets the simulator and the catalogue know the algorithm of a file for as long as this process runs: a C file is compiled
/// for this machine, and an object is interpreted.
pub fn add(file: &str, trust_writable: bool) -> anyhow::Result<&'static Algorithm> {
    // Root runs it, or has the kernel run it. A user's own rights are no more than those of who wrote the file for them.
    let trust = Trust::of_option(trust_writable || !nix::unistd::geteuid().is_root());
    if file.ends_with(SOURCE_ENDING) {
        return add_source(file, trust);
    }
    if Path::new(file).extension().is_none_or(|ending| ending != "o") {
        let remedy = format!("name a C file (NAME{SOURCE_ENDING}) or an object (NAME.o) of your own");
        return Err(UsageError::new(format!("--algorithm {file}: neither a C file nor an object"), remedy).into());
    }
    let word = if file.contains('/') { file.to_owned() } else { format!("./{file}") };
    let program = program(&word, trust)?;
    let algorithm = known(file, &program.algorithm, program.object().to_vec(), String::new())?;
    Program::of_object(algorithm).map_err(|error| unfit(file, &error))?.add();
    Ok(algorithm)
}

fn add_source(file: &str, trust: Trust) -> anyhow::Result<&'static Algorithm> {
    let path = Path::new(file);
    let source = trust::read(path, MOST_SOURCE_BYTES, trust).map_err(|unread| match unread {
        Unread::Failed(error) => {
            UsageError::new(format!("cannot read {file}: {error}"), "ccctl new NAME writes a file to begin with").into()
        }
        Unread::Refused(fault) => anyhow::Error::from(fault),
    })?;
    let object = ccctl_catalog::compile(path, Target::Bpf).map_err(fault::of_compiler)?;
    let name = program_of(file, object.clone())?.algorithm;
    let algorithm = known(file, &name, object, String::from_utf8_lossy(&source).into_owned())?;
    if IS_STATIC {
        Program::of_object(algorithm).map_err(|error| unfit(file, &error))?.add();
        return Ok(algorithm);
    }
    let folder = TempDir::new()?;
    let library = folder.path().join("native.so");
    std::fs::write(&library, ccctl_catalog::compile(path, Target::Native).map_err(fault::of_compiler)?)?;
    Program::of_library(algorithm, &library).map_err(|error| unfit(file, &error))?.add();
    Ok(algorithm)
}

fn unfit(file: &str, error: &ProgramError) -> anyhow::Error {
    let remedy = "with clang, --algorithm NAME.bpf.c runs the C file instead of the object";
    Fault::new(Exit::Program, format!("{file}: {error}"), remedy).into()
}

fn known(file: &str, name: &str, object: Vec<u8>, source: String) -> anyhow::Result<&'static Algorithm> {
    ccctl_catalog::add(name, object, source).map_err(|error| match error {
        AddError::Taken(_) => {
            let remedy = "rename yours in CC_PARAMS and CC_ALGORITHM: runs name algorithms by these names";
            UsageError::new(format!("{file}: {error}"), remedy).into()
        }
        AddError::Layout { error, .. } => Fault::new(Exit::Program, format!("{file}: {error}"), error.remedy()).into(),
    })
}

/// Gives algorithms a place in a scenario that does not name them: each axis that sets algorithms has them as further values;
/// without such an axis, the first group of flows uses them, one after the other.
pub fn place(scenario: &mut Table, names: &[String]) {
    let names: Vec<&String> = names.iter().filter(|name| !is_named(scenario, name)).collect();
    if names.is_empty() {
        return;
    }
    let axes = scenario.get_mut("sweep").and_then(Value::as_array_mut).into_iter().flatten();
    let mut axes: Vec<&mut Table> = axes.filter_map(Value::as_table_mut).filter(|axis| sets_algorithms(axis)).collect();
    for axis in &mut axes {
        for name in &names {
            add_value(axis, name);
        }
    }
    if axes.is_empty() {
        replace_first(scenario, &names);
    }
}

/// Does a group, or an axis, already say the name?
fn is_named(scenario: &Table, name: &str) -> bool {
    let entries = |key: &str| scenario.get(key).and_then(Value::as_array).into_iter().flatten();
    let in_groups = entries("flows").any(|group| group.get("algorithm").and_then(Value::as_str) == Some(name));
    in_groups || entries("sweep").any(|axis| says(axis, name))
}

fn says(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => text == name,
        Value::Array(values) => values.iter().any(|value| says(value, name)),
        Value::Table(table) => table.values().any(|value| says(value, name)),
        _ => false,
    }
}

fn sets_algorithms(axis: &Table) -> bool {
    let paths = axis.get("set").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    paths.into_iter().any(|path| path.starts_with("flows.") && path.ends_with(".algorithm"))
}

/// What else the axis sets is for the new value as for its first one.
fn add_value(axis: &mut Table, name: &str) {
    if let Some(values) = axis.get_mut("values").and_then(Value::as_array_mut) {
        values.push(name.into());
    }
    let with = axis.get_mut("with").and_then(Value::as_table_mut);
    for list in with.into_iter().flat_map(|with| with.iter_mut()).filter_map(|(_, list)| list.as_array_mut()) {
        list.extend(list.first().cloned());
    }
}

/// Its profile and parameters are those of the algorithm that it had.
fn replace_first(scenario: &mut Table, names: &[&String]) {
    let first = scenario.get_mut("flows").and_then(Value::as_array_mut).and_then(|groups| groups.first_mut());
    let Some(group) = first.and_then(Value::as_table_mut) else { return };
    group.remove("profile");
    group.remove("set");
    group.insert("algorithm".to_owned(), names[0].as_str().into());
    let path = group.get("name").and_then(Value::as_str).map(|name| format!("flows.{name}.algorithm"));
    if let ([_, _, ..], Some(path)) = (names, path) {
        let values: Vec<Value> = names.iter().map(|name| name.as_str().into()).collect();
        let axis = Table::from_iter([
            ("name".to_owned(), "algorithm".into()),
            ("values".to_owned(), values.into()),
            ("set".to_owned(), vec![Value::from(path)].into()),
        ]);
        if let Value::Array(sweep) = scenario.entry("sweep").or_insert_with(|| Value::Array(Vec::new())) {
            sweep.push(axis.into());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn placed(text: &str, names: &[&str]) -> Table {
        let mut scenario: Table = text.parse().unwrap();
        place(&mut scenario, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        scenario
    }

    #[test]
    fn axes_of_algorithms_get_one_more_value_and_other_axes_none() {
        let text = "[[flows]]\nname='a'\nalgorithm='reno'\n[[sweep]]\nname='x'\nvalues=['reno','bic']\n\
                    set=['flows.*.algorithm']\nwith={'run.duration'=['9 s','5 s']}\n\
                    [[sweep]]\nname='y'\nvalues=[1]\nset=['flows.a.count']\n";
        let axes = placed(text, &["mine"])["sweep"].clone();
        assert_eq!(axes[0]["values"], vec!["reno", "bic", "mine"].into());
        assert_eq!(axes[0]["with"]["run.duration"], vec!["9 s", "5 s", "9 s"].into());
        assert_eq!(axes[1]["values"], vec![1].into());
        assert_eq!(placed(text, &["bic"]), text.parse().unwrap(), "it is there already");
    }

    #[test]
    fn without_such_an_axis_the_first_group_uses_them() {
        let text = "[[flows]]\nname='a'\nalgorithm='cubic'\nprofile='p'\nset={beta=0.5}\n[[flows]]\nname='b'\nalgorithm='reno'\n";
        let one = placed(text, &["mine"]);
        assert_eq!(one["flows"][0], "name='a'\nalgorithm='mine'\n".parse::<Table>().unwrap().into());
        assert_eq!(one["flows"][1]["algorithm"], "reno".into());
        assert!(one.get("sweep").is_none());
        let two = placed(text, &["mine", "yours"]);
        assert_eq!(two["sweep"][0]["values"], vec!["mine", "yours"].into());
        assert_eq!(two["sweep"][0]["set"], vec!["flows.a.algorithm"].into());
    }
}
