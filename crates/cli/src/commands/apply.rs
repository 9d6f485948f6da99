// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl apply`

use ccctl_console::{output, Exit, UsageError};

use crate::arguments::Apply;
use ccctl_core::operations::{self, Applied};

use crate::client;
use ccctl_core::configuration;
use ccctl_core::trust::{Trust, Unread};

pub fn run(arguments: &Apply) -> anyhow::Result<Exit> {
    let path = std::path::absolute(&arguments.file)?;
    let file = path.display().to_string();
    let text =
        configuration::read(&path, Trust::of_option(arguments.trust_writable)).map_err(|unread| match unread {
            Unread::Failed(error) => {
                UsageError::new(format!("read {file}: {error}"), "docs/guide/daemon.md describes the file").into()
            }
            Unread::Refused(fault) => anyhow::Error::from(fault),
        })?;
    let (dry_run, trust_writable) = (arguments.dry_run, arguments.trust_writable);
    let applied = client::ask(&operations::Apply { file, text, dry_run, trust_writable })?;
    if arguments.output.json {
        output::json(&applied)?;
    } else {
        print(&applied)?;
    }
    let failed = applied.steps.iter().any(|step| step.error.is_some());
    let differs = applied.dry_run && !applied.steps.is_empty();
    Ok(if failed || differs { Exit::Partial } else { Exit::Done })
}

fn print(applied: &Applied) -> anyhow::Result<()> {
    for step in &applied.steps {
        match &step.error {
            None => output::line(&step.to_string())?,
            Some(error) => {
                output::line(&step.to_string())?;
                output::line(&format!("  not done: {error}"))?;
                if let Some(remedy) = &error.remedy {
                    output::line(&format!("  try: {remedy}"))?;
                }
            }
        }
    }
    let steps = output::count(applied.steps.len(), "step");
    match (applied.steps.is_empty(), applied.dry_run, applied.kept_by) {
        (true, _, None) => output::line("the host matches the file"),
        (false, true, _) => output::line(&format!("{steps} to do; nothing was changed")),
        (true, true, Some(_)) => output::line("the host matches the file; nothing to do"),
        (_, false, Some(pid)) => output::line(&format!("the daemon (pid {pid}) keeps it that way")),
        (false, false, None) => Ok(()),
    }
}
