// SPDX-License-Identifier: MIT OR Apache-2.0
//! One socket: its past as charts, its present as a table.

use std::time::Instant;

use ccctl_catalog::is_impossible_window;
use ccctl_console::output::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Widget as _};

use super::{format, line, put, Look, STRONG};
use crate::commands::top::model::{Model, Point, SocketHistory};
use ccctl_core::operations::{Socket, Transport};

/// Of the table of values.
const VALUES_WIDTH: u16 = 34;
/// The time axis shows no less: two points make no line.
const LEAST_SECONDS: f64 = 30.0;

type Values = Vec<(f64, f64)>;

/// One curve.
struct Curve {
    values: Values,
    /// Told from the other one without colour.
    is_dotted: bool,
    colour: Color,
}

/// Charts at the left, values at the right.
pub fn draw(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let history = &model.socket;
    let Some(socket) = &history.latest else {
        let text = if history.is_closed { "this socket is closed" } else { "looking ..." };
        return line(buffer, area, text, Style::new());
    };
    let heading = format!("{} -> {}", socket.source, socket.destination);
    let closed = if history.is_closed { "CLOSED: these are its last values   " } else { "" };
    line(buffer, area, &format!("{closed}{heading}"), STRONG);
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let [charts, values] =
        Layout::horizontal([Constraint::Min(20), Constraint::Length(VALUES_WIDTH)]).spacing(1).areas(below);
    draw_charts(history, look, charts, buffer);
    draw_values(history, socket, look, values, buffer);
}

fn draw_charts(history: &SocketHistory, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some(now) = history.points.back().map(|point| point.at) else {
        return line(buffer, area, "a listening socket has no window", Style::new());
    };
    let values = |value: fn(&Point) -> Option<f64>| {
        let points = history.points.iter();
        points.filter_map(|point| Some((seconds(point.at, now), value(point)?))).collect()
    };
    let curve = |values, is_dotted, colour| Curve { values, is_dotted, colour };
    let windows = vec![
        curve(values(|point| point.ssthresh_pkts), true, Color::Yellow),
        curve(values(|point| Some(point.cwnd_pkts)), false, Color::Green),
    ];
    let rtt = vec![curve(values(|point| point.srtt_ms), false, Color::Magenta)];
    let mut charts = vec![("cwnd, ssthresh (dotted): pkts".to_owned(), windows), ("smoothed RTT: ms".to_owned(), rtt)];
    if let Some(field) = history.field() {
        let unit = if field.unit.is_empty() { String::new() } else { format!(": {}", field.unit) };
        let drawn = history.drawn_field().into_iter().map(|(at, value)| (seconds(at, now), value)).collect();
        charts.push((format!("{}{unit}  (s: next field)", field.name), vec![curve(drawn, false, Color::Cyan)]));
    }
    let rooms = Layout::vertical(vec![Constraint::Fill(1); charts.len()]).split(area);
    for ((title, curves), room) in charts.iter().zip(rooms.iter()) {
        draw_chart(title, curves, look, *room, buffer);
    }
}

/// How long before the latest point, as a negative number.
fn seconds(at: Instant, now: Instant) -> f64 {
    -now.saturating_duration_since(at).as_secs_f64()
}

fn draw_chart(title: &str, curves: &[Curve], look: Look, area: Rect, buffer: &mut Buffer) {
    let all = || curves.iter().flat_map(|curve| &curve.values);
    let first = all().map(|(at, _)| *at).fold(-LEAST_SECONDS, f64::min);
    let (least, most) = bounds(all().map(|(_, value)| *value));
    let datasets = curves.iter().map(|curve| {
        let marker = match (look.has_unicode, curve.is_dotted) {
            (true, false) => Marker::Braille,
            (true, true) => Marker::Dot,
            (false, false) => Marker::Custom('*'),
            (false, true) => Marker::Custom('.'),
        };
        let dataset = Dataset::default().marker(marker).graph_type(GraphType::Line).data(&curve.values);
        dataset.style(look.coloured(curve.colour))
    });
    let time = [Line::from(format!("{first:.0} s")), Line::from("now")];
    let scale = [Line::from(short(least)), Line::from(short(most))];
    Chart::new(datasets.collect())
        .block(Block::bordered().title(title))
        .legend_position(None)
        .x_axis(Axis::default().bounds([first, 0.0]).labels(time))
        .y_axis(Axis::default().bounds([least, most]).labels(scale))
        .render(area, buffer);
}

