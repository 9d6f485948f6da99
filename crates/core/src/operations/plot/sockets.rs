// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sockets of a trace, and which of them are drawn.

use std::collections::HashMap;

use ccctl_console::UsageError;
use ccctl_series::{columns, Table};
use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{integer, word};

/// Without a choice, a socket is drawn beside others if it has sent at least one part in so many of what the busiest has:
/// the control connection of a measurement is none of its flows.
const SMALLEST_SHARE: i64 = 100;

/// A socket of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TracedSocket {
    /// From 1 on, in the order of the trace.
    pub socket_number: usize,
    /// Of the kernel.
    pub cookie: i64,
    /// Its ends.
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
}

/// All of them, in the order of the trace; none is drawn yet.
#[must_use]
pub fn traced_sockets(table: &Table) -> Vec<TracedSocket> {
    let mut sockets: Vec<TracedSocket> = Vec::new();
    let mut places: HashMap<i64, usize> = HashMap::new();
    for row in 0..table.rows() {
        let Some(cookie) = integer(table, columns::COOKIE.name, row) else { continue };
        let place = *places.entry(cookie).or_insert_with(|| {
            sockets.push(first_seen(table, row, sockets.len() + 1, cookie));
            sockets.len() - 1
        });
        follow(&mut sockets[place], table, row);
    }
    sockets
}

fn first_seen(table: &Table, row: usize, socket_number: usize, cookie: i64) -> TracedSocket {
    let end = |name: &str| word(table, name, row).unwrap_or_default();
    TracedSocket {
        socket_number,
        cookie,
        connection: format!("{} -> {}", end(columns::SOURCE.name), end(columns::DESTINATION.name)),
        congestion_controls: Vec::new(),
        command: word(table, columns::COMMAND.name, row),
        row_count: 0,
        acked_bytes: None,
        retransmits_pkts: None,
        is_drawn: false,
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
    let (place, busiest) = busiest.map_or((0, 0), |(place, it)| (place, it.acked_bytes.unwrap_or(0)));
    if !are_several {
        return Ok(vec![place]);
    }
    let is_busy = |it: &TracedSocket| it.acked_bytes.unwrap_or(0).saturating_mul(SMALLEST_SHARE) >= busiest;
    Ok((0..sockets.len()).filter(|place| is_busy(&sockets[*place])).collect())
}

/// By its number or its cookie.
fn find(sockets: &[TracedSocket], wanted: &str) -> Result<usize, UsageError> {
    let number = match wanted.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => wanted.parse::<i64>().ok(),
    };
    let by_cookie = sockets.iter().position(|socket| Some(socket.cookie) == number);
    let is_number = |socket: &TracedSocket| i64::try_from(socket.socket_number).ok() == number;
    by_cookie.or_else(|| sockets.iter().position(is_number)).ok_or_else(|| {
        let remedy = format!("a number from 1 to {}, or a cookie; --list shows them", sockets.len());
        UsageError::new(format!("the trace has no socket {wanted:?}"), remedy)
    })
}
