// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl trace`: what chosen sockets do over time, as rows of a table.
//!
//! Not an operation of the API: it lasts as long as it is asked to, and runs in the process that asks. The loader
//! finds sockets and samples them; telemetry tells of their events; here the two become one series.

mod columns;
mod sample;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use ccctl_loader::{OwnersReader, SocketFollower};
use ccctl_series::Table;
use ccctl_telemetry::{monotonic_now, Softnet, Trace, TraceKind, TraceSettings};
use nix::time::{clock_gettime, ClockId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sockets::LookUp;
use super::{Socket, SocketFilter};
use columns::{seconds_between, Columns};
use sample::{Event, Sample};

pub use columns::{fixed_columns, Row, HOST};

/// Between two looks at the ring, where every ACK goes through it and where only losses do.
const LOOK_EACH_ACK: Duration = Duration::from_millis(5);
const LOOK: Duration = Duration::from_millis(20);
/// Sockets are looked for when a connection was opened, at the cost of one part in so many of a processor.
const FIND_SHARE: u32 = 20;
const FIND_MIN: Duration = Duration::from_millis(20);
/// A socket may also begin to match by being moved, or handed to another process.
const FIND_MAX: Duration = Duration::from_secs(1);

/// What to trace, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which sockets.
    pub filter: SocketFilter,
    /// A row so often; None: a row for each ACK.
    pub every: Option<Duration>,
    /// Rows of the host's backlogs.
    pub backlog: bool,
    /// Size of the ring.
    pub ring_bytes: Option<u32>,
}

/// How a trace went.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How long.
    pub elapsed_s: f64,
    /// Sockets that have rows.
    pub socket_count: u64,
    /// Rows, those of the host included.
    pub rows: u64,
    /// Events that the kernel dropped for lack of buffer space: these rows are missing.
    pub lost_events: u64,
    /// Intervals without rows, because the machine was late.
    pub skipped_intervals: u64,
    /// The file.
    pub file: Option<String>,
    /// The picture.
    pub plot: Option<String>,
    /// Network namespaces that could not be read, and why.
    pub unreadable: Vec<String>,
}

/// A trace that runs. Dropped, it is gone from the kernel.
pub struct Tracer {
    settings: Settings,
    follower: SocketFollower,
    owners: OwnersReader,
    trace: Trace,
    look_up: LookUp,
    sockets: HashMap<u64, Socket>,
    columns: Columns,
    softnet: Vec<Softnet>,
    started: Duration,
    finding: Finding,
    summary: Summary,
}

/// When sockets were looked for.
struct Finding {
    opened: u64,
    at: Instant,
    took: Duration,
}

impl Finding {
    /// Is it time again?
    fn is_due(&self, opened: u64) -> bool {
        let rest = FIND_MIN.max(self.took * FIND_SHARE);
        let since = self.at.elapsed();
        since >= rest && (opened != self.opened || since >= FIND_MAX)
    }
}

/// Tells when an interval is over.
struct Timer {
    every: Duration,
    due: Instant,
    skipped: u64,
}

impl Timer {
    /// Intervals that are over meanwhile have no turn of their own: they are counted.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        if now < self.due {
            return false;
        }
        let over = (now - self.due).as_nanos() / self.every.as_nanos().max(1);
        self.skipped += over as u64;
        self.due += self.every * (over as u32 + 1);
        true
    }
}

impl Tracer {
    /// Finds the sockets that there are and settles the columns.
    pub fn start(settings: Settings) -> anyhow::Result<Self> {
        let filter = settings.filter.resolve()?;
        settings.filter.require_known_names()?;
        let trace = Trace::start(&TraceSettings {
            each_ack: settings.every.is_none(),
            port: filter.port.or(filter.destination_port).or(filter.source_port),
            ring_bytes: settings.ring_bytes.unwrap_or(TraceSettings::default().ring_bytes),
        })?;
        let follower = SocketFollower::new(&filter)?;
        let mut tracer = Self {
            follower,
            owners: OwnersReader::load()?,
            trace,
            look_up: LookUp::new(None, false),
            sockets: HashMap::new(),
            columns: Columns::settle(&[], settings.backlog)?,
            softnet: if settings.backlog { Softnet::read()? } else { Vec::new() },
            started: monotonic_now()?,
            finding: Finding { opened: 0, at: Instant::now(), took: Duration::ZERO },
            summary: Summary::default(),
            settings,
        };
        tracer.find()?;
        tracer.columns = Columns::settle(&tracer.sockets.values().collect::<Vec<_>>(), tracer.settings.backlog)?;
        Ok(tracer)
    }

    /// The columns without rows, and what is known of all rows.
    pub fn header(&mut self) -> &mut Table {
        self.columns.header()
    }

