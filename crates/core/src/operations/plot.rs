// SPDX-License-Identifier: MIT OR Apache-2.0
//! The picture of a trace: windows, RTT, what the algorithm keeps, rates, and the host's backlogs on one time axis.

use std::collections::BTreeMap;

use ccctl_console::UsageError;
use ccctl_series::{is_moment, Axis, Figure, Line, Mark, Panel, Point, Scale, Style, Table, Value};
use schemars::JsonSchema;
use serde::Serialize;

use super::trace::{HOST, STATE_PREFIX};

/// What to draw.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// A number from 1 on, or a cookie; None: the socket with most bytes acknowledged.
    pub socket: Option<String>,
    /// State fields; empty: those that change and are neither sequence numbers nor clocks.
    pub fields: Vec<String>,
    /// The host's backlogs.
    pub backlog: bool,
}

/// What was drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drawn {
    /// Number of the socket, from 1 on.
    pub socket_number: usize,
    /// Its cookie.
    pub cookie: i64,
    /// Its ends.
    pub connection: String,
    /// Sockets in the trace.
    pub socket_count: usize,
    /// Panels, from the top.
    pub panels: Vec<String>,
    /// State fields that were not asked for and are left out: they do not change, or are sequence numbers or clocks.
    pub left_out: Vec<String>,
}

/// A line of a panel: column, name in the legend, factor, style.
type Curve = (&'static str, &'static str, f64, Style);

const WINDOWS: [Curve; 3] = [
    ("cwnd_pkts", "cwnd", 1.0, Style::Steps),
    ("ssthresh_pkts", "ssthresh", 1.0, Style::Dashed),
    ("in_flight_pkts", "in flight", 1.0, Style::Straight),
];
const RTT: [Curve; 2] = [("srtt_us", "smoothed", 1e-3, Style::Straight), ("min_rtt_us", "minimum", 1e-3, Style::Steps)];
const MBIT_PER_BYTE: f64 = 8e-6;
const RATES: [Curve; 2] = [
    ("delivery_rate_bytes_per_s", "delivery rate", MBIT_PER_BYTE, Style::Straight),
    ("pacing_rate_bytes_per_s", "pacing rate", MBIT_PER_BYTE, Style::Dashed),
];
/// What a stall of `snd_una` is seen in, beside the backlogs.
const ACKED: [Curve; 1] = [("acked_bytes", "snd_una, from the first byte", 1e-6, Style::Straight)];
const BACKLOGS: [Curve; 2] = [
    ("host_backlog_pkts", "waiting", 1.0, Style::Straight),
    ("host_backlog_drops", "dropped so far", 1.0, Style::Steps),
];
/// Events that are marked, and how.
const MARKS: [(&str, &str); 2] = [("retransmit", "retransmission"), ("timeout", "timeout")];
/// The end of names of sequence numbers.
const SEQUENCE: &str = "_seq";
/// Two marks of a kind that are closer than this part of the time cannot be told apart.
const MARKS_MOST: f64 = 400.0;

/// Rows of one socket, or of the host.
struct Rows<'a> {
    table: &'a Table,
    rows: Vec<usize>,
}

