// SPDX-License-Identifier: GPL-2.0-only
//! By what a folder knows whether runs belong together.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::RunError;
use crate::backend::Backend;
use crate::experiment::TRACE_BYTES_MAX;
use crate::scenario::Scenario;

/// `versions.json`: what the runs of a folder were made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// Name of the scenario's file without ending.
    pub scenario: String,
    /// Version of ccctl.
    pub ccctl: String,
    /// Backend.
    pub backend: String,
    /// What it runs on, where that decides about results: "Linux 6.18.44".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its settings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The scenario's seed.
    pub seed: u64,
    /// SHA-256 of the C file of each algorithm in use, or of its object where only that was given.
    #[serde(rename = "algorithm_sha256", alias = "algorithms")]
    pub algorithms: BTreeMap<String, String>,
    /// SHA-256 of all of this, of the scenario but for its texts and of the traces that it names: runs with the same
    /// identity are runs of the same experiment. How many repeats are made, and which points are left out, is no part of it.
    pub identity: String,
}

impl Versions {
    /// Of a scenario that is to be run.
    pub fn of(scenario: &Scenario, backend: &dyn Backend) -> Result<Self, RunError> {
        let groups = scenario.points.iter().flat_map(|point| &point.setup.groups);
        let names: BTreeSet<&str> = groups.clone().map(|group| group.algorithm.as_str()).collect();
        let source = |name: &&str| {
            let algorithm = ccctl_catalog::algorithm(name)?;
            let text = match algorithm.source() {
                "" => algorithm.object(),
                source => source.as_bytes(),
            };
            Some(((*name).to_owned(), hex(&Sha256::digest(text))))
        };
        let mut versions = Self {
            scenario: scenario.name.clone(),
            ccctl: env!("CARGO_PKG_VERSION").to_owned(),
            backend: backend.name().to_owned(),
            host: backend.host(),
            settings: backend.settings(),
            seed: scenario.seed,
            algorithms: names.iter().filter_map(source).collect(),
            identity: String::new(),
        };
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        add(scenario.canonical.as_bytes());
        add(&serde_json::to_vec(&(&versions.ccctl, &versions.backend, versions.seed)).unwrap_or_default());
        for (name, value) in &versions.settings {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        for trace in &scenario.traces {
            let path = scenario.folder.join(trace);
            add(&ccctl_series::read_regular(&path, TRACE_BYTES_MAX).map_err(RunError::io("read", &path))?);
        }
        versions.identity = hex(&hash.finalize());
        Ok(versions)
    }

    /// Do runs with both belong together?
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let same = |name: &str, hash: &String| self.algorithms.get(name).is_none_or(|known| known == hash);
        let same_host = self.host.is_none() || other.host.is_none() || self.host == other.host;
        same_host && self.identity == other.identity && other.algorithms.iter().all(|(name, hash)| same(name, hash))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
