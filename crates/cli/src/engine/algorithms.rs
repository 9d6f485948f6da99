//! The algorithms that can be loaded.

use ccctl_loader::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;

/// What every algorithm needs of the kernel, besides what its header names.
const NEEDS: &str = "struct_ops (Linux 5.15; swap: 6.4)";

/// List the algorithms that can be loaded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Algorithms {}

/// An algorithm, in short.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AlgorithmSummary {
    /// Name.
    pub name: String,
    /// Name that the kernel gets to know it under, unless another is chosen.
    pub kernel_name: String,
    /// Name and purpose.
    pub title: String,
    /// Papers and RFCs.
    pub source: String,
    /// What it needs of the kernel.
    pub needs: String,
}

impl Operation for Algorithms {
    type Answer = Vec<AlgorithmSummary>;
    const NAME: &'static str = "algorithms";
    const TITLE: &'static str = "List the algorithms that can be loaded";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<Vec<AlgorithmSummary>> {
        ccctl_catalog::algorithms().iter().map(summary).collect()
    }
}

fn summary(algorithm: &ccctl_catalog::Algorithm) -> anyhow::Result<AlgorithmSummary> {
    let description = algorithm.description();
    Ok(AlgorithmSummary {
        name: algorithm.name().to_owned(),
        kernel_name: Program::named(algorithm.name())?.default_name()?,
        title: description.title,
        source: description.source,
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
