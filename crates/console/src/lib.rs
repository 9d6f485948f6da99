// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the programs speak: exit codes and errors, tables, JSON, printable text, and options that they share.
//!
//! It knows none of the other crates. What an error of a library means for a program, the program tells: see [`Ending`].

pub mod arguments;
mod ending;
mod exit;
mod fault;
mod limits;
pub mod manual;
pub mod output;
pub mod schema;
mod stop;

/// Exit codes for the end of `--help`.
pub const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 unexpected failure, 2 wrong name, parameter or usage, 3 refused (in use, \
name taken, a file that others can write), or status: no daemon runs, or canary: it did not pass, 4 not supported on this host (privileges, bpffs, kernel), 5 the kernel \
refused the program, 6 partially completed, or status and apply --dry-run: the host differs from the file, or lab test: a check failed, 7 another ccctl is running, or the daemon is busy.";

pub use ending::{cause, cause_of_usage, is_broken_pipe, usage, Ending, Failure};
pub use exit::Exit;
pub use fault::{Fault, UsageError};
pub use limits::raise_file_limit;
pub use stop::Stop;
