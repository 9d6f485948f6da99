// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl lab`: the program `ccctl-lab`, if it is installed. It also makes PNG and PDF of figures: what that needs (0.8 MB of
//! fonts, a reader of SVG, two encoders) has no place in a program that runs as root and draws seldom.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use ccctl_console::{Exit, Fault};

use crate::arguments::Lab as Arguments;

const PROGRAM: &str = "ccctl-lab";
const REMEDY: &str =
    "put ccctl-lab into the folder of ccctl or into PATH; cargo build --release -p ccctl-lab builds it";

/// Becomes the one beside this program's file, or else the first in `PATH`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Infallible> {
    let error = first_found(|path| Err::<Infallible, _>(become_program(path, &arguments.arguments)));
    match error {
        Ok(never) => match never {},
        Err(error) => Err(fault(&error, "", "").into()),
    }
}

/// Is there one? `why` and `or` are for the message: for what it is needed, and what else could be done.
pub fn require(why: &str, or: &str) -> anyhow::Result<()> {
    let quiet =
        |path: &OsString| Command::new(path).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    first_found(quiet).map(drop).map_err(|error| fault(&error, why, or).into())
}

/// Runs it without a word on the terminal; what it complains of becomes the error.
pub fn run_quietly(words: &[&str], why: &str) -> anyhow::Result<()> {
    let run = |path: &OsString| Command::new(path).args(words).stdin(Stdio::null()).output();
    let output = first_found(run).map_err(|error| fault(&error, why, ""))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Fault::new(Exit::Unexpected, format!("{PROGRAM}, which is needed {why}: {said}"), REMEDY).into())
}

/// A figure in another format.
pub fn convert(svg: Vec<u8>, format: &str) -> anyhow::Result<Vec<u8>> {
    let start = |path: &OsString| {
        let mut command = Command::new(path);
        command.args(["convert", "-", "--to", format]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let mut child: Child = first_found(start).map_err(|error| fault(&error, "to convert a figure", ""))?;
    let mut stdin = child.stdin.take();
    // It may say what is wrong before it has read all.
    let writer = thread::spawn(move || stdin.as_mut().map(|stdin| stdin.write_all(&svg)));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let remedy = format!("a name that ends in .svg, or a {PROGRAM} of this version");
    Err(Fault::new(Exit::Unexpected, format!("{PROGRAM} cannot make .{format} of the figure: {said}"), remedy).into())
}

/// Tries the one beside this program's file, then the first in `PATH`.
fn first_found<T>(mut act: impl FnMut(&OsString) -> io::Result<T>) -> io::Result<T> {
    let paths = neighbour().into_iter().chain([PathBuf::from(PROGRAM)]);
    let mut result = Err(io::Error::from(ErrorKind::NotFound));
    for path in paths {
        result = act(&path.into_os_string());
        if !result.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            break;
        }
    }
    result
}

fn fault(error: &io::Error, why: &str, or: &str) -> Fault {
    let why = if why.is_empty() { String::new() } else { format!(", which is needed {why}") };
    let cause = match error.kind() {
        ErrorKind::NotFound => format!("the program {PROGRAM} is not installed{why}"),
        _ => format!("cannot start {PROGRAM}{why}: {error}"),
    };
    let remedy = if or.is_empty() { REMEDY.to_owned() } else { format!("{REMEDY}; {or}") };
    Fault::new(Exit::Host, cause, remedy)
}

fn neighbour() -> Option<PathBuf> {
    Some(env::current_exe().ok()?.with_file_name(PROGRAM))
}

/// Gives why it could not.
fn become_program(path: &OsString, arguments: &[OsString]) -> io::Error {
    Command::new(path).args(arguments).exec()
}
