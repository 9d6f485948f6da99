// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files on the command line.

use ccctl_loader::Program;

/// An algorithm as it is, an object file by its absolute path: who reads it may work in another folder.
pub fn absolute(word: &str) -> anyhow::Result<String> {
    if !Program::is_file(word) {
        return Ok(word.to_owned());
    }
    Ok(std::path::absolute(word)?.to_string_lossy().into_owned())
}
