//! How the program ends.

use std::io;
use std::process::ExitCode;

use ccctl_loader::Error;

use crate::api::Fault;
use crate::output;

/// Exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or nothing to do.
    Done = 0,
    /// Something that should not happen.
    Unexpected = 1,
    /// Unknown name or parameter, bad value, wrong usage.
    Usage = 2,
    /// In use, or the name is taken.
    Refused = 3,
    /// The host lacks privileges, a file system or a kernel feature.
    Host = 4,
    /// The verifier refused the program.
    Program = 5,
    /// Some of it could not be done.
    Partly = 6,
    /// Another ccctl holds the lock.
    Locked = 7,
    /// Of the process that looks at object files: it has not looked.
    NotLooked = 70,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A request that is wrong before the kernel is asked.
#[derive(Debug)]
pub struct UsageError {
    cause: String,
    remedy: String,
}

impl UsageError {
    /// What is wrong, and what to type instead.
    pub fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.into(), remedy: remedy.into() }
    }
}

impl std::fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.cause)
    }
}

impl std::error::Error for UsageError {}

impl Exit {
    /// The code of this number.
    fn numbered(code: u8) -> Self {
        let all = [Self::Done, Self::Usage, Self::Refused, Self::Host, Self::Program, Self::Partly, Self::Locked];
        all.into_iter().find(|exit| *exit as u8 == code).unwrap_or(Self::Unexpected)
    }

    /// The code for an error.
    pub fn of(error: &anyhow::Error) -> Self {
        if let Some(fault) = error.downcast_ref::<Fault>() {
            return Self::numbered(fault.exit);
        }
        if error.is::<UsageError>() {
            return Self::Usage;
        }
        if let Some(error) = error.downcast_ref::<ccctl_telemetry::Error>() {
            return Self::of_telemetry(error);
        }
        match error.downcast_ref::<Error>() {
            Some(Error::Unknown { .. } | Error::BadName { .. } | Error::Parameter(_) | Error::Profile(_)) => {
                Self::Usage
            }
            Some(Error::Object { .. } | Error::Request { .. } | Error::Gone { .. }) => Self::Usage,
            Some(Error::Taken { .. } | Error::InUse { .. }) => Self::Refused,
            Some(Error::Host { .. } | Error::Unwritable { since: Some(_), .. }) => Self::Host,
            Some(Error::Refused { .. } | Error::MissingHook { .. } | Error::Unwritable { since: None, .. }) => {
                Self::Program
            }
            Some(Error::Locked { .. }) => Self::Locked,
            Some(Error::Partly { .. }) => Self::Partly,
            Some(Error::Kernel { answer, .. }) if is_wrong_path(answer.kind()) => Self::Usage,
            _ => Self::Unexpected,
        }
    }

    fn of_telemetry(error: &ccctl_telemetry::Error) -> Self {
        use ccctl_telemetry::Error as Clock;
        match error {
            Clock::Interface { .. } => Self::Usage,
            Clock::NoPlace { .. }
            | Clock::Privileges { .. }
            | Clock::Kernel(_)
            | Clock::File(ccctl_runfiles::Error::Unsafe { .. }) => Self::Host,
            Clock::Program { .. } => Self::Program,
            Clock::File(ccctl_runfiles::Error::Held { .. }) => Self::Locked,
            _ => Self::Unexpected,
        }
    }
}

/// The user named a file that is not there, or is no file.
fn is_wrong_path(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory)
}

/// The error on one line.
pub fn cause(error: &anyhow::Error) -> String {
    format!("{error:#}").lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// What to try.
pub fn remedy(error: &anyhow::Error) -> Option<String> {
    if let Some(usage) = error.downcast_ref::<UsageError>() {
        return Some(usage.remedy.clone());
    }
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return fault.remedy.clone();
    }
    if let Some(clock) = error.downcast_ref::<ccctl_telemetry::Error>() {
        return clock.remedy();
    }
    if let Some(error) = error.downcast_ref::<Error>() {
        return error.remedy();
    }
    let answer = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    answer.and_then(ccctl_runfiles::remedy_of)
}

/// Did the reader of our output go away?
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let json = error.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
    io.or(json) == Some(io::ErrorKind::BrokenPipe)
}

/// Help and version go to stdout; a wrong command line gets one line and the usage of the command.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing can be said where stdout is closed.
        let _ = error.print();
        return Exit::Done.into();
    }
    let text = error.to_string();
    let after = |head: &str| text.lines().find_map(|line| line.trim().strip_prefix(head)).map(str::trim);
    let remedy = after("tip:").or_else(|| after("Usage:")).unwrap_or("ccctl --help");
    output::failure(&cause_of_usage(error), Some(remedy));
    Exit::Usage.into()
}

/// What is wrong with a command line, in one line: clap's first, and the arguments that it names below.
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
