// SPDX-License-Identifier: MIT OR Apache-2.0
//! The picture of traces, and of series of the laboratory: windows, RTT, what the algorithm keeps, rates, and the host's backlogs on one time axis. Of one
//! socket everything, of several the same quantity of each in one panel.

mod fields;
mod outlier;
mod rows;
mod sockets;

use ccctl_console::UsageError;
use ccctl_series::{columns, Axis, Figure, Line, Mark, Panel, Scale, Style, Table};
use schemars::JsonSchema;
use serde::Serialize;

use super::trace::HOST;
use fields::{known, state_fields, unit};
use rows::{time_s, word, Curve, Rows};
pub use sockets::{traced_sockets, TracedSocket};

/// What to draw.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Numbers from 1 on, or cookies; empty: the socket with most bytes acknowledged, or with `by` all that are busy.
    pub sockets: Vec<String>,
    /// What lines of several sockets are named after.
    pub by: Option<By>,
    /// State fields; empty: those of one socket that change and say how much.
    pub fields: Vec<String>,
    /// The host's backlogs.
    pub backlog: bool,
    /// Only rows between these times of the trace, in seconds.
    pub from_s: Option<f64>,
    /// See [`Self::from_s`].
    pub to_s: Option<f64>,
    /// Vertical axes are logarithmic.
    pub is_logarithmic: bool,
    /// Instead of the sockets' names.
    pub title: Option<String>,
    /// Without the heading that a paper has in its caption; a `title` stays.
    pub is_for_paper: bool,
}

/// What lines of several sockets are named after, and share a colour by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Each has its own: `1: cubic`.
    Socket,
    /// One for all sockets of an algorithm.
    Algorithm,
}

/// What was drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drawn {
    /// All sockets of the traces and flows of the laboratory.
    pub traced_sockets: Vec<TracedSocket>,
    /// Panels, from the top.
    pub panels: Vec<String>,
    /// State fields that were not asked for and are left out: they do not change, or are clocks, sequence numbers or
    /// values for undoing.
    pub left_out: Vec<String>,
}

const CWND: Curve = (columns::CWND_PKTS.name, "cwnd", 1.0, Style::Steps);
const SRTT: Curve = (columns::SRTT_US.name, "smoothed", 1e-3, Style::Straight);
const MBIT_PER_BYTE: f64 = 8e-6;
const DELIVERY_RATE: Curve = (columns::DELIVERY_RATE_BYTES_PER_S.name, "delivery rate", MBIT_PER_BYTE, Style::Straight);
/// What a stall of `snd_una` is seen in, beside the backlogs.
const ACKED: Curve = (columns::ACKED_BYTES.name, "snd_una, from the first byte", 1e-6, Style::Straight);

const WINDOWS: [Curve; 3] = [
    CWND,
    (columns::SSTHRESH_PKTS.name, "ssthresh", 1.0, Style::Dashed),
    (columns::IN_FLIGHT_PKTS.name, "in flight", 1.0, Style::Straight),
];
const RTT: [Curve; 2] = [SRTT, (columns::MIN_RTT_US.name, "minimum", 1e-3, Style::Steps)];
const RATES: [Curve; 2] =
    [DELIVERY_RATE, (columns::PACING_RATE_BYTES_PER_S.name, "pacing rate", MBIT_PER_BYTE, Style::Dashed)];
const BACKLOGS: [Curve; 2] = [
    (columns::HOST_BACKLOG_PKTS.name, "waiting", 1.0, Style::Straight),
    (columns::HOST_BACKLOG_DROPS.name, "dropped so far", 1.0, Style::Steps),
];
/// A figure tells so many kinds of marks apart; retransmissions and timeouts are two of each label.
const LABELS_MARKED: usize = 2;

/// Panels, and names of state fields that they leave out.
type Panels = (Vec<Panel>, Vec<String>);

