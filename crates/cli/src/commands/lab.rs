// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl lab`: the program `ccctl-lab`, if it is installed.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use ccctl_console::{Exit, Fault};

use crate::arguments::Lab as Arguments;

const PROGRAM: &str = "ccctl-lab";
const REMEDY: &str = "put ccctl-lab into the folder of ccctl or into PATH; cargo build --release -p ccctl-lab makes it";

/// Becomes the one beside this program's file, or else the first in `PATH`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Infallible> {
    let paths = neighbour().into_iter().chain([PathBuf::from(PROGRAM)]);
    let mut error = io::Error::from(ErrorKind::NotFound);
    for path in paths {
        error = become_program(&path.into_os_string(), &arguments.arguments);
        if error.kind() != ErrorKind::NotFound {
            break;
        }
    }
    let cause = match error.kind() {
        ErrorKind::NotFound => format!("the program {PROGRAM} is not installed"),
        _ => format!("cannot start {PROGRAM}: {error}"),
    };
    Err(Fault::new(Exit::Host, cause, REMEDY).into())
}

fn neighbour() -> Option<PathBuf> {
    Some(env::current_exe().ok()?.with_file_name(PROGRAM))
}

/// Gives why it could not.
fn become_program(path: &OsString, arguments: &[OsString]) -> io::Error {
    Command::new(path).args(arguments).exec()
}
