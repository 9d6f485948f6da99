// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl trace`

mod sink;

use std::cell::RefCell;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use ccctl_console::arguments::words;
use ccctl_console::{output, Exit, Stop, UsageError};
use ccctl_series::Table;

use super::plot;
use crate::arguments::Trace as Arguments;
use ccctl_core::operations::plot::Choice;
use ccctl_core::operations::trace::{Settings, Summary, Tracer};
use sink::Sink;

/// Of the picture.
const WIDTH_PX: f64 = 800.0;

/// What was traced is in the file after so long, whatever happens then.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    check(arguments)?;
    let stop = Stop::listen()?;
    let mut tracer = Tracer::start(Settings {
        filter: arguments.filter.clone(),
        every: (!arguments.each_ack).then_some(arguments.every),
        backlog: arguments.backlog,
        ring_bytes: arguments.ring,
    })?;
    tell_facts(arguments, tracer.header());
    let sink = RefCell::new(Sink::open(arguments, tracer.header())?);
    if tracer.sockets() == 0 {
        note("no socket matches yet: waiting for one (Ctrl-C stops)");
    }
    let is_stopped = || {
        sink.borrow_mut().flush_in_time()?;
        stop.is_wanted()
    };
    let ended = tracer.run(arguments.time, is_stopped, |row| sink.borrow_mut().push(row));
    let mut summary = tracer.summary()?;
    drop(tracer); // out of the kernel before files are completed
    let table = sink.into_inner().finish(&summary)?;
    ended?;
    summary.file = arguments.output.as_deref().map(shown);
    if let Some(picture) = &arguments.plot {
        draw(arguments, table, &summary, picture)?;
        summary.plot = Some(shown(picture));
    }
    report(arguments, &summary)?;
    Ok(Exit::Done)
}

/// What can be wrong before anything is started.
fn check(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.json && arguments.output.is_none() && arguments.plot.is_none() {
        return Err(UsageError::new(
            "--json prints a summary to stdout, which has the rows",
            "add -o FILE, or leave --json out",
        )
        .into());
    }
    if arguments.ring.is_some_and(|bytes| !bytes.is_power_of_two() || bytes < 4096) {
        return Err(UsageError::new("the ring's size must be a power of two, 4096 or larger", "--ring 8388608").into());
    }
    if let Some(picture) = &arguments.plot {
        plot::check_picture(picture)?;
    }
    Ok(())
}

fn tell_facts(arguments: &Arguments, header: &mut Table) {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mode =
        if arguments.each_ack { "each ACK".to_owned() } else { format!("every {}", output::span(arguments.every)) };
    let facts = [
        ("command", format!("ccctl {}", words().join(" "))),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("kernel", kernel.trim().to_owned()),
        ("started", humantime::format_rfc3339_millis(SystemTime::now()).to_string()),
        ("rows", mode),
    ];
    header.facts.extend(facts.map(|(name, value)| (name.to_owned(), value)));
}

fn draw(arguments: &Arguments, table: Option<Table>, summary: &Summary, picture: &Path) -> anyhow::Result<()> {
    let table = match (table, &arguments.output) {
        (Some(table), _) => table,
        (None, Some(file)) => plot::read(file)?,
        (None, None) => return Ok(()),
    };
    if summary.socket_count == 0 {
        return Err(UsageError::new(
            "there is nothing to draw: no socket matched",
            "use other filters, or a longer --for",
        )
        .into());
    }
    let choice = Choice { fields: arguments.draw.clone(), backlog: arguments.backlog, ..Choice::default() };
    // As the rows of -o, the picture of a trace takes the place of an older one.
    let picture = plot::Picture { path: picture, width_px: WIDTH_PX, force: true };
    plot::draw(std::slice::from_ref(&table), &choice, &picture).map(drop)
}

fn report(arguments: &Arguments, summary: &Summary) -> anyhow::Result<()> {
    if summary.lost_events > 0 {
        // The rows are written: that the daemon cannot be told is no reason to end without the summary.
        if let Err(error) = ccctl_telemetry::lost_events::add(summary.lost_events) {
            note(&format!("the daemon's metrics will not include these: {error}"));
        }
        note(&format!(
            "{} events were dropped for lack of buffer space and are missing from the rows: trace fewer sockets, or use --every",
            summary.lost_events
        ));
    }
    summary.unreadable.iter().for_each(|reason| note(&format!("not examined: {reason}")));
    if arguments.json {
        return output::json(summary);
    }
    let mut text = format!(
        "{} traced for {:.1} s: {}, {} lost",
        output::count(summary.socket_count as usize, "socket"),
        summary.elapsed_s,
        output::count(summary.rows as usize, "row"),
        output::count(summary.lost_events as usize, "event"),
    );
    if summary.skipped_intervals > 0 {
        let skipped = output::count(summary.skipped_intervals as usize, "interval");
        text = format!("{text}, {skipped} skipped because the machine was late");
    }
    if arguments.output.is_none() && arguments.plot.is_none() {
        // Only for people: programs read the rows.
        if std::io::stderr().is_terminal() {
            note(&text);
        }
        return Ok(());
    }
    output::line(&text)?;
    [&summary.file, &summary.plot].into_iter().flatten().try_for_each(|file| output::line(file))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// On stderr; where that is closed there is nobody to tell.
fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "ccctl: {text}");
}
