// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl events`

use std::time::{Duration, Instant};

use ccctl_console::output::{self, Tone};
use ccctl_console::{Exit, Fault};
use ccctl_core::daemon::{Event, EventKind};

use crate::arguments::Events;
use crate::client::{self, Client, DaemonState};

/// Between two tries to reach a daemon that has ended: it may be restarted.
const PAUSE: Duration = Duration::from_millis(500);
/// How long one waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(arguments: &Events) -> anyhow::Result<Exit> {
    let mut client = connect()?;
    let mut known = Vec::new();
    client.events(0, false, &mut |event| {
        known.push(event);
        Ok(())
    })?;
    let mut last = known.last().map_or(0, |event| event.number);
    let first = known.len().saturating_sub(arguments.last);
    known[first..].iter().try_for_each(|event| print(event, arguments.output.json))?;
    if arguments.once {
        return Ok(Exit::Done);
    }
    loop {
        client.events(last, true, &mut |event| {
            last = event.number;
            print(&event, arguments.output.json)
        })?;
        client = connect_again()?;
    }
}

fn connect() -> anyhow::Result<Client> {
    match client::connect() {
        DaemonState::Daemon(client) => Ok(client),
        DaemonState::None => {
            let remedy = "systemctl start ccctl, or ccctl daemon: it writes the events down";
            Err(Fault::new(Exit::Refused, "no daemon runs here that this user may ask", remedy).into())
        }
        DaemonState::Busy(fault) => Err(fault.into()),
        DaemonState::Unusable(cause) => Err(Fault::new(Exit::Refused, cause, "ccctl status").into()),
    }
}

/// A daemon that was restarted, or the same, whose streams end now and then.
fn connect_again() -> anyhow::Result<Client> {
    let since = Instant::now();
    loop {
        match connect() {
            Err(_) if since.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

fn print(event: &Event, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return output::json_line(event);
    }
    let Event { at, kind, .. } = event;
    output::toned_line(&format!("{at}  {:<10}  ", kind.word()), tone(*kind), &event.sentence())
}

fn tone(kind: EventKind) -> Tone {
    match kind {
        EventKind::Disabled | EventKind::Failed => Tone::Bad,
        EventKind::Guard | EventKind::Corrected => Tone::Warning,
        _ => Tone::Good,
    }
}
