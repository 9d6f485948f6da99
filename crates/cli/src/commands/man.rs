// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl man`: a page for each command, made from its help.

use std::fs;

use ccctl_console::{output, Exit, UsageError};

use crate::arguments::Man;
use crate::help;

pub fn run(arguments: &Man) -> anyhow::Result<Exit> {
    let folder = &arguments.folder;
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(help::command(), folder));
    written.map_err(|error| {
        let cause = format!("cannot write manual pages to {}: {error}", folder.display());
        UsageError::new(cause, "choose a folder that you may write to")
    })?;
    output::line(&format!("manual pages: man -l {}/ccctl.1", folder.display()))?;
    Ok(Exit::Done)
}
