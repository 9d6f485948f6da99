// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl swap`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use ccctl_core::operations::Swap;

use crate::client;

pub fn run(arguments: &Asked<Swap>) -> anyhow::Result<Exit> {
    let swapped = client::ask(&arguments.request)?;
    let exit = if swapped.not_followed.is_empty() { Exit::Done } else { Exit::Partial };
    if arguments.output.json {
        output::json(&swapped)?;
        return Ok(exit);
    }
    let name = &swapped.name;
    if swapped.dry_run {
        let sockets = output::count(swapped.sockets_on_old_program, "live connection");
        let line =
            format!("{name}: new connections would use {}; {sockets} would keep their program", swapped.algorithm);
        output::line(&line)?;
        return Ok(exit);
    }
    output::line(&format!("{name}: new connections use {}", swapped.algorithm))?;
    if let Some(named) = algorithm_in(name).filter(|named| *named != swapped.algorithm) {
        output::line(&format!("note: the name {name}, which ss and sysctl show, still says {named}"))?;
    }
    if swapped.sockets_on_old_program > 0 {
        let sockets = output::count(swapped.sockets_on_old_program, "live connection");
        output::line(&format!(
            "{sockets} on the previous program; ccctl migrate --instance {name} --to {name} moves them"
        ))?;
    }
    for reason in &swapped.not_followed {
        output::line(&format!("default not updated: {reason}"))?;
    }
    Ok(exit)
}

/// The algorithm that a default name names: `bpf_cubic` is cubic's.
fn algorithm_in(name: &str) -> Option<&str> {
    let named = name.strip_prefix("bpf_")?;
    ccctl_catalog::algorithm(named).map(|_| named)
}
