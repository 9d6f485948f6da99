// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sockets of traces and flows of the laboratory, and which of them are drawn.

use std::collections::HashMap;

use ccctl_console::UsageError;
use ccctl_series::{columns, Table};
use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{integer, word};

/// Without a choice, a socket is drawn next to others if it has sent at least one part in so many of what the busiest of
/// its file has: the control connection of a measurement is none of its flows.
const SMALLEST_SHARE: i64 = 100;

/// A socket of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TracedSocket {
    /// From 1 on, in the order of the trace.
    pub socket_number: usize,
    /// Of the kernel; none for a flow of the laboratory.
    pub cookie: Option<i64>,
    /// The laboratory's scenario; none for a socket of a trace.
    pub scenario: Option<String>,
    /// Its endpoints; of a flow of the laboratory its scenario, grid point, group and number.
    pub connection: String,
    /// Kernel names of its algorithms, one after the other.
    pub congestion_controls: Vec<String>,
    /// The process that had it open when the trace met it.
    pub command: Option<String>,
    /// Rows of the trace.
    pub row_count: usize,
    /// At the end.
    pub acked_bytes: Option<i64>,
    /// At the end.
    pub retransmits_pkts: Option<i64>,
    /// Is it in the picture?
    pub is_drawn: bool,
    /// Number of the table that it is in.
    #[serde(skip)]
    pub table: usize,
}

/// All of them, in the order of the tables; none is drawn yet.
#[must_use]
pub fn traced_sockets(tables: &[Table]) -> Vec<TracedSocket> {
    let mut sockets: Vec<TracedSocket> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let found = if is_series(table) { vec![lab_flow(table)] } else { sockets_of(table) };
        let number = sockets.len() + 1;
        let numbered = |(place, it)| TracedSocket { socket_number: number + place, table: index, ..it };
        sockets.extend(found.into_iter().enumerate().map(numbered));
    }
    sockets
}

/// Is it the series of a flow that the laboratory has written, instead of a trace? It is about one flow, which the
/// metadata names.
pub fn is_series(table: &Table) -> bool {
    table.column(columns::COOKIE.name).is_none() && table.facts.contains_key(columns::ALGORITHM.name)
}

fn lab_flow(table: &Table) -> TracedSocket {
    let fact = |name: &str| table.facts.get(name).cloned();
    let flow = format!("flow {} {}", fact("group").unwrap_or_default(), fact("flow").unwrap_or_default());
    let place = fact("place").filter(|place| !place.is_empty()).map(|place| format!("({place})"));
    let words = [fact("scenario"), place, Some(flow)];
    let mut socket = TracedSocket {
        connection: words.into_iter().flatten().collect::<Vec<_>>().join(" "),
        congestion_controls: fact(columns::ALGORITHM.name).into_iter().collect(),
        scenario: Some(fact("scenario").unwrap_or_default()),
        ..TracedSocket::default()
    };
    (0..table.rows()).for_each(|row| follow(&mut socket, table, row));
    socket
}

fn sockets_of(table: &Table) -> Vec<TracedSocket> {
    let mut sockets: Vec<TracedSocket> = Vec::new();
    let mut places: HashMap<i64, usize> = HashMap::new();
    for row in 0..table.rows() {
        let Some(cookie) = integer(table, columns::COOKIE.name, row) else { continue };
        let place = *places.entry(cookie).or_insert_with(|| {
            sockets.push(first_seen(table, row, cookie));
            sockets.len() - 1
        });
        follow(&mut sockets[place], table, row);
    }
    sockets
}

fn first_seen(table: &Table, row: usize, cookie: i64) -> TracedSocket {
    let end = |name: &str| word(table, name, row).unwrap_or_default();
    TracedSocket {
        cookie: Some(cookie),
        connection: format!("{} -> {}", end(columns::SOURCE.name), end(columns::DESTINATION.name)),
        command: word(table, columns::COMMAND.name, row),
        ..TracedSocket::default()
    }
}

fn follow(socket: &mut TracedSocket, table: &Table, row: usize) {
    socket.row_count += 1;
    socket.acked_bytes = socket.acked_bytes.max(integer(table, columns::ACKED_BYTES.name, row));
    socket.retransmits_pkts = socket.retransmits_pkts.max(integer(table, columns::RETRANSMITS_PKTS.name, row));
    let Some(name) = word(table, columns::CONGESTION_CONTROL.name, row) else { return };
    if socket.congestion_controls.last() != Some(&name) {
        socket.congestion_controls.push(name);
    }
}

impl TracedSocket {
    /// Is it this socket that the row is about?
    #[must_use]
    pub fn has_row(&self, table: &Table, row: usize) -> bool {
        self.cookie.is_none_or(|cookie| integer(table, columns::COOKIE.name, row) == Some(cookie))
    }

    /// "`bpf_cubic`, then `reno`"
    #[must_use]
    pub fn algorithms(&self) -> String {
        self.congestion_controls.join(", then ")
    }
}

/// Places of the sockets to draw: those that are wanted, else the busy ones (of several) or the busiest.
pub fn choose(sockets: &[TracedSocket], wanted: &[String], are_several: bool) -> Result<Vec<usize>, UsageError> {
    if sockets.is_empty() {
        return Err(UsageError::new("the trace has no socket", "trace again while a socket matches"));
    }
    if !wanted.is_empty() {
        let mut places = wanted.iter().map(|text| find(sockets, text)).collect::<Result<Vec<_>, _>>()?;
        let mut known = std::collections::HashSet::new();
        places.retain(|place| known.insert(*place));
        return Ok(places);
    }
    let busiest = sockets.iter().enumerate().max_by_key(|(place, it)| (it.acked_bytes, std::cmp::Reverse(*place)));
    if !are_several {
        return Ok(vec![busiest.map_or(0, |(place, _)| place)]);
    }
    let acked = |it: &TracedSocket| it.acked_bytes.unwrap_or(0);
    let most = |table| sockets.iter().filter(|it| it.table == table).map(acked).max().unwrap_or(0);
    let is_busy = |it: &TracedSocket| acked(it).saturating_mul(SMALLEST_SHARE) >= most(it.table);
    Ok((0..sockets.len()).filter(|place| is_busy(&sockets[*place])).collect())
}

/// By its number or its cookie.
fn find(sockets: &[TracedSocket], wanted: &str) -> Result<usize, UsageError> {
    let number = match wanted.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => wanted.parse::<i64>().ok(),
    };
    let by_cookie = sockets.iter().position(|socket| socket.cookie.is_some() && socket.cookie == number);
    let is_number = |socket: &TracedSocket| i64::try_from(socket.socket_number).ok() == number;
    by_cookie.or_else(|| sockets.iter().position(is_number)).ok_or_else(|| {
        let remedy = format!("a number from 1 to {}, or a cookie; --list shows them", sockets.len());
        UsageError::new(format!("the trace has no socket {wanted:?}"), remedy)
    })
}
