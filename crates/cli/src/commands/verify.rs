// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl verify`

use std::path::Path;

use ccctl_console::{output, Exit, Fault, UsageError};
use ccctl_core::object_scan::MOST_OBJECT_BYTES;
use ccctl_core::trust::{self, Trust, Unread};
use schemars::JsonSchema;
use serde::Serialize;

use crate::arguments::Verify;
use crate::verify::{self, Verdict};

/// What the kernels say.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The object file.
    file: String,
    /// Each kernel's verdict, in the order in which they were named.
    verdicts: Vec<Verdict>,
}

pub fn run(arguments: &Verify) -> anyhow::Result<Exit> {
    let object = read(&arguments.file)?;
    verify::require_emulator()?;
    let mut verdicts = Vec::new();
    for kernel in &arguments.kernels {
        let verdict = verdict(kernel, &object)?;
        if !arguments.output.json {
            print(&verdict)?;
        }
        verdicts.push(verdict);
    }
    let exit = exit(&verdicts);
    if arguments.output.json {
        output::json(&Answer { file: arguments.file.display().to_string(), verdicts })?;
    }
    Ok(exit)
}

/// Nothing of the file runs on this host: whose it is does not matter.
fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    trust::read(file, MOST_OBJECT_BYTES, Trust::Writable).map_err(|unread| match unread {
        Unread::Failed(error) => {
            let remedy = "name an object file: ccctl build FILE.bpf.c writes one";
            UsageError::new(format!("read {}: {error}", file.display()), remedy).into()
        }
        Unread::Refused(fault) => fault.into(),
    })
}

fn verdict(kernel: &str, object: &[u8]) -> anyhow::Result<Verdict> {
    match verify::find(kernel) {
        Ok(image) => verify::ask(kernel, &image, object),
        Err(fault) => Ok(Verdict::missing(kernel, fault)),
    }
}

/// A refusal by a kernel counts more than a kernel that was not asked.
fn exit(verdicts: &[Verdict]) -> Exit {
    if verdicts.iter().any(|verdict| verdict.release.is_some() && !verdict.accepted) {
        return Exit::Program;
    }
    let fault = verdicts.iter().find_map(|verdict| verdict.error.as_ref());
    fault.map_or(Exit::Done, |fault| Exit::numbered(fault.exit))
}

fn print(verdict: &Verdict) -> anyhow::Result<()> {
    let kernel = match &verdict.release {
        Some(release) if *release != verdict.kernel => format!("{} ({release})", verdict.kernel),
        _ => verdict.kernel.clone(),
    };
    match &verdict.error {
        None => {
            let instructions: u64 =
                verdict.verified.iter().map(|program| u64::from(program.verified_instructions)).sum();
            let hooks = output::count(verdict.verified.len(), "hook");
            output::line(&format!("{kernel}: accepted, {instructions} instructions verified in {hooks}"))
        }
        Some(Fault { cause, remedy, .. }) => {
            let verb = if verdict.release.is_some() { "refused" } else { "not asked" };
            output::line(&format!("{kernel}: {verb}: {cause}"))?;
            remedy.as_ref().map_or(Ok(()), |remedy| output::line(&format!("  try: {remedy}")))
        }
    }
}
