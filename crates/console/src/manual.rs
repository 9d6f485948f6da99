// SPDX-License-Identifier: MIT OR Apache-2.0
//! `man`: a manual page for each command of a program, made from its help.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::{output, Exit, UsageError};

/// Where the pages go.
#[derive(Debug, Args)]
pub struct Man {
    /// Folder, which is created if it does not exist
    pub folder: PathBuf,
}

impl Man {
    /// Writes the pages of this command line.
    pub fn write(&self, program: clap::Command) -> anyhow::Result<Exit> {
        let (name, folder) = (program.get_name().to_owned(), &self.folder);
        let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(program, folder));
        written.map_err(|error| {
            let cause = format!("cannot write manual pages to {}: {error}", folder.display());
            UsageError::new(cause, "choose a folder that you may write to")
        })?;
        output::line(&format!("manual pages: man -l {}/{name}.1", folder.display()))?;
        Ok(Exit::Done)
    }
}
