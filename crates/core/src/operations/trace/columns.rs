// SPDX-License-Identifier: MIT OR Apache-2.0
//! The columns of a trace, and its rows.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context as _;
use ccctl_catalog::{Field, Layout};
use ccctl_loader::{Instance, ProgramLayouts, Transport};
use ccctl_series::columns::{self, Definition};
use ccctl_series::{Column, Table, Value, Values as ColumnValues};
use ccctl_telemetry::Softnet;

use super::sample::Sample;
use crate::operations::Socket;

/// The event of a row about the host.
pub const HOST: &str = "host";

/// Which socket, and why there is a row.
const IDENTITY: [Definition; 12] = [
    columns::TIME_S,
    columns::EVENT,
    columns::COOKIE,
    columns::SOURCE,
    columns::DESTINATION,
    columns::NAMESPACE,
    columns::PID,
    columns::COMMAND,
    columns::CONGESTION_CONTROL,
    columns::ALGORITHM,
    columns::CA_STATE,
    columns::SND_UNA,
];
/// How a column's value is read.
type Getter = fn(&Transport) -> Option<u64>;

/// What TCP knows of the connection.
const VALUES: [(Definition, Getter); 17] = [
    (columns::CWND_PKTS, |it| Some(it.cwnd_pkts.into())),
    (columns::SSTHRESH_PKTS, |it| it.ssthresh_pkts.map(u64::from)),
    (columns::SRTT_US, |it| it.srtt_us),
    (columns::RTTVAR_US, |it| it.rttvar_us),
    (columns::MIN_RTT_US, |it| it.min_rtt_us),
    (columns::IN_FLIGHT_PKTS, |it| Some(it.in_flight_pkts.into())),
    (columns::IN_FLIGHT_BYTES, |it| Some(it.in_flight_bytes.into())),
    (columns::DELIVERED_PKTS, |it| Some(it.delivered_pkts.into())),
    (columns::DELIVERED_CE_PKTS, |it| Some(it.delivered_ce_pkts.into())),
    (columns::LOST_PKTS, |it| Some(it.lost_pkts.into())),
    (columns::RETRANSMITS_PKTS, |it| Some(it.retransmits_pkts.into())),
    (columns::RETRANSMITS_IN_FLIGHT_PKTS, |it| Some(it.retransmits_in_flight_pkts.into())),
    (columns::RTO_BACKOFFS, |it| Some(it.rto_backoffs.into())),
    (columns::ACKED_BYTES, |it| Some(it.acked_bytes)),
    (columns::DELIVERY_RATE_BYTES_PER_S, |it| it.delivery_rate_bytes_per_s),
    (columns::PACING_RATE_BYTES_PER_S, |it| it.pacing_rate_bytes_per_s),
    (columns::MSS_BYTES, |it| Some(it.mss_bytes.into())),
];
/// The first one of [`IDENTITY`] that says what the socket runs on.
const ALGORITHM_AT: usize = 8;

/// A row: a value or nothing for each column.
pub type Row = Vec<Option<Value>>;

/// Where the state fields of a program go.
struct Decoder {
    algorithm: String,
    fields: Vec<(Field, Option<usize>)>,
}

/// The columns that each trace has, without rows; with the host's backlogs, if asked for.
pub fn fixed_columns(backlog: bool) -> anyhow::Result<Table> {
    let mut table = Table::default();
    let of_host = if backlog { columns::HOST } else { &[] };
    for definition in IDENTITY.iter().chain(VALUES.iter().map(|(definition, _)| definition)).chain(of_host) {
        add(&mut table, definition.empty())?;
    }
    Ok(table)
}

fn add(table: &mut Table, column: Column) -> anyhow::Result<()> {
    table.add(column).context("name the columns")
}

/// The columns of one trace. They are settled when it begins, since files name them first.
pub struct Columns {
    header: Table,
    state_at: HashMap<String, usize>,
    programs: ProgramLayouts,
    decoders: HashMap<u32, Option<Decoder>>,
    backlog_at: Option<usize>,
    other_at: usize,
}

impl Columns {
    /// Columns for the state of all instances that there are, and of the programs of these sockets.
    pub fn settle(sockets: &[&Socket], backlog: bool) -> anyhow::Result<Self> {
        let mut settled = Self {
            header: fixed_columns(backlog)?,
            state_at: HashMap::new(),
            programs: ProgramLayouts::default(),
            decoders: HashMap::new(),
            backlog_at: backlog.then_some(IDENTITY.len() + VALUES.len()),
            other_at: 0,
        };
        for instance in Instance::all()? {
            settled.add_state(&instance.layout)?;
        }
        for socket in sockets {
            let program = settled.programs.of(&socket.congestion_control, socket.map_id.unwrap_or_default())?;
            let layout = program.and_then(|program| program.contents.as_ref()).map(|(_, layout)| layout.clone());
            layout.map_or(Ok(()), |layout| settled.add_state(&layout))?;
        }
        settled.other_at = settled.header.columns().len();
        add(&mut settled.header, columns::OTHER_STATE.empty())?;
        Ok(settled)
    }

