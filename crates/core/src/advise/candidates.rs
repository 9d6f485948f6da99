// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be simulated: algorithms that come with ccctl, the administrator's, and object files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use ccctl_catalog::{did_you_mean, Algorithm};
use ccctl_console::UsageError;
use ccctl_loader::Program;

use crate::local_algorithms;
use crate::request::{algorithm_word, program};
use crate::trust::Trust;

/// Candidates by name, and where the simulator finds algorithms that it does not come with.
#[derive(Debug, Default)]
pub struct Candidates {
    /// In the order of the words, each once.
    pub names: Vec<String>,
    /// Object files among the words.
    given: BTreeMap<String, String>,
    /// The administrator's, which have names.
    of_folder: BTreeMap<String, PathBuf>,
}

impl Candidates {
    /// Of words, each a name or the file of an object.
    ///
    /// # Errors
    ///
    /// A name that nothing has, and an object that would not be loaded either.
    pub fn of_words(words: &[String], trust: Trust) -> anyhow::Result<Self> {
        local_algorithms::refresh();
        let mut found = Self { of_folder: local_algorithms::files(), ..Self::default() };
        for word in words {
            let name = found.name_of(word, trust)?;
            if !found.names.contains(&name) {
                found.names.push(name);
            }
        }
        Ok(found)
    }

    /// Can the simulator have this algorithm?
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        is_shipped(name) || self.file(name).is_some()
    }

    /// The object of an algorithm that the simulator does not come with.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<String> {
        let of_folder = || self.of_folder.get(name).map(|file| file.to_string_lossy().into_owned());
        self.given.get(name).cloned().or_else(of_folder)
    }

    /// What `ccctl load` is to be given for it.
    #[must_use]
    pub fn word<'a>(&'a self, name: &'a str) -> &'a str {
        self.given.get(name).map_or(name, String::as_str)
    }

    fn name_of(&mut self, word: &str, trust: Trust) -> anyhow::Result<String> {
        if !Program::is_file(word) {
            return self.require(word).map(|()| word.to_owned());
        }
        let name = program(word, trust)?.algorithm;
        if is_shipped(&name) {
            let cause = format!("--candidates {word}: ccctl has an algorithm {name} of its own");
            return Err(UsageError::new(cause, "rename yours in CC_PARAMS and CC_ALGORITHM").into());
        }
        self.given.insert(name.clone(), algorithm_word(word).context("find the folder of an object")?);
        Ok(name)
    }

    fn require(&self, name: &str) -> anyhow::Result<()> {
        if self.has(name) {
            return Ok(());
        }
        if let Some(fault) = local_algorithms::refusal_of(name) {
            return Err(fault.into());
        }
        let mut names: Vec<&str> = ccctl_catalog::algorithms().iter().map(Algorithm::name).collect();
        names.extend(self.of_folder.keys().map(String::as_str));
        let remedy = did_you_mean(name, names, || "ccctl algorithms lists them".to_owned());
        Err(UsageError::new(format!("--candidates: there is no algorithm {name:?}"), remedy).into())
    }
}

fn is_shipped(name: &str) -> bool {
    ccctl_catalog::algorithms().iter().any(|algorithm| algorithm.name() == name)
}
