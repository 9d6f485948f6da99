// SPDX-License-Identifier: GPL-2.0-only
//! The scenarios of `configs/scenarios/`, which are part of the program, and the traces that they name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Path in `configs/scenarios/`, and what the file holds.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// A scenario that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Name of the file without ending.
    pub name: &'static str,
    /// What it holds.
    pub text: &'static str,
}

/// All of them, by name.
#[must_use]
pub fn shipped() -> Vec<Shipped> {
    let scenario = |(path, data): &(&'static str, &'static [u8])| {
        let name = path.strip_suffix(".toml").filter(|name| !name.contains('/'))?;
        Some(Shipped { name, text: std::str::from_utf8(data).ok()? })
    };
    FILES.iter().filter_map(scenario).collect()
}

impl Shipped {
    /// Does it name a file beside it?
    #[must_use]
    pub fn needs_files(&self) -> bool {
        self.text.parse::<toml::Table>().is_ok_and(|table| names_trace(&toml::Value::Table(table)))
    }

    /// Writes the files that scenarios name into a folder, and gives the path that the scenario has there. Links in the
    /// folder are followed: it must be one that nobody else can write to.
    pub fn unpack_files(&self, folder: &Path) -> io::Result<PathBuf> {
        for (path, data) in FILES.iter().filter(|(path, _)| !is_scenario(path)) {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, data)?;
        }
        Ok(folder.join(self.name).with_extension("toml"))
    }
}

fn is_scenario(path: &str) -> bool {
    path.strip_suffix(".toml").is_some_and(|name| !name.contains('/'))
}

/// A trace can stand in a link and in an axis.
fn names_trace(value: &toml::Value) -> bool {
    match value {
        toml::Value::Table(table) => table.iter().any(|(key, value)| is_path_of_trace(key) || names_trace(value)),
        toml::Value::Array(list) => list.iter().any(names_trace),
        toml::Value::String(text) => text.contains('.') && is_path_of_trace(text), // in an axis' `set`
        _ => false,
    }
}

/// `trace`, `link.NAME.trace`
fn is_path_of_trace(text: &str) -> bool {
    text.rsplit('.').next() == Some("trace")
}
