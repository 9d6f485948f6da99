// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl migrate`

use ccctl_console::{output, Exit};

use crate::arguments::Asked;
use ccctl_core::operations::{Migrate, Migrated};

use crate::client;

/// More failures than this are counted, not listed, for people; JSON has all.
const LISTED_FAILURES: usize = 10;

pub fn run(arguments: &Asked<Migrate>) -> anyhow::Result<Exit> {
    let filter = arguments.request.filter.with_process();
    let migrated = client::ask(&Migrate { filter, ..arguments.request.clone() })?;
    if arguments.output.json {
        output::json(&migrated)?;
    } else {
        print(&migrated)?;
    }
    let is_done = migrated.failed.is_empty() && migrated.is_settled;
    Ok(if is_done { Exit::Done } else { Exit::Partial })
}

fn print(migrated: &Migrated) -> anyhow::Result<()> {
    for one in &migrated.namespaces {
        let sockets = sockets_of(one.found, migrated);
        let (number, done) = if migrated.dry_run { (one.found, "would be moved") } else { (one.moved, "moved") };
        output::line(&format!("{}: {sockets}, {number} {done}", one.namespace))?;
    }
    output::line(&summary(migrated))?;
    if migrated.already > 0 && !migrated.dry_run {
        output::line(&format!("{} already used that program", migrated.already))?;
    }
    if !migrated.is_settled {
        output::line(&format!(
            "the last of {} passes still found sockets to move: new ones appear faster than they are moved",
            migrated.passes
        ))?;
    } else if migrated.moved > 0 {
        output::line(&format!("{} passes; the last one found nothing to move", migrated.passes))?;
    }
    for failure in migrated.failed.iter().take(LISTED_FAILURES) {
        output::line(&format!("not moved: {}: {}", failure.socket, failure.reason))?;
    }
    if migrated.failed.len() > LISTED_FAILURES {
        output::line(&format!("and {} more that were not moved", migrated.failed.len() - LISTED_FAILURES))?;
    }
    for reason in &migrated.unreadable {
        output::line(&format!("not examined: {reason}"))?;
    }
    Ok(())
}

fn sockets_of(found: usize, migrated: &Migrated) -> String {
    let sockets = output::count(found, "socket");
    migrated.congestion_control_before.as_ref().map_or(sockets.clone(), |from| format!("{sockets} of {from}"))
}

fn summary(migrated: &Migrated) -> String {
    let (found, to) = (migrated.found, &migrated.congestion_control);
    let sockets = output::count(found, "socket");
    match (&migrated.congestion_control_before, migrated.dry_run) {
        (Some(from), _) if found == 0 => format!("no socket uses {from}"),
        (None, _) if found == 0 => "no such socket".to_owned(),
        (Some(from), true) => format!("{sockets} would move from {from} to {to}"),
        (Some(from), false) => format!("moved {} of {sockets} from {from} to {to}", migrated.moved),
        (None, true) => format!("{sockets} would move to {to}"),
        (None, false) => format!("moved {} of {sockets} to {to}", migrated.moved),
    }
}