/// From 0, where that is not far; a constant gets some room above.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = values.fold((0.0_f64, f64::MIN), |(least, most), value| (least.min(value), most.max(value)));
    let most = if most > least { most } else { least + 1.0 };
    (least, most * 1.05)
}

fn short(value: f64) -> String {
    match value.abs() {
        value if value >= 1e12 => format!("{:>5.1}T", value / 1e12),
        size if size >= 1e9 => format!("{:>5.1}G", value / 1e9),
        size if size >= 1e6 => format!("{:>5.1}M", value / 1e6),
        size if size >= 1e4 => format!("{:>5.1}k", value / 1e3),
        size if size < 10.0 && size > 0.0 => format!("{value:>6.2}"),
        _ => format!("{value:>6.0}"),
    }
}

fn draw_values(history: &SocketHistory, socket: &Socket, look: Look, area: Rect, buffer: &mut Buffer) {
    let drawn = history.field().map(|field| field.name.clone());
    let mut rows = known_values(socket);
    if let Some(transport) = &socket.transport {
        rows.extend(transport_values(transport));
    }
    if !history.fields().is_empty() {
        let algorithm = socket.algorithm.as_deref().unwrap_or_default();
        rows.push((format!("- {algorithm} keeps -"), String::new()));
    }
    rows.extend(history.fields().iter().map(|field| (field.name.clone(), field.text())));
    for ((name, value), y) in rows.into_iter().zip(area.y..area.bottom()) {
        let row = Rect { y, height: 1, ..area };
        let style = if drawn.as_deref() == Some(&name) { look.header() } else { Style::new() };
        line(buffer, row, &name, style);
        let room = usize::from(area.width).saturating_sub(name.chars().count() + 1);
        let value = format::tail(&printable(&value), room);
        let x = area.right().saturating_sub(value.chars().count() as u16);
        put(buffer, (x, y), &value, room, style);
    }
}

fn known_values(socket: &Socket) -> Vec<(String, String)> {
    let owner = socket.owners.as_deref().and_then(<[_]>::first);
    let process = owner.map_or(format::NOTHING.to_owned(), |owner| format!("{}/{}", owner.pid, owner.command));
    let old = if socket.is_on_old_program { " (old program)" } else { "" };
    let rows = [
        ("algorithm", format!("{}{old}", socket.congestion_control)),
        ("state", socket.state.clone()),
        ("process", process),
        ("cgroup", socket.cgroup.clone().unwrap_or(format::NOTHING.to_owned())),
        ("netns", socket.namespace.clone()),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).into()
}

/// A window that no algorithm can mean has a mark.
fn window(pkts: u32) -> String {
    let mark = if is_impossible_window(pkts) { "! " } else { "" };
    format!("{mark}{pkts} pkts")
}

fn transport_values(transport: &Transport) -> Vec<(String, String)> {
    let ms = |us: Option<u64>| format!("{} ms", format::ms(us.map(|us| us as f64)));
    let retransmits = transport.retransmits_pkts;
    let rows = [
        ("cwnd", window(transport.cwnd_pkts)),
        ("ssthresh", transport.ssthresh_pkts.map_or("inf".to_owned(), window)),
        ("srtt", ms(transport.srtt_us)),
        ("min rtt", ms(transport.min_rtt_us)),
        ("delivery rate", format::bit_per_s(transport.delivery_rate_bytes_per_s.map(|rate| rate as f64 * 8.0))),
        ("in flight", format!("{} pkts", transport.in_flight_pkts)),
        ("acked", format!("{} bytes", transport.acked_bytes)),
        ("retransmits", format!("{retransmits} of {} pkts", transport.data_segments_sent_pkts)),
        ("recovery", transport.recovery.clone()),
        ("timeouts", format!("{}", transport.timeouts)),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).into()
}
