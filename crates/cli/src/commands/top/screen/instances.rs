// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of algorithms.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::columns::{cells, fit, header, places, Column};
use super::{format, line, Look, SELECTED, STRONG};
use crate::commands::top::model::{Columns, InstanceColumn, InstanceRow, Model};
use crate::commands::top::sample::{ClockState, Kind};

fn columns(chosen: &Columns<InstanceColumn>, width: usize) -> Vec<(Column<InstanceColumn>, usize)> {
    use InstanceColumn as C;
    let mut columns = vec![
        Column::text(C::Name, 15, 15, 0),
        Column::text(C::Algorithm, 11, 16, 7),
        Column::number(C::Program, 8, 8),
        Column::number(C::Sockets, 7, 1),
        Column::number(C::Senders, 7, 9),
        Column::number(C::Throughput, 11, 2),
        Column::number(C::Retransmits, 8, 3),
        Column::number(C::Rtt, 7, 4),
        Column::number(C::Cwnd, 7, 5),
        Column::number(C::AckTime, 7, 6),
        Column::text(C::Trend, 10, 60, 10),
    ];
    columns.retain(|column| !chosen.is_hidden(column.key));
    fit(&columns, width)
}

/// Columns that there is room for, and where.
pub fn shown(model: &Model, width: usize) -> Vec<(InstanceColumn, u16, u16)> {
    places(&columns(&model.instances.columns, width))
}

/// Header and rows.
pub fn draw(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let table = &model.instances;
    let columns = columns(&table.columns, area.width.into());
    header(&columns, &table.columns, look, area, buffer);
    let rows = table.rows.iter().enumerate().skip(table.offset).take(table.height);
    for ((place, row), y) in rows.zip(area.y + 1..area.bottom()) {
        let style = if place == table.cursor() { SELECTED } else { Style::new() };
        let name = row.sample.name.as_str();
        let area = Rect { y, height: 1, ..area };
        cells(&columns, area, style, buffer, |column, width| cell(column.key, width, row, model, Some(name)));
    }
    if table.rows.is_empty() && area.height > 1 {
        let text = match (table.filter.is_empty(), table.is_senders_only) {
            (false, _) => "the filter hides all",
            (true, true) => "no socket sends (o: show all)",
            (true, false) => "nothing seen yet",
        };
        line(buffer, Rect { y: area.y + 1, ..area }, text, Style::new());
    }
}

/// The line of sums.
pub fn draw_total(model: &Model, _look: Look, area: Rect, buffer: &mut Buffer) {
    let columns = columns(&model.instances.columns, area.width.into());
    let total = &model.instances.total;
    cells(&columns, area, STRONG, buffer, |column, width| match column.key {
        InstanceColumn::Name => "all".to_owned(),
        InstanceColumn::Algorithm if !model.instances.filter.is_empty() => {
            format!("/{}", model.instances.filter)
        }
        InstanceColumn::Algorithm if model.unreadable > 0 => format!("{} unseen", model.unreadable),
        InstanceColumn::Algorithm | InstanceColumn::Program | InstanceColumn::AckTime => String::new(),
        _ => cell(column.key, width, total, model, None),
    });
}

fn cell(column: InstanceColumn, width: usize, row: &InstanceRow, model: &Model, name: Option<&str>) -> String {
    let sample = &row.sample;
    match column {
        InstanceColumn::Name => sample.name.clone(),
        InstanceColumn::Algorithm => kind_text(&sample.kind).to_owned(),
        InstanceColumn::Program => format::whole(sample.program),
        InstanceColumn::Sockets => sample.sockets.to_string(),
        InstanceColumn::Senders => sample.senders.count.to_string(),
        InstanceColumn::Throughput => format::bit_per_s(row.bit_per_s),
        InstanceColumn::Retransmits => format::pct(row.retransmits_pct),
        InstanceColumn::Rtt => format::ms(row.rtt_us),
        InstanceColumn::Cwnd => format::marked(format::mean(row.cwnd_pkts), sample.impossible > 0, width),
        InstanceColumn::AckTime => ack_time(row, &model.clock),
        InstanceColumn::Trend => trend(&model.instances.trend(name), width),
    }
}

fn kind_text(kind: &Kind) -> &str {
    crate::commands::top::model::kind_text(kind)
}

/// Where it is off, the key that turns it on.
fn ack_time(row: &InstanceRow, clock: &ClockState) -> String {
    match clock {
        ClockState::Off => "off (a)".to_owned(),
        ClockState::Failed(_) => "failed".to_owned(),
        ClockState::On => row
            .sample
            .ack_time
            .map_or(format::NOTHING.to_owned(), |time| format!("{:.1}", time.as_nanos() as f64 / 1000.0)),
    }
}

/// The latest values at the right, each against the largest; of a row without any, nothing.
fn trend(values: &[u64], width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let largest = values.iter().copied().max().unwrap_or(0);
    if largest == 0 {
        return String::new();
    }
    let shown = &values[values.len().saturating_sub(width)..];
    let indent = width.saturating_sub(shown.len());
    let bar = |value: &u64| if *value == 0 { ' ' } else { BARS[((*value * 7).div_ceil(largest)) as usize] };
    " ".repeat(indent) + &shown.iter().map(bar).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_has_its_newest_at_the_right() {
        assert_eq!(trend(&[0, 1, 70, 35], 6), "   ▂█▅");
        assert_eq!(trend(&[9, 9, 9, 0, 7], 3), "█ ▇");
        assert_eq!(trend(&[0, 0], 6), "");
    }
}