/// The picture of a trace.
pub fn figure(table: &Table, choice: &Choice) -> Result<(Figure, Drawn), UsageError> {
    for name in ["time_s", "event", "cookie", "cwnd_pkts"] {
        if table.column(name).is_none() {
            return Err(UsageError::new(
                format!("no trace: it has no column {name}"),
                "a file that ccctl trace -o has written",
            ));
        }
    }
    let sockets = sockets(table);
    let (number, cookie) = choose(table, &sockets, choice.socket.as_deref())?;
    let rows = rows_of(table, |row| integer(table, "cookie", row) == Some(cookie));
    let host = rows_of(table, |row| word(table, "event", row).as_deref() == Some(HOST));
    let (fields, left_out) = state_fields(&rows, &choice.fields)?;
    let mut panels = vec![panel("window", "packets", rows.curves(&WINDOWS)), panel("RTT", "ms", rows.curves(&RTT))];
    panels.extend(fields.iter().map(|((unit, _), names)| panel("state", unit, rows.state_lines(names))));
    panels.push(panel("rate", "Mbit/s", rows.curves(&RATES)));
    if choice.backlog {
        if host.rows.is_empty() {
            return Err(UsageError::new("the trace has no backlogs", "ccctl trace --backlog takes them, too"));
        }
        panels.push(panel("acknowledged", "MB", rows.curves(&ACKED)));
        panels.push(panel("backlogs of the host", "packets", host.curves(&BACKLOGS)));
    }
    panels.retain(|panel| panel.lines.iter().any(|line| !line.points.is_empty()));
    let marks = rows.marks();
    for panel in panels.iter_mut().take(2) {
        panel.marks.clone_from(&marks);
    }
    let drawn = Drawn {
        socket_number: number,
        cookie,
        connection: rows.connection(),
        socket_count: sockets.len(),
        panels: panels.iter().map(name).collect(),
        left_out,
    };
    let x = Axis { label: "time".to_owned(), unit: "s".to_owned(), scale: Scale::Linear };
    Ok((Figure { title: rows.title(), subtitle: subtitle(table), x, panels }, drawn))
}

fn panel(label: &str, unit: &str, lines: Vec<Line>) -> Panel {
    Panel { y: Axis { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear }, lines, marks: Vec::new() }
}

fn name(panel: &Panel) -> String {
    let Axis { label, unit, .. } = &panel.y;
    if unit.is_empty() {
        label.clone()
    } else {
        format!("{label} ({unit})")
    }
}

/// Cookies in the order in which the trace has them.
fn sockets(table: &Table) -> Vec<i64> {
    let mut known = std::collections::HashSet::new();
    (0..table.rows()).filter_map(|row| integer(table, "cookie", row)).filter(|cookie| known.insert(*cookie)).collect()
}

fn choose(table: &Table, sockets: &[i64], wanted: Option<&str>) -> Result<(usize, i64), UsageError> {
    let none = |cause: String, remedy: String| UsageError::new(cause, remedy);
    if sockets.is_empty() {
        return Err(none("the trace has no socket".to_owned(), "trace again while there is one".to_owned()));
    }
    let numbered = |index: usize| (index + 1, sockets[index]);
    let Some(wanted) = wanted else {
        let mut acked: BTreeMap<i64, i64> = BTreeMap::new();
        for row in 0..table.rows() {
            if let (Some(cookie), Some(bytes)) = (integer(table, "cookie", row), integer(table, "acked_bytes", row)) {
                acked.entry(cookie).and_modify(|most| *most = bytes.max(*most)).or_insert(bytes);
            }
        }
        let most = (0..sockets.len()).max_by_key(|index| (acked.get(&sockets[*index]), std::cmp::Reverse(*index)));
        return Ok(numbered(most.unwrap_or(0)));
    };
    let number = match wanted.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => wanted.parse::<i64>().ok(),
    };
    let by_cookie = sockets.iter().position(|cookie| Some(*cookie) == number);
    let by_number =
        number.and_then(|number| usize::try_from(number).ok()).filter(|number| (1..=sockets.len()).contains(number));
    by_cookie.or(by_number.map(|number| number - 1)).map(numbered).ok_or_else(|| {
        none(format!("the trace has no socket {wanted:?}"), format!("--socket 1 to {}, or a cookie", sockets.len()))
    })
}

fn rows_of(table: &Table, mut is_one: impl FnMut(usize) -> bool) -> Rows<'_> {
    Rows { table, rows: (0..table.rows()).filter(|row| is_one(*row)).collect() }
}

/// Names of state fields by their unit, counts apart from numbers with a fraction; and those that are left out.
type Fields = (BTreeMap<(String, bool), Vec<String>>, Vec<String>);