/// The picture of traces and of the laboratory's series, each of which begins at time 0.
pub fn figure(tables: &[Table], choice: &Choice) -> Result<(Figure, Drawn), UsageError> {
    tables.iter().try_for_each(check)?;
    let mut sockets = traced_sockets(tables);
    let places = sockets::choose(&sockets, &choice.sockets, choice.by.is_some() || tables.len() > 1)?;
    for place in &places {
        sockets[*place].is_drawn = true;
    }
    let chosen: Vec<&TracedSocket> = places.iter().map(|place| &sockets[*place]).collect();
    let within = times_within(tables, choice)?;
    let of = |socket: &TracedSocket| {
        let table = &tables[socket.table];
        rows_of(table, &within[socket.table], |row| socket.has_row(table, row))
    };
    let all: Vec<Rows<'_>> = chosen.iter().map(|socket| of(socket)).collect();
    let (mut panels, left_out) = match &all[..] {
        [rows] => of_one(rows, choice)?,
        all => (of_several(all, &labels(&chosen, choice), choice)?, Vec::new()),
    };
    if choice.backlog {
        panels.push(backlogs(tables, &within)?);
    }
    panels.retain(|panel| panel.lines.iter().any(|line| !line.points.is_empty()));
    if choice.is_logarithmic {
        for panel in &mut panels {
            panel.y.scale = Scale::Logarithmic;
        }
    }
    let panel_names = panels.iter().map(name).collect();
    let x = Axis { label: "time".to_owned(), unit: "s".to_owned(), scale: Scale::Linear };
    let (title, subtitle) = heading(tables, &chosen, choice);
    Ok((Figure { title, subtitle, x, panels }, Drawn { traced_sockets: sockets, panels: panel_names, left_out }))
}

/// Is it a trace, or the series of a flow?
pub fn check(table: &Table) -> Result<(), UsageError> {
    let of_trace = [columns::EVENT, columns::COOKIE];
    let needed = [columns::TIME_S].into_iter().chain(of_trace.into_iter().filter(|_| !sockets::is_series(table)));
    let mut names = needed.chain([columns::CWND_PKTS]).map(|column| column.name);
    match names.find(|name| table.column(name).is_none()) {
        None => Ok(()),
        Some(name) => Err(UsageError::new(
            format!("not a trace: it has no column {name}"),
            "name a file that ccctl trace -o has written, or the series of a flow that ccctl-lab has written",
        )),
    }
}

/// Everything about one socket.
fn of_one(rows: &Rows<'_>, choice: &Choice) -> Result<Panels, UsageError> {
    let (fields, left_out) = state_fields(rows, &choice.fields)?;
    let mut panels = vec![panel("window", "packets", rows.curves(&WINDOWS)), panel("RTT", "ms", rows.curves(&RTT))];
    for panel in &mut panels {
        panel.marks = rows.marks();
    }
    for ((unit, _), names) in &fields {
        panels.push(panel("state", unit, names.iter().map(|name| rows.state_line(name)).collect()));
    }
    let mut rates = panel("rate", "Mbit/s", rows.curves(&RATES));
    outlier::clip(&mut rates);
    panels.push(rates);
    if choice.backlog {
        panels.push(panel("acknowledged", "MB", vec![rows.curve(&ACKED)]));
    }
    Ok((panels, left_out))
}

