// SPDX-License-Identifier: GPL-2.0-only
//! Files of test vectors.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::trace::Trace;

/// What differs, a sentence each; empty: the vector holds.
pub type Differences = Vec<String>;

/// A user's file: the vectors of one algorithm.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorFile {
    /// Where the vectors call something otherwise than the C file does.
    #[serde(default)]
    pub names: Names,
    /// All of them.
    pub vectors: Vec<Vector>,
}

/// The names of vectors to those of the C file. A name that is not here is the same in both.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// The algorithm's name in the vectors, where it is not the file's.
    pub algorithm: Option<String>,
    /// To "": implied by the algorithm.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Members of the state; `snd_cwnd_cnt` is the socket's.
    #[serde(default)]
    pub state: BTreeMap<String, String>,
    /// What a vector's profile sets besides its own parameters: integers of C members.
    #[serde(default)]
    pub profiles: BTreeMap<String, BTreeMap<String, u32>>,
}

impl Names {
    pub(super) fn parameter<'a>(&'a self, name: &'a str) -> &'a str {
        self.parameters.get(name).map_or(name, String::as_str)
    }

    pub(super) fn state<'a>(&'a self, name: &'a str) -> &'a str {
        self.state.get(name).map_or(name, String::as_str)
    }
}

/// One vector; each kind refuses keys that it does not know.
#[derive(Deserialize)]
pub struct Vector {
    /// Its name.
    pub id: String,
    /// The algorithm that it is for, where it says so.
    pub algorithm: Option<String>,
    /// What is done.
    #[serde(flatten)]
    pub kind: Kind,
    /// How far values may be off, by name; 0 for others.
    #[serde(default)]
    pub tolerance: BTreeMap<String, f64>,
    /// Where the expected values come from.
    pub source: String,
    /// For readers.
    pub note: Option<String>,
}

/// What a vector does.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Kind {
    /// Events, one after the other.
    Trace(Trace),
}

impl Vector {
    /// Runs it with the algorithm of this name.
    #[must_use]
    pub fn run(&self, algorithm: &str, names: &Names) -> Differences {
        let expected = names.algorithm.as_deref().unwrap_or(algorithm);
        match (&self.algorithm, &self.kind) {
            (Some(other), _) if other != expected => vec![format!("it is a vector of {other}, not of {expected}")],
            (_, Kind::Trace(trace)) => trace.run(algorithm, names, &self.tolerance),
        }
    }
}
