// SPDX-License-Identifier: GPL-2.0-only
//! Errors of the lab as the program tells them: a cause, what to try, an exit code.

use std::io::ErrorKind;

use ccctl_catalog::CompileError;
use ccctl_console::{Exit, Fault, UsageError};
use ccctl_lab::backend::BackendError;
use ccctl_lab::experiment::ScenarioError;
use ccctl_lab::run::RunError;

/// A wrong scenario.
pub fn of_scenario(error: &ScenarioError) -> anyhow::Error {
    let cause = format!("{}:{}:{}: {}", error.file, error.line, error.column, error.cause);
    UsageError::new(cause, error.remedy.clone()).into()
}

/// A C file that was not compiled.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn of_compiler(error: CompileError) -> anyhow::Error {
    let exit = if matches!(error, CompileError::Refused { .. }) { Exit::Program } else { Exit::Host };
    Fault::new(exit, error.to_string(), error.remedy()).into()
}

fn of_io(kind: ErrorKind) -> Exit {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::AlreadyExists => Exit::Usage,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::StorageFull => Exit::Host,
        _ => Exit::Unexpected,
    }
}

/// As [`of_run`], of `merge`, which takes its folder without an option.
pub fn of_merge(error: RunError) -> anyhow::Error {
    let is_of_out = matches!(error, RunError::Foreign { .. } | RunError::NotAFolder(_) | RunError::Locked(_));
    let error = of_run(error);
    match error.downcast::<Fault>() {
        Ok(fault) if is_of_out => {
            let remedy = fault.remedy.map(|remedy| remedy.replace("--out DIR", "another OUT"));
            Fault { remedy, ..fault }.into()
        }
        Ok(fault) => fault.into(),
        Err(error) => error,
    }
}

/// A run or a folder that came to nothing.
#[allow(clippy::needless_pass_by_value)] // for map_err
pub fn of_run(error: RunError) -> anyhow::Error {
    let exit = match &error {
        RunError::Scenario(error) => return of_scenario(error),
        RunError::Shard(_)
        | RunError::Different { .. }
        | RunError::NoRuns(_)
        | RunError::Unfit { .. }
        | RunError::Unit { cause: BackendError::Unsupported { .. }, .. } => Exit::Usage,
        RunError::Unit { cause: BackendError::Fault(_), .. } => Exit::Program,
        RunError::Foreign { .. } | RunError::NotAFolder(_) => Exit::Refused,
        RunError::Memory { .. } => Exit::Host,
        RunError::Locked(_) => Exit::Locked,
        RunError::Io { cause, .. } => {
            let exit = of_io(cause.kind());
            return Fault::new(
                exit,
                error.to_string(),
                "choose a folder that you may write to, on a disk with free space",
            )
            .into();
        }
        _ => Exit::Unexpected,
    };
    // The lab says what to do behind a semicolon.
    let text = error.to_string();
    match text.rsplit_once("; ") {
        Some((cause, remedy)) => Fault::new(exit, cause, remedy).into(),
        None => Fault { cause: text, remedy: None, exit: exit as u8 }.into(),
    }
}