fn state_fields(rows: &Rows<'_>, wanted: &[String]) -> Result<Fields, UsageError> {
    let names = rows.table.columns().iter().filter_map(|column| column.name.strip_prefix(STATE_PREFIX));
    let known: Vec<&str> = names.filter(|name| rows.has(name)).collect();
    if let Some(wrong) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        let remedy = if known.is_empty() {
            "without it: the algorithm keeps nothing that can be decoded".to_owned()
        } else {
            format!("one of: {}", known.join(", "))
        };
        return Err(UsageError::new(format!("there is no state field {wrong:?}"), remedy));
    }
    let mut fields: BTreeMap<(String, bool), Vec<String>> = BTreeMap::new();
    let mut left_out = Vec::new();
    for name in known {
        let is_wanted = wanted.iter().any(|wanted| wanted == name);
        if is_wanted || wanted.is_empty() && !is_position(name) && rows.changes(name) {
            let unit = rows.table.column(&format!("{STATE_PREFIX}{name}")).map(|column| column.unit.clone());
            let (bits, unit) = fixed_point(&unit.unwrap_or_default());
            let has_fraction = unit.is_empty() && bits.is_some();
            fields.entry((unit, has_fraction)).or_default().push(name.to_owned());
        } else if wanted.is_empty() {
            left_out.push(name.to_owned());
        }
    }
    Ok((fields, left_out))
}

/// Sequence numbers and clocks say where or when, and not how much: in a panel they flatten everything else.
fn is_position(name: &str) -> bool {
    name.ends_with(SEQUENCE) || is_moment(name)
}

/// `2^-8 packets`: the bits behind the point, and the unit of the whole.
fn fixed_point(unit: &str) -> (Option<u32>, String) {
    let Some(rest) = unit.strip_prefix("2^-") else { return (None, unit.to_owned()) };
    let (bits, unit) = rest.split_once(' ').unwrap_or((rest, ""));
    (bits.parse().ok(), unit.to_owned())
}

fn integer(table: &Table, name: &str, row: usize) -> Option<i64> {
    match table.column(name)?.values.get(row)? {
        Value::Integer(value) => Some(value),
        _ => None,
    }
}

