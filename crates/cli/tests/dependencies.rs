// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two programs: what runs as root on a production host contains no simulator, no laboratory and no testbed.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Crates of the laboratory and of tests. Every other crate of the workspace is the product's.
const LABORATORY: [&str; 6] = ["ccctl-compare", "ccctl-fuzz", "ccctl-lab", "ccctl-path", "ccctl-sim", "ccctl-testbed"];

/// Crates of the workspace, each with those that its own code and its build script are made of.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--no-deps", "--offline", "--manifest-path"]);
    let output = cargo.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |of: &Value| of["name"].as_str().unwrap().to_owned();
    let needs = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|dependency| dependency["kind"] != "dev").map(name).collect()
    };
    metadata["packages"].as_array().unwrap().iter().map(|package| (name(package), needs(package))).collect()
}

#[test]
fn nothing_of_the_product_depends_on_the_laboratory() {
    let dependencies = dependencies();
    for name in LABORATORY {
        assert!(dependencies.contains_key(name), "no crate is called {name}");
    }
    assert!(dependencies.contains_key("ccctl"));
    let is_of_laboratory = |name: &String| LABORATORY.contains(&name.as_str());
    let product = dependencies.iter().filter(|(name, _)| !is_of_laboratory(name));
    let wrong: Vec<String> = product
        .flat_map(|(name, needs)| needs.iter().filter(|need| is_of_laboratory(need)).map(move |need| (name, need)))
        .map(|(name, need)| format!("{name} depends on {need}"))
        .collect();
    assert_eq!(wrong, [""; 0]);
}
