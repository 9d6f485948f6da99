// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl completions`

use std::io;

use ccctl_console::{Exit, UsageError};
use clap_complete::env::Shells;

use crate::arguments::Completions;

pub fn run(arguments: &Completions) -> anyhow::Result<Exit> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&arguments.shell) else {
        let known: Vec<&str> = shells.names().collect();
        let cause = format!("there is no completion for the shell {:?}", arguments.shell);
        return Err(UsageError::new(cause, known.join(", ")).into());
    };
    shell.write_registration("COMPLETE", "ccctl", "ccctl", "ccctl", &mut io::stdout())?;
    Ok(Exit::Done)
}
