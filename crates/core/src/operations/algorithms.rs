// SPDX-License-Identifier: MIT OR Apache-2.0
//! The algorithms that can be loaded.

use ccctl_loader::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}

impl Operation for Algorithms {
    type Answer = AlgorithmList;
    const NAME: &'static str = "algorithms";
    const TITLE: &'static str = "List the algorithms that can be loaded";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<AlgorithmList> {
        let algorithms = ccctl_catalog::algorithms().iter().map(summary).collect::<anyhow::Result<_>>()?;
        Ok(AlgorithmList { algorithms })
    }
}

fn summary(algorithm: &ccctl_catalog::Algorithm) -> anyhow::Result<AlgorithmSummary> {
    let description = algorithm.description();
    Ok(AlgorithmSummary {
        name: algorithm.name().to_owned(),
        congestion_control: Program::named(algorithm.name())?.default_name()?,
        title: description.title,
        purpose: description.purpose,
        good_for: description.good_for,
        papers: description.source,
        needs: needs(&description.needs),
    })
}

/// The frame's needs and the algorithm's own.
pub fn needs(own: &str) -> String {
    if own.is_empty() {
        NEEDS.to_owned()
    } else {
        format!("{NEEDS}; {own}")
    }
}
