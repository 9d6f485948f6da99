// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the errors of ccctl's libraries mean for the program.

use std::io;

use ccctl_console::{cause, Ending, Exit, Fault};
use ccctl_loader::Error;

/// How the program ends with this error, and what to try.
pub fn ending(error: &anyhow::Error) -> Ending {
    Ending::of(error, of_library)
}

/// What to try.
#[must_use]
pub fn remedy(error: &anyhow::Error) -> Option<String> {
    ending(error).remedy
}

/// The error as plain data.
#[must_use]
pub fn fault(error: &anyhow::Error) -> Fault {
    let ending = ending(error);
    Fault { cause: cause(error), remedy: ending.remedy, exit: ending.exit as u8 }
}

fn of_library(error: &anyhow::Error) -> Ending {
    if let Some(error) = error.downcast_ref::<ccctl_telemetry::Error>() {
        return Ending { exit: of_telemetry(error), remedy: error.remedy() };
    }
    if let Some(error) = error.downcast_ref::<Error>() {
        return Ending { exit: of_loader(error), remedy: error.remedy() };
    }
    let answer = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    Ending { exit: Exit::Unexpected, remedy: answer.and_then(ccctl_runfiles::remedy_of) }
}

fn of_loader(error: &Error) -> Exit {
    match error {
        Error::Unknown { .. }
        | Error::BadName { .. }
        | Error::Parameter(_)
        | Error::Profile(_)
        | Error::Object { .. }
        | Error::Request { .. }
        | Error::Gone { .. } => Exit::Usage,
        Error::Taken { .. } | Error::InUse { .. } => Exit::Refused,
        Error::Host { .. } | Error::Unwritable { since: Some(_), .. } => Exit::Host,
        Error::Refused { .. } | Error::Table { .. } | Error::Unwritable { since: None, .. } => Exit::Program,
        Error::Locked { .. } => Exit::Locked,
        Error::Partly { .. } => Exit::Partial,
        Error::Kernel { answer, .. } if is_wrong_path(answer.kind()) => Exit::Usage,
        Error::Kernel { .. } => Exit::Unexpected,
    }
}

fn of_telemetry(error: &ccctl_telemetry::Error) -> Exit {
    use ccctl_telemetry::Error as Clock;
    match error {
        Clock::Interface { .. } => Exit::Usage,
        Clock::NoPlace { .. }
        | Clock::Privileges { .. }
        | Clock::Kernel(_)
        | Clock::File(ccctl_runfiles::Error::Unsafe { .. }) => Exit::Host,
        Clock::Program { .. } => Exit::Program,
        Clock::File(ccctl_runfiles::Error::Held { .. }) => Exit::Locked,
        _ => Exit::Unexpected,
    }
}

/// The user named a file that is not there, or is no file.
fn is_wrong_path(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory)
}