    /// Sockets that are traced now.
    pub fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Gives rows to `push`, until the time is over, somebody wants it to end, or the one socket that was asked for by its
    /// cookie has closed.
    pub fn run(
        &mut self,
        time: Option<Duration>,
        mut is_stopped: impl FnMut() -> anyhow::Result<bool>,
        mut push: impl FnMut(Row) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let look = if self.settings.every.is_some() { LOOK } else { LOOK_EACH_ACK };
        let begun = Instant::now();
        let mut timer = Timer { every: self.settings.every.unwrap_or(look), due: begun, skipped: 0 };
        while !is_stopped()? && time.is_none_or(|time| begun.elapsed() < time) && !self.is_over() {
            let is_due = timer.is_due();
            self.look(is_due, &mut push)?;
            let end = time.map_or(timer.due, |time| timer.due.min(begun + time));
            std::thread::sleep(end.saturating_duration_since(Instant::now()).min(look));
        }
        if self.settings.every.is_some() {
            self.summary.skipped_intervals += timer.skipped;
        }
        self.look(false, &mut push)
    }

    /// The socket of the cookie has closed, and no other will have it.
    fn is_over(&self) -> bool {
        self.settings.filter.cookie.is_some() && self.sockets.is_empty() && self.summary.socket_count > 0
    }

    /// Looks once at everything; at the sockets themselves when a row is due.
    fn look(&mut self, is_due: bool, push: &mut impl FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let has_looked_for = self.finding.is_due(self.trace.opened()?);
        if has_looked_for {
            self.find()?;
        }
        let mut samples = Vec::new();
        let wants_samples = is_due && self.settings.every.is_some();
        if wants_samples || has_looked_for {
            self.follower.sample(|look| samples.extend(Sample::of_look(look)))?;
        }
        let alive: Option<HashSet<u64>> = has_looked_for.then(|| samples.iter().map(|sample| sample.cookie).collect());
        if !wants_samples {
            samples.clear();
        }
        self.trace.each(|record| {
            samples.extend(Sample::of_event(record));
            Ok::<(), anyhow::Error>(())
        })?;
        samples.sort_by_key(|sample| sample.time);
        for sample in samples {
            self.push_sample(&sample, push)?;
        }
        if let Some(alive) = alive {
            self.sockets.retain(|cookie, _| alive.contains(cookie)); // it closed before it was chosen
        }
        if is_due && self.settings.backlog {
            self.push_host(push)
        } else {
            Ok(())
        }
    }

    fn push_host(&mut self, push: &mut impl FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let since_start = seconds_between(self.started, monotonic_now()?);
        if let Some(row) = self.columns.host_row(&Softnet::read()?, &self.softnet, since_start) {
            self.summary.rows += 1;
            push(row)?;
        }
        Ok(())
    }

    fn push_sample(&mut self, sample: &Sample, push: &mut impl FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> {
        // Of a socket that has closed the kernel may show the rest.
        let Some(socket) = self.sockets.get(&sample.cookie) else { return Ok(()) };
        let row = self.columns.row(sample, socket, seconds_between(self.started, sample.time))?;
        if sample.event == Event::Of(TraceKind::Closed) {
            self.sockets.remove(&sample.cookie);
        }
        self.summary.rows += 1;
        push(row)
    }

    /// Looks for sockets that match, and chooses the new ones.
    fn find(&mut self) -> anyhow::Result<()> {
        let begun = cpu_time()?;
        let opened = self.trace.opened()?;
        let mut found = Vec::new();
        self.follower.find(|namespace, record| found.push((namespace.to_owned(), record.clone())))?;
        if !found.is_empty() {
            self.look_up.set_owners(Some(self.owners.read()?));
        }
        for (namespace, record) in &found {
            self.trace.choose(record.cookie())?;
            let socket = self.look_up.describe(namespace, record)?;
            self.sockets.insert(record.cookie(), socket);
            self.summary.socket_count += 1;
        }
        self.finding = Finding { opened, at: Instant::now(), took: cpu_time()?.saturating_sub(begun) };
        Ok(())
    }

    /// How it went so far.
    pub fn summary(&self) -> anyhow::Result<Summary> {
        Ok(Summary {
            elapsed_s: seconds_between(self.started, monotonic_now()?),
            lost_events: self.trace.lost()?,
            unreadable: self.follower.unreadable().to_vec(),
            ..self.summary.clone()
        })
    }
}

/// Of this process so far: on a busy machine a look takes long and costs no more.
fn cpu_time() -> anyhow::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_were_slept_through_are_counted() {
        let every = Duration::from_secs(3600);
        let now = Instant::now();
        let mut timer = Timer { every, due: now, skipped: 0 };
        assert!(timer.is_due() && !timer.is_due());
        assert_eq!((timer.due, timer.skipped), (now + every, 0));
        let Some(before) = now.checked_sub(Duration::from_secs(9)) else { return };
        let mut late = Timer { every: Duration::from_secs(4), due: before, skipped: 0 };
        assert!(late.is_due());
        assert_eq!((late.due, late.skipped), (before + Duration::from_secs(12), 2));
    }
}
