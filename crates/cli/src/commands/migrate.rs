//! `ccctl migrate`

use ccctl_loader::{migrate, Migration};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::arguments::Migrate;
use crate::engine::request;
use crate::exit::Exit;
use crate::output;

/// More failures than this are counted, not listed, for people; JSON has all.
const LISTED_FAILURES: usize = 10;

pub fn run(arguments: &Migrate) -> anyhow::Result<Exit> {
    let lock = request::lock()?;
    let bar =
        ProgressBar::new(0).with_style(ProgressStyle::with_template("{pos} of {len} network namespaces {wide_bar}")?);
    let migration =
        migrate(&lock, &arguments.from, &arguments.to, arguments.netns.as_deref(), arguments.dry_run, |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        })?;
    bar.finish_and_clear();
    if arguments.output.json {
        print_json(arguments, &migration)?;
    } else {
        print(arguments, &migration)?;
    }
    Ok(if migration.failed.is_empty() { Exit::Done } else { Exit::Partly })
}

fn print_json(arguments: &Migrate, migration: &Migration) -> anyhow::Result<()> {
    let mut value = json!(migration);
    value["from"] = json!(arguments.from);
    value["to"] = json!(arguments.to);
    value["dry_run"] = json!(arguments.dry_run);
    output::json(&value)
}

fn print(arguments: &Migrate, migration: &Migration) -> anyhow::Result<()> {
    let Migrate { from, to, .. } = arguments;
    for count in &migration.namespaces {
        let done = if arguments.dry_run { "would be moved" } else { "moved" };
        let number = if arguments.dry_run { count.found } else { count.moved };
        output::line(&format!(
            "{}: {} of {from}, {number} {done}",
            count.namespace,
            output::count(count.found, "socket")
        ))?;
    }
    let summary = match (arguments.dry_run, migration.found) {
        (_, 0) => format!("no socket uses {from}"),
        (true, found) => format!("{} would move from {from} to {to}", output::count(found, "socket")),
        (false, found) => {
            format!("moved {} of {} from {from} to {to}", migration.moved, output::count(found, "socket"))
        }
    };
    output::line(&summary)?;
    if migration.already > 0 && !arguments.dry_run {
        output::line(&format!("{} already used that program", migration.already))?;
    }
    for failure in migration.failed.iter().take(LISTED_FAILURES) {
        output::line(&format!("not moved: {}: {}", failure.socket, failure.reason))?;
    }
    if migration.failed.len() > LISTED_FAILURES {
        output::line(&format!("and {} more that were not moved", migration.failed.len() - LISTED_FAILURES))?;
    }
    for reason in &migration.unreadable {
        output::line(&format!("not looked at: {reason}"))?;
    }
    Ok(())
}
