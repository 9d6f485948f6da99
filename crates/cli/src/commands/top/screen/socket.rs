// SPDX-License-Identifier: MIT OR Apache-2.0
//! One socket: its past as charts, its present as a table.

use std::time::Instant;

use ccctl_catalog::is_impossible_window;
use ccctl_console::output::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};

use super::chart::{self, is_far_above, short, Curve, Picture, Values};
use super::{format, line, put, Look, STRONG};
use crate::commands::top::model::{Model, Point, SocketHistory, CWND, SRTT};
use ccctl_core::operations::{Socket, Transport};

/// Of the table of values, and where there is room for long names.
const VALUES_WIDTH: (u16, u16) = (34, 44);
/// So much is room.
const WIDE: u16 = 120;
/// Narrower there are no charts.
const LEAST_WIDTH: u16 = 58;
/// Lower a chart shows nothing.
const CHART_ROWS: u16 = 5;
/// With fewer rows the window comes before what the socket is.
const FEW_ROWS: u16 = 10;

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
    if below.width < LEAST_WIDTH {
        return draw_values(history, socket, look, below, buffer);
    }
    let width = if area.width < WIDE { VALUES_WIDTH.0 } else { VALUES_WIDTH.1 };
    let [charts, values] = Layout::horizontal([Constraint::Min(20), Constraint::Length(width)]).spacing(1).areas(below);
    draw_charts(history, look, charts, buffer);
    draw_values(history, socket, look, values, buffer);
}

fn draw_charts(history: &SocketHistory, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some(now) = history.points.back().map(|point| point.at) else {
        return line(buffer, area, "a listening socket has no window", Style::new());
    };
    let values = |value: fn(&Point) -> Option<f64>| -> Values {
        let points = history.points.iter();
        points.filter_map(|point| Some((seconds(point.at, now), value(point)?))).collect()
    };
    let (cwnd, ssthresh) = (values(|point| Some(point.cwnd_pkts)), values(|point| point.ssthresh_pkts));
    let mut pictures = vec![
        Picture { title: windows_title(&cwnd, &ssthresh), foot: foot(history, CWND), curves: windows(cwnd, ssthresh) },
        Picture {
            title: "smoothed RTT: ms".to_owned(),
            foot: foot(history, SRTT),
            curves: vec![curve(values(|point| point.srtt_ms), Color::Magenta)],
        },
    ];
    if let Some(field) = history.field() {
        let unit = if field.unit.is_empty() { String::new() } else { format!(": {}", field.unit) };
        let drawn = history.drawn_field().into_iter().map(|(at, value)| (seconds(at, now), value)).collect();
        pictures.push(Picture {
            title: format!("{}{unit}  (s: next field)", field.name),
            foot: foot(history, &field.name),
            curves: vec![curve(drawn, Color::Cyan)],
        });
    }
    pictures.truncate(usize::from((area.height / CHART_ROWS).max(1)));
    let rooms = Layout::vertical(vec![Constraint::Fill(1); pictures.len()]).split(area);
    for (picture, room) in pictures.iter().zip(rooms.iter()) {
        chart::draw(picture, look, *room, buffer);
    }
}

fn curve(values: Values, colour: Color) -> Curve {
    Curve { values, is_dashed: false, colour }
}

fn windows(cwnd: Values, ssthresh: Values) -> Vec<Curve> {
    vec![Curve { values: ssthresh, is_dashed: true, colour: Color::Yellow }, curve(cwnd, Color::Green)]
}

/// A threshold that is cut off is a number.
fn windows_title(cwnd: &[(f64, f64)], ssthresh: &[(f64, f64)]) -> String {
    let above = ssthresh.last().filter(|(_, pkts)| is_far_above(*pkts, cwnd));
    let note = above.map_or(String::new(), |(_, pkts)| format!(" ({}: above)", short(*pkts).trim()));
    format!("cwnd, ssthresh (dashed): pkts{note}")
}

/// Since the socket was opened on the screen, whatever has left the chart.
fn foot(history: &SocketHistory, name: &str) -> String {
    let text = |(least, most)| format!("min {}, max {}", short(least).trim(), short(most).trim());
    history.extremes(name).map(text).unwrap_or_default()
}

/// How long before the latest point, as a negative number.
fn seconds(at: Instant, now: Instant) -> f64 {
    -now.saturating_duration_since(at).as_secs_f64()
}

fn draw_values(history: &SocketHistory, socket: &Socket, look: Look, area: Rect, buffer: &mut Buffer) {
    let drawn = history.field().map(|field| field.name.clone());
    let mut rows = known_values(socket);
    let known = rows.len();
    if let Some(transport) = &socket.transport {
        rows.extend(transport_values(transport));
    }
    if area.height < FEW_ROWS {
        rows.rotate_left(known);
    }
    if history.fields().next().is_some() {
        let algorithm = socket.algorithm.as_deref().unwrap_or_default();
        rows.push((format!("- {algorithm} keeps -"), String::new()));
    }
    rows.extend(history.fields().map(|field| (field.name.clone(), field.text())));
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
        ("ca state", transport.ca_state.name().to_owned()),
        ("timeouts", format!("{}", transport.timeouts)),
        ("ecn mode", transport.ecn_mode.name().to_owned()),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).into()
}
