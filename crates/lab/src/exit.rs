// SPDX-License-Identifier: GPL-2.0-only
//! What the errors of the libraries mean for the program.

use std::io;

use ccctl_console::{Ending, Exit};
use ccctl_loader::Error;

/// Only a run's own instances are loaded and unloaded, under names of the program's choice, and of the user's files only objects are
/// read: what else the loader may refuse should not happen.
pub fn of_library(error: &anyhow::Error) -> Ending {
    if let Some(error) = error.downcast_ref::<Error>() {
        let exit = match error {
            Error::Host { .. } => Exit::Host,
            Error::Object { .. } => Exit::Usage,
            Error::Locked { .. } => Exit::Locked,
            Error::Partly { .. } => Exit::Partial,
            _ => Exit::Unexpected,
        };
        return Ending { exit, remedy: error.remedy() };
    }
    let answer = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    Ending { exit: Exit::Unexpected, remedy: answer.and_then(ccctl_runfiles::remedy_of) }
}
