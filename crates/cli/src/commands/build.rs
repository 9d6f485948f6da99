// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl build`: the host's clang, the headers that ccctl brings along, and the kernel's opinion.

use std::fs;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use ccctl_catalog::kernel::ICSK_CA_PRIV_SIZE;
use ccctl_catalog::{CompileError, Target, SOURCE_ENDING};
use ccctl_console::{output, Exit, Fault, Stop, UsageError};
use ccctl_core::error::ending;
use ccctl_core::operations::CheckedProgram;
use ccctl_core::request::program_of;
use ccctl_core::settings::ShownParameter;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use schemars::JsonSchema;
use serde::Serialize;
use tempfile::NamedTempFile;

use super::check::print_verified;
use crate::arguments::Build;

/// How often `--watch` looks at the file.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What was built.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Algorithm, as `ccctl algorithms` lists it: here the one in the file.
    algorithm: String,
    /// The object file.
    file: String,
    /// Parameters, in the order of their declaration.
    parameters: Vec<ShownParameter>,
    /// Size of the state in each socket.
    algorithm_state_bytes: usize,
    /// Was the kernel asked? That takes root.
    is_verified: bool,
    /// What the verifier examined, by hook.
    verified: Vec<CheckedProgram>,
}

pub fn run(arguments: &Build) -> anyhow::Result<Exit> {
    if !arguments.watch {
        build(arguments)?;
        return Ok(Exit::Done);
    }
    let stop = Stop::listen()?;
    let mut built = modified(&arguments.file).map(|_| None)?;
    loop {
        let saved = modified(&arguments.file).ok(); // an editor may put another file in its place
        if saved.is_some() && built != saved {
            if let Err(error) = build(arguments) {
                output::failure("ccctl", &ccctl_console::cause(&error), ending(&error).remedy.as_deref());
            }
            built = saved;
        }
        let mut waiting = [PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
        poll(&mut waiting, PollTimeout::try_from(LOOK_EVERY)?)?;
        if stop.is_wanted()? {
            return Ok(Exit::Done);
        }
    }
}

fn modified(file: &Path) -> anyhow::Result<SystemTime> {
    let read = fs::metadata(file).and_then(|metadata| metadata.modified());
    read.map_err(|error| {
        UsageError::new(format!("read {}: {error}", file.display()), "ccctl new NAME writes a file to begin with")
            .into()
    })
}

fn build(arguments: &Build) -> anyhow::Result<()> {
    let path = arguments.file.to_string_lossy();
    let Some(stem) = path.strip_suffix(SOURCE_ENDING) else {
        return Err(UsageError::new(
            format!("{path} is no C file of an algorithm"),
            format!("its name ends in {SOURCE_ENDING}"),
        )
        .into());
    };
    modified(&arguments.file)?;
    let object = compile(&arguments.file)?;
    let destination = arguments.object.clone().unwrap_or_else(|| PathBuf::from(format!("{stem}.bpf.o")));
    let program = program_of(&path, object.clone())?;
    let is_verified = nix::unistd::geteuid().is_root();
    let verified = if is_verified { CheckedProgram::all_of(&program)? } else { Vec::new() };
    write(&destination, &object)?;
    let answer = Answer {
        algorithm: program.algorithm.clone(),
        file: destination.display().to_string(),
        parameters: program.layout.parameters.iter().map(ShownParameter::declared).collect(),
        algorithm_state_bytes: program.layout.state_bytes,
        is_verified,
        verified,
    };
    if arguments.output.json {
        output::json(&answer)
    } else {
        print(answer)
    }
}

/// The object that clang makes of the file. What clang says is on stderr.
fn compile(file: &Path) -> anyhow::Result<Vec<u8>> {
    ccctl_catalog::compile(file, Target::Bpf).map_err(|error| {
        let exit = if matches!(error, CompileError::Refused { .. }) { Exit::Program } else { Exit::Host };
        Fault::new(exit, error.to_string(), error.remedy()).into()
    })
}

/// In one piece, and never through a link that somebody else has put there.
fn write(destination: &Path, object: &[u8]) -> anyhow::Result<()> {
    let above = destination.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = || format!("write {}", destination.display());
    let mut file = NamedTempFile::new_in(above).with_context(failed)?;
    file.write_all(object).with_context(failed)?;
    file.persist(destination).map_err(|error| error.error).with_context(failed)?;
    Ok(())
}

fn print(answer: Answer) -> anyhow::Result<()> {
    output::line(&format!("built {}: {}", answer.file, answer.algorithm))?;
    let parameters = output::count(answer.parameters.len(), "parameter");
    let state_bytes = answer.algorithm_state_bytes;
    output::line(&format!("{parameters}, {state_bytes} of {ICSK_CA_PRIV_SIZE} bytes of state per socket"))?;
    if !answer.is_verified {
        return output::line("the kernel was not asked: that takes root (sudo ccctl build ...)");
    }
    output::line("the kernel accepts it")?;
    print_verified(answer.verified)
}
