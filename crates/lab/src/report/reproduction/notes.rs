// SPDX-License-Identifier: GPL-2.0-only
//! What people found out about statements that do not hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What is known of a statement that does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// What was tried to find out.
    #[serde(default)]
    pub tried: String,
    /// Why our result differs.
    #[serde(default)]
    pub why: String,
    /// What is known of the running kernel's.
    #[serde(default)]
    pub kernel: String,
}

/// Why notes cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// The file system.
    #[error("cannot read {}: {cause}", file.display())]
    Io {
        /// Of what.
        file: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// No notes.
    #[error("{}: {cause}; a note is [ID] with tried = \"...\" and why = \"...\", or kernel = \"...\"", file.display())]
    Toml {
        /// Where.
        file: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// There is no such statement.
    #[error("{}: no scenario has a statement {id:?}; {remedy}", file.display())]
    Unknown {
        /// Where.
        file: PathBuf,
        /// Its id.
        id: String,
        /// Which it may be.
        remedy: String,
    },
}

/// Notes by the ids of statements, all of which are there.
pub fn read_notes(file: &Path, known: &BTreeSet<String>) -> Result<BTreeMap<String, Note>, NotesError> {
    let text = std::fs::read_to_string(file).map_err(|cause| NotesError::Io { file: file.to_owned(), cause })?;
    let notes: BTreeMap<String, Note> = toml::from_str(&text).map_err(|error| NotesError::Toml {
        file: file.to_owned(),
        cause: error.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" "),
    })?;
    match notes.keys().find(|id| !known.contains(*id)) {
        None => Ok(notes),
        Some(id) => Err(NotesError::Unknown {
            file: file.to_owned(),
            id: id.clone(),
            remedy: crate::experiment::did_you_mean(id, known.iter().map(String::as_str)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notes_of_this_repository_are_about_statements_that_there_are() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/reproduction-notes.toml");
        if let Err(error) = read_notes(&file, &super::super::statement_ids()) {
            panic!("{error}");
        }
    }

    #[test]
    fn a_note_about_nothing_is_refused() {
        let known = BTreeSet::from(["S4-W3".to_owned()]);
        let file = std::env::temp_dir().join(format!("ccctl-notes-{}.toml", std::process::id()));
        std::fs::write(&file, "[S4-W33]\ntried = \"a\"\nwhy = \"b\"\n").unwrap();
        let error = read_notes(&file, &known).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(error.contains("no scenario has a statement \"S4-W33\"; did you mean S4-W3?"), "{error}");
    }
}
