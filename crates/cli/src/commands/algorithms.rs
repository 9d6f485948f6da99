// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl algorithms`

use ccctl_console::{arguments::Output, output, Exit};

use ccctl_core::operations;

use crate::client;

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let all = client::ask(&operations::Algorithms {})?;
    if arguments.json {
        output::json(&all)?;
        return Ok(Exit::Done);
    }
    let row = |one: operations::AlgorithmSummary| vec![one.name, one.purpose, one.good_for, one.title];
    output::table(&["NAME", "FOR", "GOOD FOR", "TITLE"], all.algorithms.into_iter().map(row).collect())?;
    output::line("")?;
    output::line("study: we know of no maintained deployment")?;
    output::line("ccctl show NAME says when to use an algorithm")?;
    Ok(Exit::Done)
}
