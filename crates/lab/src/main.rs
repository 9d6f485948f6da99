// SPDX-License-Identifier: GPL-2.0-only
//! `ccctl-lab`: experiments with TCP congestion control.

mod arguments;
mod commands;
mod exit;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod json_keys;

use std::process::ExitCode;

use ccctl_console::{cause, is_broken_pipe, output, raise_file_limit, usage, Ending, Exit};
use clap::{CommandFactory as _, Parser as _};

use arguments::Arguments;

/// As it calls itself.
const PROGRAM: &str = env!("CARGO_BIN_NAME");

fn main() -> ExitCode {
    raise_file_limit();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&Arguments::command(), &error),
    };
    match commands::run(arguments.command) {
        Ok(exit) => exit.into(),
        // A reader that has seen enough, such as head, is no failure.
        Err(error) if is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            let ending = Ending::of(&error, exit::of_library);
            output::failure(PROGRAM, &cause(&error), ending.remedy.as_deref());
            ending.exit.into()
        }
    }
}
