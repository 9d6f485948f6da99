// SPDX-License-Identifier: MIT OR Apache-2.0
//! The algorithms that can be loaded.

use ccctl_catalog::{Algorithm, Description};
use ccctl_loader::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::local_algorithms;
use crate::Operation;

/// What every algorithm needs of the kernel, besides what its header names.
const NEEDS: &str = "struct_ops (Linux 5.15; swap: 6.4)";

/// List the algorithms that can be loaded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Algorithms {}

/// What there is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AlgorithmList {
    /// Each algorithm.
    pub algorithms: Vec<AlgorithmSummary>,
}

/// An algorithm, in short.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AlgorithmSummary {
    /// Name.
    pub name: String,
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`, that `load` gives it unless another is chosen.
    pub congestion_control: String,
    /// Name and purpose.
    pub title: String,
    /// `production`, or `study` for what has no maintained deployment.
    pub purpose: String,
    /// What it is good for, in a few words.
    pub good_for: String,
    /// Papers and RFCs.
    pub papers: String,
    /// What it needs of the kernel.
    pub needs: String,
    /// Of one that does not come with ccctl: its object file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl Operation for Algorithms {
    type Answer = AlgorithmList;
    const NAME: &'static str = "algorithms";
    const TITLE: &'static str = "List the algorithms that can be loaded";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<AlgorithmList> {
        local_algorithms::refresh();
        let names = ccctl_catalog::names().into_iter();
        let algorithms = names.filter_map(ccctl_catalog::algorithm).map(summary).collect::<anyhow::Result<_>>()?;
        Ok(AlgorithmList { algorithms })
    }
}

fn summary(algorithm: &Algorithm) -> anyhow::Result<AlgorithmSummary> {
    let description = algorithm.description();
    Ok(AlgorithmSummary {
        name: algorithm.name().to_owned(),
        congestion_control: Program::named(algorithm.name())?.default_name()?,
        title: title(algorithm, &description),
        purpose: description.purpose,
        good_for: description.good_for,
        papers: description.source,
        needs: needs(&description.needs),
        file: file_of(algorithm),
    })
}

/// The object file of one that does not come with ccctl.
pub fn file_of(algorithm: &Algorithm) -> Option<String> {
    Some(local_algorithms::files().get(algorithm.name())?.display().to_string())
}

/// Name and purpose; an object alone does not say what it is for.
pub fn title(algorithm: &Algorithm, description: &Description) -> String {
    if description.title.is_empty() {
        format!("{}: an algorithm of your own", algorithm.name())
    } else {
        description.title.clone()
    }
}

/// The frame's needs and the algorithm's own.
pub fn needs(own: &str) -> String {
    if own.is_empty() {
        NEEDS.to_owned()
    } else {
        format!("{NEEDS}; {own}")
    }
}
