// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guest's side: the first and only process of an emulated machine. It loads the object, says on the console what the
//! verifier did, and ends, which ends the machine.

use std::fs::{self, File};
use std::io::Write as _;

use ccctl_console::{Exit, Fault};
use ccctl_core::error::fault;
use ccctl_core::operations::CheckedProgram;
use ccctl_loader::{Error, Program};
use nix::mount::{mount, MsFlags};
use nix::sys::utsname::uname;

use super::Verdict;

/// The command, which is not for people.
pub const COMMAND: &str = "verify-in-guest";
/// Where this program is in the guest.
pub const PROGRAM: &str = "/ccctl";
/// Where the object is.
pub const OBJECT: &str = "/object.o";
/// What is mounted on.
pub const FOLDERS: [&str; 3] = ["/dev", "/proc", "/sys"];
/// What the line of the answer begins with: the kernel writes to the console, too.
pub const ANSWER: &str = "ccctl-answer: ";

/// Answers, where this is the first process.
pub fn run() -> anyhow::Result<Exit> {
    anyhow::ensure!(std::process::id() == 1, "{COMMAND} is for the guests of ccctl verify");
    for (kind, place) in [("devtmpfs", "/dev"), ("proc", "/proc"), ("sysfs", "/sys")] {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)?;
    }
    ccctl_loader::keep_no_verifier_logs();
    let answer = serde_json::to_string(&verdict())?;
    let mut console = File::options().write(true).open("/dev/console")?;
    writeln!(console, "\n{ANSWER}{answer}")?;
    console.flush()?;
    Ok(Exit::Done)
}

fn verdict() -> Verdict {
    let release = uname().ok().map(|name| name.release().to_string_lossy().into_owned());
    let verified = fs::read(OBJECT).map_err(anyhow::Error::from).and_then(|object| {
        let program = Program::of_object("the object", object)?;
        CheckedProgram::all_of(&program)
    });
    let kernel = String::new(); // who asks knows it
    match verified {
        Ok(verified) => Verdict { kernel, release, accepted: true, verified, error: None },
        Err(error) => Verdict { release, ..Verdict::missing("", without_log(&error)) },
    }
}

/// The log of a guest is gone with it.
fn without_log(error: &anyhow::Error) -> Fault {
    let whole = fault(error);
    let cause = match error.downcast_ref::<Error>() {
        Some(Error::Refused { cause, .. }) => cause.clone(),
        Some(Error::Unwritable { field, .. }) => format!("it writes {field}, which BPF programs may not write there"),
        _ => whole.cause.clone(),
    };
    Fault { cause, ..whole }
}
