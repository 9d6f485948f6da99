// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a program ends that met an error or a wrong command line.

use std::io;
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::fault::{Fault, UsageError};
use crate::{arguments, output};

/// What an error means for the program that has met it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// How the program ends.
    pub exit: Exit,
    /// What to try, where anything is known.
    pub remedy: Option<String>,
}

impl Ending {
    /// The ending that an error itself carries, which [`Fault`] and [`UsageError`] do; of any other error it is what
    /// `of_library` says, which knows the errors of the libraries that the program uses.
    pub fn of(error: &anyhow::Error, of_library: impl FnOnce(&anyhow::Error) -> Self) -> Self {
        if let Some(fault) = error.downcast_ref::<Fault>() {
            return Self { exit: Exit::numbered(fault.exit), remedy: fault.remedy.clone() };
        }
        if let Some(usage) = error.downcast_ref::<UsageError>() {
            return Self { exit: Exit::Usage, remedy: Some(usage.remedy.clone()) };
        }
        of_library(error)
    }
}

/// What a command that fails prints with `--json`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ErrorAnswer")]
pub struct Failure {
    /// What went wrong.
    pub error: Fault,
}

/// The error on one line.
#[must_use]
pub fn cause(error: &anyhow::Error) -> String {
    format!("{error:#}").lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Did the reader of our output go away?
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let json = error.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
    io.or(json) == Some(io::ErrorKind::BrokenPipe)
}

/// Help and version go to stdout, help also without any command; a wrong command line of `program` gets one line and the
/// usage of the command that was meant, and with `--json` the same as an object on stdout.
#[must_use]
pub fn usage(program: &clap::Command, error: &clap::Error) -> ExitCode {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Nothing can be said where stdout is closed.
        let _ = output::lines(&error.to_string());
        return Exit::Done.into();
    }
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done.into();
    }
    let text = error.to_string();
    let after = |head: &str| text.lines().find_map(|line| line.trim().strip_prefix(head)).map(str::trim);
    let remedy = after("tip:").or_else(|| after("Usage:")).map_or_else(|| help_of(program), str::to_owned);
    let cause = cause_of_usage(error);
    output::failure(program.get_name(), &cause, Some(&remedy));
    // The command line was not understood: what it asks for can only be looked for in it.
    if arguments::words().iter().any(|word| word == "--json") {
        let _ = output::json(&Failure { error: Fault::new(Exit::Usage, cause, remedy) });
    }
    Exit::Usage.into()
}

/// What prints the help of the command that the command line names.
fn help_of(program: &clap::Command) -> String {
    let named = arguments::words().iter().find_map(|word| program.find_subcommand(word)).map(clap::Command::get_name);
    let words = [Some(program.get_name()), named, Some("--help")];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What is wrong with a command line, in one line: clap's first, and the arguments that it names below.
#[must_use]
pub fn cause_of_usage(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("wrong usage").trim_start_matches("error: ").to_owned();
    let named = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("tip:"));
    let named: Vec<&str> = named.filter(|line| !line.starts_with("For more")).collect();
    if named.is_empty() {
        first
    } else {
        format!("{first} {}", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_says_how_it_ends_is_believed() {
        let asked = |_: &anyhow::Error| -> Ending { unreachable!("no library made it") };
        let fault = Fault::new(Exit::Locked, "held", "wait").into();
        assert_eq!(Ending::of(&fault, asked), Ending { exit: Exit::Locked, remedy: Some("wait".to_owned()) });
        let usage = UsageError::new("wrong", "right").into();
        assert_eq!(Ending::of(&usage, asked), Ending { exit: Exit::Usage, remedy: Some("right".to_owned()) });
        let foreign = Fault { exit: 99, cause: "of another version".to_owned(), remedy: None }.into();
        assert_eq!(Ending::of(&foreign, asked).exit, Exit::Unexpected);
    }

    #[test]
    fn other_errors_are_the_librarys() {
        let host = Ending { exit: Exit::Host, remedy: None };
        assert_eq!(Ending::of(&anyhow::anyhow!("any"), |_| host.clone()), host);
    }

    #[test]
    fn an_error_of_several_lines_is_one() {
        let error = anyhow::anyhow!("first\n\n  second").context("why");
        assert_eq!(cause(&error), "why: first; second");
    }
}
