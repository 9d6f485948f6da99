// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl algorithms`

use ccctl_console::{arguments::Output, output, Exit};

use ccctl_core::operations;

use crate::client;

/// As much of the source as a table has room for.
const SOURCE_LETTERS: usize = 60;

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let all = client::ask(&operations::Algorithms {})?;
    if arguments.json {
        output::json(&all)?;
        return Ok(Exit::Done);
    }
    let rows =
        all.algorithms.into_iter().map(|algorithm| vec![algorithm.name, algorithm.title, short(&algorithm.papers)]);
    output::table(&["NAME", "TITLE", "SOURCE"], rows.collect())?;
    Ok(Exit::Done)
}

fn short(source: &str) -> String {
    let mut short: String = source.chars().take(SOURCE_LETTERS).collect();
    if short.len() < source.len() {
        short.push_str(" ...");
    }
    short
}
