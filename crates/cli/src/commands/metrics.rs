// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl metrics`

use ccctl_console::{arguments::Output, output, Exit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::{Family, MetricInfo, FAMILIES};

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Each metric, in the order of the exposition.
    metrics: Vec<MetricInfo>,
}

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let answer = Answer { metrics: FAMILIES.iter().map(Family::info).collect() };
    if arguments.json {
        output::json(&answer)?;
        return Ok(Exit::Done);
    }
    let cells = |metric: MetricInfo| vec![metric.name, metric.kind, metric.labels.join(", "), metric.origin];
    output::table(&["METRIC", "KIND", "LABELS", "SOURCE"], answer.metrics.into_iter().map(cells).collect())?;
    Ok(Exit::Done)
}
