// SPDX-License-Identifier: MIT OR Apache-2.0
//! The present view as a file: CSV or JSON, in the names and units of `--json`.

use std::time::SystemTime;

use ccctl_console::output::{self, printable};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Model, SocketHistory, View};
use crate::commands::top::once;
use crate::commands::top::sample::SocketRow;

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Where to.
    pub path: String,
    /// All of it.
    pub text: String,
    /// Rows in it.
    pub rows: usize,
}

#[derive(Serialize)]
struct Document {
    view: &'static str,
    congestion_control: Option<String>,
    rows: Vec<Map<String, Value>>,
}

#[derive(Serialize)]
struct Socket<'a> {
    cookie: u64,
    state: &'a str,
    source: &'a str,
    destination: &'a str,
    congestion_control: &'a str,
    process: Option<&'a str>,
    cgroup: Option<&'a str>,
    namespace: &'a str,
    cwnd_pkts: Option<u32>,
    ssthresh_pkts: Option<u32>,
    srtt_us: Option<u64>,
    throughput_bit_per_s: Option<f64>,
    in_flight_pkts: Option<u32>,
    acked_bytes: Option<u64>,
    retransmits_pkts: Option<u32>,
}

/// A name for a file of now.
pub fn file_name(now: SystemTime) -> String {
    format!("ccctl-top-{}.csv", output::time(now).replace(':', ""))
}

impl Export {
    /// What is shown, in the format that the end of the path says.
    pub fn of(model: &Model, path: &str) -> Result<Self, String> {
        let document = document(model);
        let rows = document.rows.len();
        let end = path.rsplit_once('.').map(|(_, end)| end.to_lowercase());
        let text = match end.as_deref() {
            Some("csv") => csv(&document.rows),
            Some("json") => json(&document)?,
            _ => return Err(format!("{path}: the name has to end in .csv or .json")),
        };
        Ok(Self { path: path.to_owned(), text, rows })
    }
}

fn document(model: &Model) -> Document {
    let (view, congestion_control, rows) = match &model.view {
        View::Instances => {
            ("instances", None, model.instances.rows.iter().map(|row| object(&once::row(row))).collect())
        }
        View::Sockets(name) => {
            let row = |row| object(&socket(row, name, model.sockets.bit_per_s(row)));
            ("sockets", Some(name.clone()), model.sockets.listed().map(row).collect())
        }
        View::Socket(name, _) => ("socket", Some(name.clone()), points(&model.socket)),
    };
    Document { view, congestion_control, rows }
}

fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(), // not of a struct of plain data
    }
}

fn socket<'a>(row: &'a SocketRow, name: &'a str, throughput_bit_per_s: Option<f64>) -> Socket<'a> {
    let connected = row.cwnd_pkts;
    Socket {
        cookie: row.cookie,
        state: &row.state,
        source: &row.source,
        destination: &row.destination,
        congestion_control: name,
        process: row.process.as_deref(),
        cgroup: row.cgroup.as_deref(),
        namespace: &row.namespace,
        cwnd_pkts: row.cwnd_pkts,
        ssthresh_pkts: row.ssthresh_pkts,
        srtt_us: row.srtt_us,
        throughput_bit_per_s,
        in_flight_pkts: connected.map(|_| row.in_flight_pkts),
        acked_bytes: connected.map(|_| row.acked_bytes),
        retransmits_pkts: connected.map(|_| row.retransmits_pkts),
    }
}

/// What the charts show, and all fields, as the algorithm has them.
fn points(history: &SocketHistory) -> Vec<Map<String, Value>> {
    let Some(first) = history.points.front().map(|point| point.at) else { return Vec::new() };
    let row = |point: &super::Point| {
        let time_s = point.at.saturating_duration_since(first).as_secs_f64();
        let mut row = Map::new();
        row.insert("time_s".to_owned(), time_s.into());
        row.insert("cwnd_pkts".to_owned(), whole(point.cwnd_pkts));
        row.insert("ssthresh_pkts".to_owned(), point.ssthresh_pkts.map_or(Value::Null, whole));
        row.insert("srtt_us".to_owned(), point.srtt_ms.map_or(Value::Null, |ms| whole((ms * 1000.0).round())));
        row.extend(
            point.state.iter().map(|field| (format!("state.{}", field.name), field.raw().map_or(Value::Null, whole))),
        );
        row
    };
    history.points.iter().map(row).collect()
}

fn whole(value: f64) -> Value {
    (value as i64).into()
}

fn json(document: &Document) -> Result<String, String> {
    serde_json::to_string_pretty(document).map(|text| text + "\n").map_err(|error| error.to_string())
}

/// As in RFC 4180, with the columns of all rows: an algorithm that was moved to has other fields.
fn csv(rows: &[Map<String, Value>]) -> String {
    let mut names: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(Map::keys) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let header = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
    let line = |row: &Map<String, Value>| names.iter().map(|name| cell(row.get(*name))).collect::<Vec<_>>().join(",");
    std::iter::once(header).chain(rows.iter().map(line)).map(|line| line + "\r\n").collect()
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => quoted(text),
        Some(other) => other.to_string(),
    }
}

/// Names that others choose are among them.
fn quoted(text: &str) -> String {
    let text = printable(text);
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_has_all_columns_and_quotes_what_needs_it() {
        let rows = [r#"{"a": 1, "b": "x,\"y\""}"#, r#"{"a": null, "c": 0.5, "b": "\u001b[2J"}"#];
        let rows: Vec<Map<String, Value>> = rows.map(|row| serde_json::from_str(row).expect("an object")).into();
        assert_eq!(csv(&rows), "a,b,c\r\n1,\"x,\"\"y\"\"\",\r\n,\\x1b[2J,0.5\r\n");
    }

    #[test]
    fn files_are_named_by_the_time() {
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        assert_eq!(file_name(now), "ccctl-top-2001-09-09T014640Z.csv");
    }
}