    /// Fields of one name, in several algorithms, share a column: the suffix is the unit in all of them.
    fn add_state(&mut self, layout: &Layout) -> anyhow::Result<()> {
        for field in &layout.state {
            if !self.state_at.contains_key(&field.name) {
                self.state_at.insert(field.name.clone(), self.header.columns().len());
                add(&mut self.header, columns::of_state(&field.name, ColumnValues::Integer(Vec::new())))?;
            }
        }
        Ok(())
    }

    /// The columns without rows, and what is known of all rows.
    pub fn header(&mut self) -> &mut Table {
        &mut self.header
    }

    /// The row of a sample.
    pub fn row(&mut self, sample: &Sample, socket: &Socket, since_start: f64) -> anyhow::Result<Row> {
        let mut row: Row = vec![None; self.header.columns().len()];
        let transport = Transport::of(&sample.stats);
        identity(&mut row, socket, sample, since_start);
        row[10] = Some(text(transport.ca_state.name()));
        for (at, (_, value)) in (IDENTITY.len()..).zip(&VALUES) {
            row[at] = value(&transport).and_then(whole);
        }
        self.state(sample, &mut row)?;
        Ok(row)
    }

    fn state(&mut self, sample: &Sample, row: &mut Row) -> anyhow::Result<()> {
        let other_at = self.other_at;
        let Some(decoder) = self.decoder(sample)? else { return Ok(()) };
        row[ALGORITHM_AT + 1] = Some(text(&decoder.algorithm));
        let mut others = Vec::new();
        for (field, at) in &decoder.fields {
            let Some(value) = field.value(&sample.stats.icsk_ca_priv) else { continue };
            match (at, i64::try_from(value)) {
                (Some(at), Ok(value)) => row[*at] = Some(Value::Integer(value)),
                _ => others.push(format!("{}={value}", field.name)), // no column, or it does not fit into one
            }
        }
        if !others.is_empty() {
            row[other_at] = Some(text(&others.join(" ")));
        }
        Ok(())
    }

    fn decoder(&mut self, sample: &Sample) -> anyhow::Result<Option<&Decoder>> {
        if !self.decoders.contains_key(&sample.map_id) {
            let program = self.programs.of(&sample.algorithm, sample.map_id)?;
            let contents = program.and_then(|program| program.contents.clone());
            let place = |field: Field| {
                let at = self.state_at.get(&field.name).copied();
                (field, at)
            };
            let decoder = contents.map(|(algorithm, layout)| Decoder {
                algorithm,
                fields: layout.state.into_iter().map(place).collect(),
            });
            self.decoders.insert(sample.map_id, decoder);
        }
        Ok(self.decoders.get(&sample.map_id).and_then(Option::as_ref))
    }

    /// The row of the host: all processors together.
    pub fn host_row(&self, now: &[Softnet], before: &[Softnet], since_start: f64) -> Option<Row> {
        let at = self.backlog_at?;
        let dropped = |of: &[Softnet]| of.iter().map(|softnet| softnet.dropped).sum::<u64>();
        let length: u64 = now.iter().filter_map(|softnet| softnet.backlog_pkts).sum();
        let mut row: Row = vec![None; self.header.columns().len()];
        row[0] = Some(Value::Float(since_start));
        row[1] = Some(text(HOST));
        row[at] = whole(length);
        row[at + 1] = whole(dropped(now).saturating_sub(dropped(before)));
        Some(row)
    }
}

/// Seconds from one moment to another, which may be earlier.
pub fn seconds_between(from: Duration, to: Duration) -> f64 {
    let ns = to.as_nanos() as i128 - from.as_nanos() as i128;
    ns as f64 / 1e9
}

fn identity(row: &mut Row, socket: &Socket, sample: &Sample, since_start: f64) {
    let owner = socket.owners.iter().flatten().next();
    row[0] = Some(Value::Float(since_start));
    row[1] = Some(text(sample.event.name()));
    row[2] = whole(sample.cookie);
    row[3] = Some(text(&socket.source));
    row[4] = Some(text(&socket.destination));
    row[5] = Some(text(&socket.namespace));
    row[6] = owner.and_then(|owner| whole(owner.pid.into()));
    row[7] = owner.map(|owner| text(&owner.command));
    row[ALGORITHM_AT] = Some(text(&sample.algorithm));
    row[11] = whole(sample.stats.snd_una.into());
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn whole(number: u64) -> Option<Value> {
    i64::try_from(number).ok().map(Value::Integer)
}
