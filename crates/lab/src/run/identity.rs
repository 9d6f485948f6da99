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
    /// It is run with the noise of its testbed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub testbed: bool,
    /// Version of ccctl.
    pub ccctl: String,
    /// Backend.
    pub backend: String,
    /// What it runs on, where that decides about results: "Linux 6.18.44".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its settings.
    #[serde(rename = "backend_settings", alias = "settings", default, skip_serializing_if = "BTreeMap::is_empty")]
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
        let source = |name: &&str| Some(((*name).to_owned(), algorithm_sha256(name)?));
        let mut versions = Self {
            scenario: scenario.name.clone(),
            testbed: scenario.is_testbed,
            ccctl: env!("CARGO_PKG_VERSION").to_owned(),
            backend: backend.name().to_owned(),
            host: backend.host(),
            settings: backend.settings(),
            seed: scenario.seed,
            algorithms: names.iter().filter_map(source).collect(),
            identity: String::new(),
        };
        let by = serde_json::to_vec(&(&versions.ccctl, &versions.backend, versions.seed)).unwrap_or_default();
        versions.identity = experiment_sha256(scenario, &by, &versions.settings)?;
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

/// By what recorded runs are found: as [`Versions::identity`], but the same whatever version of ccctl made them.
pub(super) fn key(scenario: &Scenario, backend: &dyn Backend) -> Result<String, RunError> {
    let by = serde_json::to_vec(&(backend.name(), backend.host(), scenario.seed)).unwrap_or_default();
    experiment_sha256(scenario, &by, &backend.settings())
}

/// SHA-256 of an algorithm's C file, or of its object where only that was given; none of an unknown one.
pub(super) fn algorithm_sha256(name: &str) -> Option<String> {
    let algorithm = ccctl_catalog::algorithm(name)?;
    let text = match algorithm.source() {
        "" => algorithm.object(),
        source => source.as_bytes(),
    };
    Some(hex(&Sha256::digest(text)))
}

/// SHA-256 of what a scenario runs, by whom, with these settings, and of the traces that it names.
fn experiment_sha256(scenario: &Scenario, by: &[u8], settings: &BTreeMap<String, String>) -> Result<String, RunError> {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(scenario.canonical.as_bytes());
    add(by);
    for (name, value) in settings {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    for trace in &scenario.traces {
        let path = scenario.folder.join(trace);
        add(&ccctl_series::read_regular(&path, TRACE_BYTES_MAX).map_err(RunError::io("read", &path))?);
    }
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
