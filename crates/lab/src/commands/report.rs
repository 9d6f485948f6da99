// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl lab report`

use std::path::PathBuf;

use ccctl_console::{output, Exit};
use schemars::JsonSchema;
use serde::Serialize;

use super::{browser, fault};
use crate::arguments::Report as Arguments;

/// What was drawn.
#[derive(Serialize, JsonSchema)]
pub struct Answer {
    folder: PathBuf,
    page: PathBuf,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let page = ccctl_lab::report::report(&arguments.folder).map_err(fault::of_run)?;
    if arguments.output.json {
        output::json(&Answer { folder: arguments.folder.clone(), page: page.clone() })?;
    } else {
        output::line(&page.display().to_string())?;
    }
    if arguments.open {
        browser::show(&page);
    }
    Ok(Exit::Done)
}
