// SPDX-License-Identifier: MIT OR Apache-2.0
//! A key that the JSON of both programs has is of the same type and unit in both. Each program checks its own keys in its
//! `json_keys.rs`; here both are asked for their schemas.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Keys that differ, and why.
const EXCEPTIONS: [(&str, &str); 1] =
    [("id", "a claim of a paper is named in words (S4-W4); objects of the kernel and rules have numbers")];

/// Words of descriptions that name a unit, and the unit.
const UNITS: [(&str, &str); 15] = [
    ("seconds", "s"),
    ("milliseconds", "ms"),
    ("ms", "ms"),
    ("microseconds", "us"),
    ("us", "us"),
    ("nanoseconds", "ns"),
    ("ns", "ns"),
    ("bytes", "bytes"),
    ("bits", "bits"),
    ("bit/s", "bit/s"),
    ("packets", "pkts"),
    ("pkts", "pkts"),
    ("percent", "%"),
    ("%", "%"),
    ("ppm", "ppm"),
];

/// What the schemas of a program say of its keys.
#[derive(Debug, Default)]
struct Key {
    types: BTreeSet<String>,
    /// That descriptions name.
    units: BTreeSet<&'static str>,
}

type Keys = BTreeMap<String, Key>;

fn said(program: &Path, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    let output =
        output.unwrap_or_else(|error| panic!("{}: {error}; cargo build --workspace --bins", program.display()));
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Keys of all answers; those of the configuration file are not of an answer.
fn keys(program: &Path) -> Keys {
    let mut keys = Keys::new();
    for name in said(program, &["schema"]).lines().filter(|name| *name != "ccctl.toml") {
        let schema: Value = serde_json::from_str(&said(program, &["schema", name])).unwrap();
        note(&schema, &schema, &mut keys);
    }
    keys
}

/// Notes the keys of a schema and of all schemas within it.
fn note(root: &Value, schema: &Value, keys: &mut Keys) {
    for (name, value) in schema["properties"].as_object().into_iter().flatten() {
        let key = keys.entry(name.clone()).or_default();
        key.types.insert(type_of(root, value));
        key.units.extend(units(value["description"].as_str().unwrap_or_default()));
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|inner| note(root, inner, keys)),
        Value::Array(items) => items.iter().for_each(|inner| note(root, inner, keys)),
        _ => {}
    }
}

/// The type of a value that is there: `null` is that of one that is missing. Whole numbers are numbers.
fn type_of(root: &Value, schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return type_of(root, root.pointer(name.trim_start_matches('#')).unwrap());
    }
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|kind| schema[*kind].as_array()).flatten();
    let mut types: BTreeSet<String> = alternatives.map(|one| type_of(root, one)).collect();
    match &schema["type"] {
        Value::Array(kinds) => types.extend(kinds.iter().map(|kind| of_kind(root, schema, kind.as_str()))),
        kind if types.is_empty() => drop(types.insert(of_kind(root, schema, kind.as_str()))),
        _ => {}
    }
    types.remove("null");
    types.into_iter().collect::<Vec<_>>().join(" or ")
}

fn of_kind(root: &Value, schema: &Value, kind: Option<&str>) -> String {
    match kind {
        Some("integer") => "number".to_owned(),
        Some("array") => format!("array of {}", type_of(root, &schema["items"])),
        Some(kind) => kind.to_owned(),
        None if schema["const"].is_string() || schema["enum"].is_array() => "string".to_owned(),
        None => "anything".to_owned(),
    }
}

fn units(description: &str) -> BTreeSet<&'static str> {
    let words: Vec<&str> = description.split([' ', ',', '.', ';', ':', '(', ')']).collect();
    UNITS.iter().filter(|(word, _)| words.contains(word)).map(|(_, unit)| *unit).collect()
}

/// What differs between two programs.
fn differences(first: &Keys, second: &Keys) -> BTreeMap<String, String> {
    let shared = first.iter().filter_map(|(name, key)| Some((name, key, second.get(name)?)));
    let differs = |a: &Key, b: &Key| {
        let units_differ = !a.units.is_empty() && !b.units.is_empty() && a.units != b.units;
        a.types != b.types || units_differ
    };
    shared.filter(|(_, a, b)| differs(a, b)).map(|(name, a, b)| (name.clone(), format!("{a:?} and {b:?}"))).collect()
}

#[test]
fn keys_of_both_programs_have_one_type_and_unit() {
    let ccctl = PathBuf::from(env!("CARGO_BIN_EXE_ccctl"));
    let lab = ccctl.with_file_name("ccctl-lab");
    let (first, second) = (keys(&ccctl), keys(&lab));
    let shared = first.keys().filter(|name| second.contains_key(*name)).count();
    assert!(shared >= 5 && first.contains_key("json_version"), "only {shared} keys are in both");
    let mut found = differences(&first, &second);
    for (name, reason) in EXCEPTIONS {
        assert!(found.remove(name).is_some(), "{name} does not differ any more ({reason}): remove the exception");
    }
    assert_eq!(found, BTreeMap::new());
}

/// Without this, a reader of schemas that finds nothing would pass.
#[test]
fn a_difference_of_type_or_unit_is_found() {
    let keys = |text: &str| {
        let schema: Value = serde_json::from_str(text).unwrap();
        let mut keys = Keys::new();
        note(&schema, &schema, &mut keys);
        keys
    };
    let one = keys(
        r##"{"properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": ["integer", "null"], "description": "In ms."},
            "c": {"type": "array", "items": {"type": "string"}}}, "$defs": {"A": {"type": "integer"}}}"##,
    );
    let other = keys(
        r#"{"items": {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "b": {"type": "number", "description": "In seconds."}, "c": {"type": "array", "items": {"type": "string"}}}}}"#,
    );
    assert_eq!(differences(&one, &other).keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(differences(&one, &one), BTreeMap::new());
}
