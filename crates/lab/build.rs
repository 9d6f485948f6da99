// SPDX-License-Identifier: GPL-2.0-only
//! Lists the scenarios that are part of the program.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    embed_scenarios(&root.join("configs/scenarios"), &out.join("scenarios.rs"))
}

/// Writes a list of all files of the folder, each with its path in it and what it holds.
fn embed_scenarios(folder: &Path, list: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        println!("cargo:rerun-if-changed={}", next.display());
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            let kind = if path.is_dir() { &mut folders } else { &mut files };
            kind.push(path);
        }
    }
    files.sort();
    let mut text = String::from("&[\n");
    for file in &files {
        let (name, file) = (file.strip_prefix(folder)?.to_string_lossy(), file.to_string_lossy());
        writeln!(text, "    ({name:?}, include_bytes!({file:?})),")?;
    }
    text.push_str("]\n");
    fs::write(list, text)?;
    Ok(())
}