fn word(table: &Table, name: &str, row: usize) -> Option<String> {
    match table.column(name)?.values.get(row)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn subtitle(table: &Table) -> String {
    let fact = |name: &str| table.facts.get(name).map(String::as_str);
    let mut parts = Vec::new();
    parts.extend(fact("started").map(|time| format!("from {time}")));
    parts.extend(fact("kernel").map(|kernel| format!("Linux {kernel}")));
    parts.extend(fact("rows").map(|rows| format!("rows: {rows}")));
    parts.extend(fact("lost_events").filter(|lost| *lost != "0").map(|lost| format!("{lost} events lost")));
    parts.join("; ")
}

impl Rows<'_> {
    fn points(&self, column: &str, factor: f64) -> Vec<Point> {
        let (Some(times), Some(values)) = (self.table.column("time_s"), self.table.column(column)) else {
            return Vec::new();
        };
        let number = |values: &ccctl_series::Values, row| values.get(row).and_then(|value| value.number());
        let point = |row: &usize| Some(Point::at(number(&times.values, *row)?, number(&values.values, *row)? * factor));
        self.rows.iter().filter_map(point).collect()
    }

    fn curves(&self, curves: &[Curve]) -> Vec<Line> {
        let line = |(column, label, factor, style): &Curve| Line {
            label: (*label).to_owned(),
            style: *style,
            points: self.points(column, *factor),
        };
        curves.iter().map(line).filter(|line| !line.points.is_empty()).collect()
    }

    fn state_lines(&self, names: &[String]) -> Vec<Line> {
        let line = |name: &String| {
            let column = format!("{STATE_PREFIX}{name}");
            let unit = self.table.column(&column).map(|column| column.unit.as_str());
            let (bits, _) = fixed_point(unit.unwrap_or_default());
            Line {
                label: bits.map_or(name.clone(), |bits| format!("{name} / 2^{bits}")),
                style: Style::Steps,
                points: self.points(&column, f64::from(bits.unwrap_or(0)).exp2().recip()),
            }
        };
        names.iter().map(line).collect()
    }

    /// Moments of the events that are marked, so many as can be told apart.
    fn marks(&self) -> Vec<Mark> {
        let times = self.points("time_s", 1.0);
        let span = times.last().map_or(0.0, |last| last.x) - times.first().map_or(0.0, |first| first.x);
        let mut marks: Vec<Mark> = Vec::new();
        for (event, label) in MARKS {
            let mut last = f64::NEG_INFINITY;
            for row in &self.rows {
                let Some(x) = self.table.column("time_s").and_then(|column| column.values.get(*row)?.number()) else {
                    continue;
                };
                if word(self.table, "event", *row).as_deref() == Some(event) && x - last > span / MARKS_MOST {
                    marks.push(Mark { x, label: label.to_owned() });
                    last = x;
                }
            }
        }
        marks
    }

    fn has(&self, field: &str) -> bool {
        !self.points(&format!("{STATE_PREFIX}{field}"), 1.0).is_empty()
    }

    fn changes(&self, field: &str) -> bool {
        let points = self.points(&format!("{STATE_PREFIX}{field}"), 1.0);
        points.iter().any(|point| point.y.to_bits() != points[0].y.to_bits())
    }

    fn connection(&self) -> String {
        let end = |name: &str| self.rows.first().and_then(|row| word(self.table, name, *row)).unwrap_or_default();
        format!("{} -> {}", end("source"), end("destination"))
    }

    /// Its ends, and every algorithm that it has had.
    fn title(&self) -> String {
        let mut algorithms: Vec<String> = Vec::new();
        for name in self.rows.iter().filter_map(|row| word(self.table, "congestion_control", *row)) {
            if algorithms.last() != Some(&name) {
                algorithms.push(name);
            }
        }
        format!("{}: {}", algorithms.join(", then "), self.connection())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use ccctl_series::{unit_of, Column, Values};

    use super::*;

    /// One socket, three rows, with state fields of CUBIC: of its header, `k_q10s` is in 1/1024 s, `epoch_us` a clock.
    fn trace() -> Table {
        let mut table = Table::default();
        let mut add = |name: &str, values: Values| {
            table.add(Column { name: name.to_owned(), unit: unit_of(name), values }).unwrap();
        };
        let whole = |values: [i64; 3]| Values::Integer(values.map(Some).to_vec());
        let text = |word: &str| Values::Text(vec![Some(word.to_owned()); 3]);
        add("time_s", Values::Real([0.0, 0.1, 0.2].map(Some).to_vec()));
        add("event", text("interval"));
        add("cookie", whole([7; 3]));
        add("source", text("10.0.0.1:1"));
        add("destination", text("10.0.0.2:2"));
        add("congestion_control", text("cubic"));
        add("cwnd_pkts", whole([10, 20, 14]));
        add("state.k_q10s", whole([0, 2048, 1024]));
        add("state.epoch_us", whole([2_800_000_000, 2_800_100_000, 2_800_200_000]));
        add("state.rtt.base_since_s", whole([2800, 2801, 2802]));
        add("state.undo.epoch_age_us", whole([0, 100_000, 200_000]));
        table
    }

    #[test]
    fn fixed_point_is_drawn_in_its_unit_and_clocks_are_not_drawn() {
        let (figure, drawn) = figure(&trace(), &Choice::default()).unwrap();
        assert_eq!(drawn.left_out, ["epoch_us", "rtt.base_since_s"]);
        assert_eq!(drawn.panels, ["window (packets)", "state (s)", "state (us)"]);
        let seconds = &figure.panels[1].lines[0];
        assert_eq!(seconds.points.iter().map(|point| point.y).collect::<Vec<_>>(), [0.0, 2.0, 1.0]);
        let asked = Choice { fields: vec!["epoch_us".to_owned()], ..Choice::default() };
        assert_eq!(super::figure(&trace(), &asked).unwrap().1.panels, ["window (packets)", "state (us)"]);
    }
}
