// SPDX-License-Identifier: MIT OR Apache-2.0
//! `examples/`: the running kernel accepts each, with the command of the page. What they do is tested in
//! `crates/lab/tests/program/examples.rs`.

use std::path::Path;

use crate::support::{self, claim, listed, parsed, succeeds, Folder};

#[test]
fn the_kernel_accepts_and_registers_every_example() {
    support::test("examples", 120, || {
        let (examples, folder) =
            (Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"), Folder::new("examples"));
        let mut names = Vec::new();
        for entry in std::fs::read_dir(examples).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
            let name = entry.file_name().into_string().unwrap();
            let source = entry.path().join(format!("{name}.bpf.c"));
            let object = folder.path().join(format!("{name}.o"));
            let words = ["build", source.to_str().unwrap(), "-o", object.to_str().unwrap(), "--json"];
            let answer = parsed(&words, &succeeds(&words));
            assert_eq!((&answer["algorithm"], &answer["is_verified"]), (&name.as_str().into(), &true.into()));
            let instance = format!("x_{name}");
            claim(&instance);
            succeeds(&["load", object.to_str().unwrap(), "--as", &instance, "--trust-writable"]);
            assert_eq!(listed(&instance).unwrap()["algorithm"], name.as_str());
            succeeds(&["unload", &instance]);
            names.push(name);
        }
        names.sort();
        assert_eq!(names, ["aimd", "copa", "lola"]);
    });
}
