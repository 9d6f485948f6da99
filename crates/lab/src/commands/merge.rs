// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab merge`

use ccctl_console::{output, Exit};
use ccctl_lab::report::{copy_command, report as draw};
use ccctl_lab::run::{merge, Report};

use super::{fault, text};
use crate::arguments::Merge as Arguments;

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let summary = merge(&arguments.folders, &arguments.out).map_err(fault::of_merge)?;
    copy_command(&arguments.folders[0], &arguments.out).map_err(fault::of_run)?;
    let page = draw(&arguments.out).map_err(fault::of_run)?;
    let report = Report { ran: 0, kept: summary.runs_done, invalid: summary.invalid.len(), cancelled: false, summary };
    let result = text::Outcome::new(&report, &arguments.out, Some(page), None);
    if arguments.output.json {
        output::json(&result)?;
    } else {
        result.print()?;
    }
    Ok(Exit::Done)
}
