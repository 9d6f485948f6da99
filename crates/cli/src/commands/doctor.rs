// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl doctor`

use ccctl_console::output::{self, Tone};
use ccctl_console::{arguments::Output, Exit};
use ccctl_loader::Status;

use ccctl_core::operations;

use crate::client;

pub fn run(arguments: &Output) -> anyhow::Result<Exit> {
    let diagnosis = client::ask(&operations::Doctor {})?;
    let exit = if diagnosis.ok { Exit::Done } else { Exit::Host };
    if arguments.json {
        output::json(&diagnosis)?;
        return Ok(exit);
    }
    for check in &diagnosis.checks {
        let (mark, tone) = match check.status {
            Status::Ok => ("ok", Tone::Good),
            Status::Warn => ("warn", Tone::Warning),
            Status::Fail => ("FAIL", Tone::Bad),
            Status::Unknown => ("?", Tone::Warning),
        };
        output::toned_line(&format!("{mark:<5}"), tone, &format!("{:<18}{}", check.name, check.detail))?;
        if let Some(remedy) = &check.remedy {
            output::line(&format!("       try: {remedy}"))?;
        }
    }
    output::line(if diagnosis.ok { "algorithms can be loaded here" } else { "algorithms cannot be loaded here" })?;
    Ok(exit)
}
