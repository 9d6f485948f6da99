// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exit codes.

use std::process::ExitCode;

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
    Partial = 6,
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

impl Exit {
    /// The code of this number.
    #[must_use]
    pub fn numbered(code: u8) -> Self {
        let all = [Self::Done, Self::Usage, Self::Refused, Self::Host, Self::Program, Self::Partial, Self::Locked];
        all.into_iter().find(|exit| *exit as u8 == code).unwrap_or(Self::Unexpected)
    }
}
