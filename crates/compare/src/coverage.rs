// SPDX-License-Identifier: GPL-2.0-only
//! Which branches of an algorithm's file a replay takes: clang's own counters, read with llvm-cov.

use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context as _, Result};
use serde_json::Value;

use crate::build;
use crate::counterpart::Counterpart;
use crate::file::Recording;
use crate::native::Algorithm;
use crate::replay::{self, Mode};

/// One way that a condition can go.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Line of the algorithm's file.
    pub line: u64,
    /// The line's text.
    pub text: String,
    /// The condition held.
    pub held: bool,
    /// How often.
    pub count: u64,
}

/// All branches of the algorithm's file.
pub fn branches(recording: &Recording, counterpart: &'static Counterpart, work: &Path) -> Result<Vec<Branch>> {
    let (library, raw, merged) =
        (work.join("counted.so"), work.join(format!("{}.profraw", counterpart.name)), work.join("merged.profdata"));
    let source = build::bpf_folder().join(format!("algorithms/{}.bpf.c", counterpart.name));
    build::compile(&source, &build::bpf_folder().join("include"), &library, true)?;
    std::env::set_var("LLVM_PROFILE_FILE", &raw);
    let algorithm = Algorithm::load(&library, counterpart.name, &replay::parameters(counterpart, &[])?)?;
    replay::replay(recording, counterpart, &algorithm, &algorithm, Mode::Count)?;
    algorithm.write_counters();
    drop(algorithm);
    run(Command::new("llvm-profdata").arg("merge").arg(&raw).arg("-o").arg(&merged))?;
    let profile = format!("-instr-profile={}", merged.display());
    let json = run(Command::new("llvm-cov").args(["export", "-format=text", &profile]).arg(&library))?;
    read(&serde_json::from_slice(&json)?, &source)
}

fn run(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

fn read(export: &Value, source: &Path) -> Result<Vec<Branch>> {
    let text = std::fs::read_to_string(source)?;
    let lines: Vec<&str> = text.lines().collect();
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let files = export["data"][0]["files"].as_array().context("llvm-cov names files")?;
    let file = files.iter().find(|file| file["filename"].as_str().is_some_and(|path| path.ends_with(&name)));
    let file = file.with_context(|| format!("llvm-cov reports nothing for {name}"))?;
    let mut found = Vec::new();
    for branch in file["branches"].as_array().map_or(&[][..], |branches| branches) {
        let number = |index: usize| branch[index].as_u64().unwrap_or_default();
        let text = lines.get(number(0) as usize - 1).map_or("", |line| line.trim());
        for (held, count) in [(true, number(4)), (false, number(5))] {
            found.push(Branch { line: number(0), text: text.to_owned(), held, count });
        }
    }
    Ok(found)
}
