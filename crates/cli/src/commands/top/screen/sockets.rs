// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of an algorithm's sockets.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::columns::{fit, Column};
use super::instances::{cells, header};
use super::{format, line, Look, SELECTED};
use crate::commands::top::model::{Model, SocketColumn, SocketTable};
use crate::commands::top::sample::SocketRow;

/// Addresses get as much room as the visible ones need.
fn columns(table: &SocketTable) -> Vec<Column<SocketColumn>> {
    use SocketColumn as C;
    let longest = |text: fn(&SocketRow) -> &str| table.visible().map(|row| text(row).len()).max().unwrap_or(0);
    let local = longest(|row| &row.source) + 1;
    let remote = longest(|row| &row.destination);
    let process = longest(|row| row.process.as_deref().unwrap_or_default());
    let cgroup = longest(|row| row.cgroup.as_deref().unwrap_or_default());
    vec![
        Column::text(C::Local, " LOCAL", 22, local, 0),
        Column::text(C::Remote, "REMOTE", 21, remote, 1),
        Column::number(C::Cwnd, "CWND", 6, 2),
        Column::number(C::Ssthresh, "SSTHRESH", 9, 7),
        Column::number(C::Rtt, "RTT ms", 7, 3),
        Column::number(C::Throughput, "THROUGHPUT", 11, 4),
        Column::number(C::Retransmits, "RETR", 7, 5),
        Column::text(C::State, "STATE", 11, 11, 6),
        Column::text(C::Process, "PROCESS", 16, process, 8),
        Column::text(C::Cgroup, "CGROUP", 16, cgroup, 9),
        Column::text(C::Namespace, "NETNS", 14, 24, 10),
    ]
}

/// Columns that there is room for.
pub fn shown(table: &SocketTable, width: usize) -> Vec<SocketColumn> {
    fit(&columns(table), width).into_iter().map(|(column, _)| column.key).collect()
}

/// Header and rows.
pub fn draw(model: &Model, look: Look, area: Rect, buffer: &mut Buffer) {
    let table = &model.sockets;
    let columns = fit(&columns(table), area.width.into());
    header(&columns, Some((table.column, table.is_descending)), look, area, buffer);
    for ((index, row), y) in table.visible().enumerate().zip(area.y + 1..area.bottom()) {
        let style = if table.offset + index == table.cursor() { SELECTED } else { Style::new() };
        let area = Rect { y, height: 1, ..area };
        cells(&columns, area, style, buffer, |column, width| cell(column.key, width, row, table));
    }
    let text = match table.counts() {
        _ if !table.is_known => "looking ...",
        (0, 0) => "no socket uses it",
        (0, _) => "the filter hides all",
        _ => return,
    };
    if area.height > 1 {
        line(buffer, Rect { y: area.y + 1, ..area }, text, Style::new());
    }
}

/// How many there are, and which are shown.
pub fn sums(model: &Model) -> String {
    let table = &model.sockets;
    let (shown, all) = table.counts();
    let filter = if table.filter.is_empty() { String::new() } else { format!("   filter /{}", table.filter) };
    let place = if shown > 0 { table.cursor() + 1 } else { 0 };
    let marked = match table.marked() {
        0 => String::new(),
        count => format!("   {count} marked"),
    };
    format!("{place} of {shown} shown, {all} in all{marked}{filter}")
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
