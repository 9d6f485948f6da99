//! `ccctl algorithms`

use ccctl_loader::Program;
use serde_json::{json, Value};

use crate::arguments::Output;
use crate::exit::Exit;
use crate::output;

/// What every algorithm needs of the kernel, besides what its header names.
const NEEDS: &str = "struct_ops (Linux 5.15; swap: 6.4)";

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let all = ccctl_catalog::algorithms();
    if arguments.json {
        output::json(&Value::Array(all.iter().map(describe).collect::<anyhow::Result<_>>()?))?;
    } else {
        let rows = all.iter().map(|algorithm| {
            let description = algorithm.description();
            vec![algorithm.name().to_owned(), description.title, short_source(&description.source)]
        });
        output::table(&["NAME", "TITLE", "SOURCE"], rows.collect())?;
    }
    Ok(Exit::Done)
}

fn describe(algorithm: &ccctl_catalog::Algorithm) -> anyhow::Result<Value> {
    let description = algorithm.description();
    Ok(json!({
        "name": algorithm.name(),
        "kernel_name": Program::named(algorithm.name())?.default_name()?,
        "title": description.title,
        "source": description.source,
        "needs": needs(&description.needs),
    }))
}

/// The frame's needs and the algorithm's own.
pub fn needs(own: &str) -> String {
    if own.is_empty() {
        NEEDS.to_owned()
    } else {
        format!("{NEEDS}; {own}")
    }
}

/// As much of the source as a table has room for.
fn short_source(source: &str) -> String {
    let mut short: String = source.chars().take(60).collect();
    if short.len() < source.len() {
        short.push_str(" ...");
    }
    short
}