/// One quantity a panel, one line a socket.
fn of_several(all: &[Rows<'_>], labels: &[String], choice: &Choice) -> Result<Vec<Panel>, UsageError> {
    known(all, &choice.fields)?;
    let lines = |line: &dyn Fn(&Rows<'_>) -> Line| -> Vec<Line> {
        let labelled = |(rows, label): (&Rows<'_>, &String)| Line { label: label.clone(), ..line(rows) };
        all.iter().zip(labels).map(labelled).filter(|line| !line.points.is_empty()).collect()
    };
    let mut windows = panel("cwnd", "packets", lines(&|rows| rows.curve(&CWND)));
    windows.marks = marks_of_several(all, labels);
    let mut panels = vec![windows, panel("smoothed RTT", "ms", lines(&|rows| rows.curve(&SRTT)))];
    for name in &choice.fields {
        let with_field = all.iter().find(|rows| rows.has(name)).unwrap_or(&all[0]);
        panels.push(panel(name, &unit(with_field, name).0, lines(&|rows| rows.state_line(name))));
    }
    let mut rates = panel("delivery rate", "Mbit/s", lines(&|rows| rows.curve(&DELIVERY_RATE)));
    outlier::clip(&mut rates);
    panels.push(rates);
    if choice.backlog {
        panels.push(panel("acknowledged", "MB", lines(&|rows| rows.curve(&ACKED))));
    }
    Ok(panels)
}

/// Of few labels apart, of more together.
fn marks_of_several(all: &[Rows<'_>], labels: &[String]) -> Vec<Mark> {
    let different: std::collections::BTreeSet<&String> = labels.iter().collect();
    let is_apart = different.len() <= LABELS_MARKED;
    let of_socket = |(rows, label): (&Rows<'_>, &String)| {
        let named = |mark: Mark| Mark { label: format!("{}, {label}", mark.label), ..mark };
        rows.marks().into_iter().map(|mark| if is_apart { named(mark) } else { mark }).collect::<Vec<_>>()
    };
    let mut marks: Vec<Mark> = all.iter().zip(labels).flat_map(of_socket).collect();
    marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    marks
}

fn backlogs(tables: &[Table], within: &[Vec<usize>]) -> Result<Panel, UsageError> {
    let is_host = |table: &Table, row| word(table, columns::EVENT.name, row).as_deref() == Some(HOST);
    let mut hosts = tables.iter().zip(within).map(|(table, within)| rows_of(table, within, |row| is_host(table, row)));
    let Some(host) = hosts.find(|host| !host.rows.is_empty()) else {
        return Err(UsageError::new("the trace has no backlogs", "record them with ccctl trace --backlog"));
    };
    Ok(panel("backlogs of the host", "packets", host.curves(&BACKLOGS)))
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

/// Rows between the times that are asked for.
fn times_within(tables: &[Table], choice: &Choice) -> Result<Vec<Vec<usize>>, UsageError> {
    let (from, to) = (choice.from_s.unwrap_or(f64::NEG_INFINITY), choice.to_s.unwrap_or(f64::INFINITY));
    let is_within = |table: &Table, row: usize| time_s(table, row).is_some_and(|time| (from..=to).contains(&time));
    let of = |table: &Table| (0..table.rows()).filter(|row| is_within(table, *row)).collect::<Vec<usize>>();
    let within: Vec<Vec<usize>> = tables.iter().map(of).collect();
    if within.iter().all(Vec::is_empty) && tables.iter().any(|table| table.rows() > 0) {
        let times = || tables.iter().flat_map(|table| (0..table.rows()).filter_map(|row| time_s(table, row)));
        let (first, last) = (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max));
        let remedy = format!("--from and --to between {first:.3}s and {last:.3}s");
        return Err(UsageError::new("the trace has no row at these times", remedy));
    }
    Ok(within)
}

fn rows_of<'a>(table: &'a Table, within: &[usize], mut is_one: impl FnMut(usize) -> bool) -> Rows<'a> {
    Rows { table, rows: within.iter().copied().filter(|row| is_one(*row)).collect() }
}

fn labels(chosen: &[&TracedSocket], choice: &Choice) -> Vec<String> {
    let label = |socket: &&TracedSocket| match choice.by {
        Some(By::Algorithm) => socket.algorithms(),
        Some(By::Socket) | None => {
            let scenario = socket.scenario.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
            format!("{}: {}{scenario}", socket.socket_number, socket.algorithms())
        }
    };
    chosen.iter().map(label).collect()
}

/// Title and subtitle.
fn heading(tables: &[Table], chosen: &[&TracedSocket], choice: &Choice) -> (String, String) {
    let title = match (&choice.title, chosen) {
        (Some(title), _) => title.clone(),
        (None, _) if choice.is_for_paper => String::new(),
        (None, [socket]) => format!("{}: {}", socket.algorithms(), socket.connection),
        (None, sockets) => {
            let mut names: Vec<String> = sockets.iter().map(|socket| socket.algorithms()).collect();
            names.sort_unstable();
            names.dedup();
            format!("{} sockets: {}", sockets.len(), names.join(", "))
        }
    };
    let subtitle = match tables {
        [table] if !choice.is_for_paper => subtitle(table),
        _ => String::new(),
    };
    (title, subtitle)
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
        add("time_s", Values::Float([0.0, 0.1, 0.2].map(Some).to_vec()));
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
        add("state.origin_pkts", whole([0, 5, 9]));
        table
    }

    /// Three sockets, ten rows of 0.1 s each: two that send, one that says little. Cookies 7, 8 and 9.
    fn busy() -> Table {
        let mut table = Table::default();
        let mut add = |name: &str, values: Values| {
            table.add(Column { name: name.to_owned(), unit: unit_of(name), values }).unwrap();
        };
        let each = |value: &dyn Fn(i64, i64) -> i64| {
            Values::Integer((0..30).map(|row| Some(value(row % 3, row / 3))).collect())
        };
        let words = |words: [&str; 3]| Values::Text((0..30).map(|row| Some(words[row % 3].to_owned())).collect());
        add("time_s", Values::Float((0..30).map(|row| Some(f64::from(row / 3) / 10.0)).collect()));
        add(
            "event",
            Values::Text((0..30).map(|row| Some(if row == 15 { "retransmit" } else { "sample" }.into())).collect()),
        );
        add("cookie", each(&|socket, _| 7 + socket));
        add("source", words(["10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"]));
        add("destination", words(["10.0.0.2:5"; 3]));
        add("congestion_control", words(["cubic", "bbr", "cubic"]));
        add("command", words(["iperf3"; 3]));
        add("cwnd_pkts", each(&|socket, time| 10 * (socket + 1) + time));
        add("srtt_us", each(&|_, _| 20_000));
        add("acked_bytes", each(&|socket, time| [1_000_000, 2_000_000, 37][socket as usize] * time));
        add("delivery_rate_bytes_per_s", each(&|_, _| 1_250_000));
        table
    }

    #[test]
    fn fixed_point_is_drawn_in_its_unit_and_clocks_are_not_drawn() {
        let (figure, drawn) = figure(&[trace()], &Choice::default()).unwrap();
        assert_eq!(drawn.left_out, ["epoch_us", "rtt.base_since_s", "undo.epoch_age_us"]);
        assert_eq!(drawn.panels, ["window (packets)", "state (packets)", "state (s)"]);
        let seconds = &figure.panels[2].lines[0];
        assert_eq!(seconds.points.iter().map(|point| point.y).collect::<Vec<_>>(), [0.0, 2.0, 1.0]);
        for field in ["epoch_us", "undo.epoch_age_us"] {
            let asked = Choice { fields: vec![field.to_owned()], ..Choice::default() };
            assert_eq!(super::figure(&[trace()], &asked).unwrap().1.panels, ["window (packets)", "state (us)"]);
        }
    }

    fn lines(figure: &Figure, panel: usize) -> Vec<(String, f64)> {
        figure.panels[panel].lines.iter().map(|line| (line.label.clone(), line.points[0].y)).collect()
    }

    #[test]
    fn sockets_share_a_panel() {
        let choice = Choice { sockets: vec!["1".into(), "0x8".into(), "1".into()], ..Choice::default() };
        let (figure, drawn) = figure(&[busy()], &choice).unwrap();
        assert_eq!(drawn.panels, ["cwnd (packets)", "smoothed RTT (ms)", "delivery rate (Mbit/s)"]);
        assert_eq!(lines(&figure, 0), [("1: cubic".to_owned(), 10.0), ("2: bbr".to_owned(), 20.0)]);
        assert!((lines(&figure, 2)[0].1 - 10.0).abs() < 1e-9, "1.25 MB/s are 10 Mbit/s");
        assert_eq!(figure.title, "2 sockets: bbr, cubic");
        // Row 15 is the first socket's, at 0.5 s.
        assert_eq!(figure.panels[0].marks, [Mark { x: 0.5, label: "retransmission, 1: cubic".into() }]);
        let drawn: Vec<_> =
            drawn.traced_sockets.iter().map(|it| (it.socket_number, it.cookie.unwrap(), it.is_drawn)).collect();
        assert_eq!(drawn, [(1, 7, true), (2, 8, true), (3, 9, false)]);
    }

    /// Without numbers: those that send; the third has sent 333 bytes of 18 MB.
    #[test]
    fn lines_of_one_algorithm_have_its_name() {
        let by = |by| figure(&[busy()], &Choice { by: Some(by), ..Choice::default() }).unwrap().0;
        assert_eq!(lines(&by(By::Algorithm), 0), [("cubic".to_owned(), 10.0), ("bbr".to_owned(), 20.0)]);
        assert_eq!(lines(&by(By::Socket), 0), [("1: cubic".to_owned(), 10.0), ("2: bbr".to_owned(), 20.0)]);
        let one = figure(&[busy()], &Choice::default()).unwrap().0;
        assert_eq!(one.title, "bbr: 10.0.0.1:2 -> 10.0.0.2:5", "the busiest");
    }

    /// As the laboratory writes a flow: no cookie, no events, the algorithm in the metadata. Two rows.
    fn simulated() -> Table {
        let mut table = Table::default();
        let mut add = |name: &str, values: Values| {
            table.add(Column { name: name.to_owned(), unit: unit_of(name), values }).unwrap();
        };
        add("time_s", Values::Float(vec![Some(0.0), Some(0.1)]));
        add("cwnd_pkts", Values::Integer(vec![Some(40), Some(41)]));
        add("acked_bytes", Values::Integer(vec![Some(1), Some(2)]));
        for (name, value) in [("algorithm", "cubic"), ("scenario", "demo"), ("group", "first"), ("flow", "0")] {
            table.facts.insert(name.to_owned(), value.to_owned());
        }
        table
    }

    /// Two sockets that send, and a flow that has sent far less, but is the busiest of its file.
    #[test]
    fn a_simulated_flow_is_drawn_next_to_real_ones() {
        let (figure, drawn) = figure(&[busy(), simulated()], &Choice::default()).unwrap();
        let expected = [("1: cubic", 10.0), ("2: bbr", 20.0), ("4: cubic (demo)", 40.0)];
        assert_eq!(lines(&figure, 0), expected.map(|(label, y)| (label.to_owned(), y)));
        let flow = &drawn.traced_sockets[3];
        assert_eq!((flow.cookie, flow.connection.as_str(), flow.row_count), (None, "demo flow first 0", 2));
        let alone = super::figure(&[simulated()], &Choice::default()).unwrap().0;
        assert_eq!((alone.title.as_str(), lines(&alone, 0)[0].1), ("cubic: demo flow first 0", 40.0));
        let chosen = Choice { sockets: vec!["8".into(), "4".into()], by: Some(By::Algorithm), ..Choice::default() };
        let chosen = super::figure(&[busy(), simulated()], &chosen).unwrap().0;
        assert_eq!(lines(&chosen, 0), [("bbr".to_owned(), 20.0), ("cubic".to_owned(), 40.0)]);
    }

    /// The series of a link has the metadata of a run, but no algorithm.
    #[test]
    fn the_series_of_a_link_is_refused() {
        let mut link = simulated();
        link.facts.remove("algorithm");
        assert_eq!(check(&link).unwrap_err().to_string(), "not a trace: it has no column event");
    }

    #[test]
    fn times_axes_and_titles_are_chosen() {
        let choice = Choice {
            from_s: Some(0.2),
            to_s: Some(0.4),
            is_logarithmic: true,
            title: Some("a title".into()),
            is_for_paper: true,
            ..Choice::default()
        };
        let (figure, _) = figure(&[busy()], &choice).unwrap();
        let times: Vec<f64> = figure.panels[0].lines[0].points.iter().map(|point| point.x).collect();
        assert_eq!(times, [0.2, 0.3, 0.4]);
        assert!(figure.panels.iter().all(|panel| panel.y.scale == Scale::Logarithmic));
        assert_eq!((figure.title.as_str(), figure.subtitle.as_str()), ("a title", ""));
        let late = Choice { from_s: Some(5.0), ..Choice::default() };
        let refused = super::figure(&[busy()], &late).unwrap_err().to_string();
        assert_eq!(refused, "the trace has no row at these times");
        let bare = Choice { is_for_paper: true, ..Choice::default() };
        assert_eq!(super::figure(&[busy()], &bare).unwrap().0.title, "");
    }

    #[test]
    fn wrong_sockets_and_fields_are_refused() {
        let refused = |choice: &Choice| figure(&[busy()], choice).unwrap_err().to_string();
        let sockets = |text: &str| Choice { sockets: vec!["1".into(), text.into()], ..Choice::default() };
        for wrong in ["0", "4", "-1", "x", "0xff"] {
            assert_eq!(refused(&sockets(wrong)), format!("the trace has no socket {wrong:?}"));
        }
        let fields = Choice { fields: vec!["k_q10s".into()], ..sockets("2") };
        assert_eq!(refused(&fields), "there is no state field \"k_q10s\"");
    }
}
