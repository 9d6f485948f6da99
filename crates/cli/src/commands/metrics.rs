//! `ccctl metrics`

use crate::arguments::Output;
use crate::exit::Exit;
use crate::metrics::{Family, FAMILIES};
use crate::output;

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let metrics: Vec<_> = FAMILIES.iter().map(Family::info).collect();
    if arguments.json {
        output::json(&metrics)?;
        return Ok(Exit::Done);
    }
    let rows =
        metrics.into_iter().map(|metric| vec![metric.name, metric.kind, metric.labels.join(", "), metric.source]);
    output::table(&["METRIC", "KIND", "LABELS", "SOURCE"], rows.collect())?;
    Ok(Exit::Done)
}
