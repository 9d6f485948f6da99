// SPDX-License-Identifier: GPL-2.0-only
//! The algorithms' C code against test vectors from papers, RFCs and compiled Linux modules.
//!
//! One file `NAME.json` here per algorithm. `names` in it says what our parameters and state fields are called that the
//! vectors write or expect, and what a vector's profile sets besides its own parameters. Nothing is skipped: an
//! unknown name, event or function is a failure.

mod functions;
#[path = "../hstcp_response/mod.rs"]
mod hstcp_response;
mod sequences;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ccctl_sim::checks::{Differences, Names, Trace};
use serde::Deserialize;
use serde_json::Value;

/// A file of vectors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    names: Names,
    vectors: Vec<Vector>,
}

/// One vector; each kind refuses keys that it does not know.
#[derive(Deserialize)]
struct Vector {
    id: String,
    algorithm: String,
    #[serde(flatten)]
    test: Test,
    tolerance: BTreeMap<String, f64>,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Test {
    Trace(Trace),
    Function(functions::Function),
    Sequence(sequences::Sequence),
}

impl Vector {
    fn run(&self, algorithm: &str, names: &Names) -> Differences {
        match &self.test {
            Test::Trace(trace) => trace.run(algorithm, names, &self.tolerance),
            Test::Function(function) => function.run(&self.tolerance),
            Test::Sequence(sequence) => sequence.run(&self.id),
        }
    }
}

fn files() -> Vec<(String, File)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let paths = fs::read_dir(folder).expect("the folder of this file").map(|entry| entry.expect("readable").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    paths.sort();
    let read = |path: &Path| {
        let text = fs::read_to_string(path).expect("readable");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().map(|path| (path.file_stem().expect("a file").to_string_lossy().into_owned(), read(path))).collect()
}

/// Entries of the file's list, counted without the types above.
fn entries(name: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/{name}.json"));
    let file: Value = serde_json::from_str(&fs::read_to_string(path).expect("readable")).expect("JSON");
    file["vectors"].as_array().expect("a list").len()
}

#[test]
fn every_vector_holds() {
    let mut failures = Vec::new();
    let mut total = 0;
    for (name, file) in files() {
        let mut run = 0;
        for vector in &file.vectors {
            let expected = file.names.algorithm.as_ref().unwrap_or(&name);
            assert_eq!(vector.algorithm, *expected, "{} lies in another algorithm's file", vector.id);
            let differences = vector.run(&name, &file.names);
            failures.extend(differences.iter().map(|difference| format!("{}: {difference}", vector.id)));
            run += 1;
        }
        assert_eq!(run, entries(&name), "{name}: vectors left out");
        println!("{name}: {run} vectors");
        total += run;
    }
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    println!("{total} vectors hold");
}

#[test]
fn every_algorithm_has_vectors() {
    let names: Vec<String> = files().into_iter().map(|(name, _)| name).collect();
    for algorithm in ccctl_catalog::algorithms() {
        assert!(names.iter().any(|name| name == algorithm.name()), "no tests/vectors/{}.json", algorithm.name());
    }
}
