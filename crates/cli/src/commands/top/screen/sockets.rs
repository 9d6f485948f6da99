// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of an algorithm's sockets.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use ccctl_console::output;

use super::columns::{cells, fit, header, places, Column};
use super::{format, line, Look, SELECTED, STRONG};
use crate::commands::top::model::{Branch, Line, Model, SocketColumn, SocketTable};
use crate::commands::top::sample::SocketRow;

/// Addresses get as much room as the visible ones need.
fn columns(table: &SocketTable, width: usize) -> Vec<(Column<SocketColumn>, usize)> {
    use SocketColumn as C;
    let rows = || table.visible().filter_map(|line| if let Line::Socket(row) = line { Some(row) } else { None });
    let longest = |text: fn(&SocketRow) -> &str| rows().map(|row| text(row).len()).max().unwrap_or(0);
    let local = longest(|row| &row.source) + 1;
    let remote = longest(|row| &row.destination);
    let process = longest(|row| row.process.as_deref().unwrap_or_default());
    let cgroup = longest(|row| row.cgroup.as_deref().unwrap_or_default());
    let mut columns = vec![
        Column::text(C::Local, 22, local, 0),
        Column::text(C::Remote, 21, remote, 1),
        Column::number(C::Cwnd, 6, 2),
        Column::number(C::Ssthresh, 9, 7),
        Column::number(C::Rtt, 7, 3),
        Column::number(C::Throughput, 11, 4),
        Column::number(C::Retransmits, 8, 5),
        Column::text(C::State, 11, 11, 6),
        Column::text(C::Process, 16, process, 8),
        Column::text(C::Cgroup, 16, cgroup, 9),
        Column::text(C::Namespace, 14, 24, 10),
    ];
    columns.retain(|column| !table.columns.is_hidden(column.key));
    fit(&columns, width)
}

/// Columns that there is room for, and where.
pub fn shown(table: &SocketTable, width: usize) -> Vec<(SocketColumn, u16, u16)> {
    places(&columns(table, width))
}

/// Header and rows.
pub fn draw(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let table = &model.sockets;
    let columns = columns(table, area.width.into());
    header(&columns, &table.columns, look, area, buffer);
    for ((index, shown), y) in table.visible().enumerate().zip(area.y + 1..area.bottom()) {
        let style = if table.offset + index == table.cursor() { SELECTED } else { Style::new() };
        let area = Rect { y, height: 1, ..area };
        match shown {
            Line::Branch(branch) => {
                buffer.set_style(area, style);
                line(buffer, area, &branch_text(branch), style.patch(STRONG));
            }
            Line::Socket(row) => {
                cells(&columns, area, style, buffer, |column, width| cell(column.key, width, row, table));
            }
        }
    }
    let text = match table.counts() {
        _ if !table.is_known() => "looking ...",
        (0, 0) => "no socket uses it",
        (0, _) if table.filter.is_empty() => "no socket sends (o: show all)",
        (0, _) => "the filter hides all",
        _ => return,
    };
    if area.height > 1 {
        line(buffer, Rect { y: area.y + 1, ..area }, text, Style::new());
    }
}

/// A minus where one can fold, a plus where one can unfold.
fn branch_text(branch: &Branch) -> String {
    let sign = if branch.is_folded { '+' } else { '-' };
    let (indent, sockets) = ("  ".repeat(branch.depth), output::count(branch.sockets, "socket"));
    format!("{indent}{sign} {}   {sockets}, {}", branch.label, format::bit_per_s(Some(branch.bit_per_s)))
}

/// How many there are, and which are shown.
pub fn sums(model: &Model) -> String {
    let table = &model.sockets;
    let (shown, all) = table.counts();
    let lines = table.line_count();
    let filter = if table.filter.is_empty() { String::new() } else { format!("   filter /{}", table.filter) };
    let place = if lines > 0 { table.cursor() + 1 } else { 0 };
    let marked = match table.marks().len() {
        0 => String::new(),
        count => format!("   {count} marked"),
    };
    format!("line {place} of {lines}, {shown} shown, {all} in all{marked}{filter}")
}

fn cell(column: SocketColumn, width: usize, row: &SocketRow, table: &SocketTable) -> String {
    let text = |text: Option<&str>| format::tail(text.unwrap_or(format::NOTHING), width);
    match column {
        SocketColumn::Local => {
            let mark = if table.is_marked(row) { '*' } else { ' ' };
            format!("{mark}{}", format::tail(&row.source, width.saturating_sub(1)))
        }
        SocketColumn::Remote => text(Some(&row.destination)),
        SocketColumn::Process => text(row.process.as_deref()),
        SocketColumn::Cgroup => text(row.cgroup.as_deref()),
        SocketColumn::Namespace => text(Some(&row.namespace)),
        SocketColumn::State => row.state.to_string(),
        SocketColumn::Cwnd => format::window(row.cwnd_pkts, width),
        SocketColumn::Ssthresh => match row.ssthresh_pkts {
            None if row.cwnd_pkts.is_some() => "inf".to_owned(),
            pkts => format::window(pkts, width),
        },
        SocketColumn::Rtt => format::ms(row.srtt_us.map(|us| us as f64)),
        SocketColumn::Throughput => format::bit_per_s(table.bit_per_s(row)),
        SocketColumn::Retransmits => format::whole(row.cwnd_pkts.map(|_| row.retransmits_pkts)),
    }
}
