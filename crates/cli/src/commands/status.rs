// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl status`. Its exit code says how the host is: as the file says (0), not so (6), or without a daemon (3, as that of
//! `systemctl status`).

use ccctl_console::output::{self, Tone};
use ccctl_console::Exit;

use ccctl_core::daemon::DaemonStatus;
use ccctl_core::operations;

use crate::arguments::Viewed;
use crate::client;
use ccctl_core::plan::Step;

pub fn run(arguments: &Viewed) -> anyhow::Result<Exit> {
    let status = client::ask(&operations::Status {})?;
    match &status.daemon {
        _ if arguments.output.json => output::json(&status)?,
        None => output::line("no daemon runs; what is in the kernel stays as it is (ccctl list)")?,
        Some(daemon) => print(daemon)?,
    }
    if !arguments.output.json {
        super::guard::print_tripped(&status.tripped)?;
    }
    Ok(match &status.daemon {
        None => Exit::Refused,
        Some(daemon) if daemon.error.is_some() || !daemon.problems.is_empty() || !status.tripped.is_empty() => {
            Exit::Partial
        }
        Some(_) => Exit::Done,
    })
}

fn print(daemon: &DaemonStatus) -> anyhow::Result<()> {
    let ago = |time: &Option<String>| match time {
        Some(time) => format!("{} ago", output::age(time)),
        None => "never".to_owned(),
    };
    for (row, text) in [
        ("daemon", format!("pid {}, ccctl {}, since {}", daemon.pid, daemon.version, output::age(&daemon.since))),
        ("file", daemon.file.clone()),
        ("in force", daemon.in_force.clone().unwrap_or_else(|| "none".to_owned())),
        ("compared", format!("{}; {} times since the start", ago(&daemon.compared_at), daemon.comparison_count)),
        ("changed", ago(&daemon.changed_at)),
    ] {
        output::line(&format!("{row:<10}{text}"))?;
    }
    print_steps(&daemon.changes)?;
    if let Some(error) = &daemon.error {
        let remedy = error.remedy.as_ref().map_or_else(String::new, |remedy| format!(" ({remedy})"));
        output::toned_line(&format!("{:<10}", "error"), Tone::Bad, &format!("{error}{remedy}"))?;
    }
    if !daemon.problems.is_empty() {
        output::toned_line("failed, will be retried:", Tone::Warning, "")?;
    }
    print_steps(&daemon.problems)
}

fn print_steps(steps: &[Step]) -> anyhow::Result<()> {
    for step in steps {
        let error = step.error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
        output::line(&format!("          {step}{error}"))?;
    }
    Ok(())
}
