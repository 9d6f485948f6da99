// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of an algorithm's sockets.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use super::scrolled;
use crate::commands::top::rates::bit_per_s;
use crate::commands::top::sample::{SocketList, SocketRow};

/// A column, and a key to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the screen says what they are
pub enum SocketColumn {
    Local,
    Remote,
    Process,
    Cgroup,
    Cwnd,
    Ssthresh,
    Rtt,
    Throughput,
    Retransmits,
    State,
    Namespace,
}

impl SocketColumn {
    fn is_text(self) -> bool {
        matches!(self, Self::Local | Self::Remote | Self::Process | Self::Cgroup | Self::State | Self::Namespace)
    }
}

/// All of them.
#[derive(Debug)]
pub struct SocketTable {
    /// Text that a row must have.
    pub filter: String,
    /// What they are sorted by.
    pub column: SocketColumn,
    /// From the largest, or from z.
    pub is_descending: bool,
    /// Rows that the screen has room for.
    pub height: usize,
    /// The first of them.
    pub offset: usize,
    /// Columns that the screen has room for: `s` goes through them.
    pub shown: Vec<SocketColumn>,
    /// A sample has come.
    pub is_known: bool,
    instance: String,
    all: Vec<SocketRow>,
    rates: HashMap<u64, f64>,
    read_at: Option<Instant>,
    /// Places in `all`, of those that the filter lets through, in order.
    order: Vec<usize>,
    marked: BTreeSet<u64>,
    cursor: usize,
    /// The cursor was moved: from then on it stays with its socket; before, at the top.
    is_moved: bool,
}

impl Default for SocketTable {
    fn default() -> Self {
        Self::of("")
    }
}

impl SocketTable {
    /// Of this algorithm; nothing known yet.
    pub fn of(instance: &str) -> Self {
        Self {
            filter: String::new(),
            column: SocketColumn::Throughput,
            is_descending: true,
            height: 0,
            offset: 0,
            shown: vec![SocketColumn::Throughput],
            is_known: false,
            instance: instance.to_owned(),
            all: Vec::new(),
            rates: HashMap::new(),
            read_at: None,
            order: Vec::new(),
            marked: BTreeSet::new(),
            cursor: 0,
            is_moved: false,
        }
    }

    /// Takes in a sample.
    pub fn take(&mut self, list: SocketList) {
        let elapsed = self.read_at.zip(list.at).map(|(before, now)| now.saturating_duration_since(before));
        let before: HashMap<u64, u64> = self.all.iter().map(|row| (row.cookie, row.acked_bytes)).collect();
        let rate = |row: &SocketRow| {
            let grown = row.acked_bytes.checked_sub(*before.get(&row.cookie)?)?;
            Some((row.cookie, bit_per_s(grown, elapsed?)?))
        };
        let cursor = self.selected().map(|row| row.cookie);
        self.rates = list.rows.iter().filter_map(rate).collect();
        (self.all, self.read_at, self.is_known) = (list.rows, list.at, true);
        let there: BTreeSet<u64> = self.all.iter().map(|row| row.cookie).collect();
        self.marked.retain(|cookie| there.contains(cookie));
        self.arrange(cursor);
    }

    /// How many the filter lets through, and how many there are.
    pub fn counts(&self) -> (usize, usize) {
        (self.order.len(), self.all.len())
    }

    /// Those that the screen has room for; only of these anything is made ready to be drawn.
    pub fn visible(&self) -> impl Iterator<Item = &SocketRow> {
        self.order.iter().skip(self.offset).take(self.height).map(|place| &self.all[*place])
    }

    /// Throughput; None before the socket was seen twice.
    pub fn bit_per_s(&self, row: &SocketRow) -> Option<f64> {
        self.rates.get(&row.cookie).copied()
    }

    /// The one under the cursor.
    pub fn selected(&self) -> Option<&SocketRow> {
        self.order.get(self.cursor).map(|place| &self.all[*place])
    }

    /// Place of the cursor among all rows.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor.
    pub fn move_by(&mut self, rows: isize) {
        self.is_moved = true;
        self.cursor = self.cursor.saturating_add_signed(rows).min(self.order.len().saturating_sub(1));
        self.scroll();
    }

    /// Marks the socket under the cursor, or takes its mark away.
    pub fn mark(&mut self) {
        if let Some(cookie) = self.selected().map(|row| row.cookie) {
            if !self.marked.remove(&cookie) {
                self.marked.insert(cookie);
            }
            self.move_by(1);
        }
    }

    /// Takes all marks away.
    pub fn unmark(&mut self) {
        self.marked.clear();
    }

    /// Is it marked?
    pub fn is_marked(&self, row: &SocketRow) -> bool {
        self.marked.contains(&row.cookie)
    }

    /// How many are marked.
    pub fn marked(&self) -> usize {
        self.marked.len()
    }

    /// Which.
    pub fn marks(&self) -> Vec<u64> {
        self.marked.iter().copied().collect()
    }

    /// Sorts by the next column.
    pub fn next_column(&mut self) {
        let place = self.shown.iter().position(|column| *column == self.column).map_or(0, |place| place + 1);
        self.column = self.shown.get(place).or(self.shown.first()).copied().unwrap_or(self.column);
        self.is_descending = !self.column.is_text();
        self.arrange_here();
    }

    /// Sorts the other way round.
    pub fn turn_order(&mut self) {
        self.is_descending = !self.is_descending;
        self.arrange_here();
    }

    /// Shows those with this text in an address, the process, the cgroup or the state.
    pub fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        self.arrange_here();
    }

    /// Gives it as many rows as the screen has room for.
    pub fn fit(&mut self, height: usize) {
        self.height = height;
        self.scroll();
    }

    fn arrange_here(&mut self) {
        let cursor = self.selected().map(|row| row.cookie);
        self.arrange(cursor);
    }

    fn arrange(&mut self, cursor: Option<u64>) {
        let filter = self.filter.to_lowercase();
        let is_of_all = self.instance.to_lowercase().contains(&filter);
        let (all, rates) = (&self.all, &self.rates);
        self.order = (0..all.len()).filter(|place| is_of_all || matches(&all[*place], &filter)).collect();
        let (column, is_descending) = (self.column, self.is_descending);
        self.order.sort_by(|a, b| {
            let (a, b) = (&all[*a], &all[*b]);
            let order = compare(column, a, b, rates);
            let order = if is_descending { order.reverse() } else { order };
            order.then_with(|| a.cookie.cmp(&b.cookie))
        });
        let place = cursor
            .filter(|_| self.is_moved)
            .and_then(|cookie| self.order.iter().position(|place| all[*place].cookie == cookie));
        self.cursor = place.unwrap_or(self.cursor).min(self.order.len().saturating_sub(1));
        self.scroll();
    }

    fn scroll(&mut self) {
        self.offset = scrolled(self.offset, self.cursor, self.height, self.order.len());
    }
}

fn matches(row: &SocketRow, filter: &str) -> bool {
    let labels = [row.process.as_deref(), row.cgroup.as_deref(), Some(&*row.state), Some(&*row.namespace)];
    let texts = labels.into_iter().flatten().chain([row.source.as_str(), row.destination.as_str()]);
    texts.into_iter().any(|text| text.to_lowercase().contains(filter))
}

fn compare(column: SocketColumn, a: &SocketRow, b: &SocketRow, rates: &HashMap<u64, f64>) -> Ordering {
    let rate = |row: &SocketRow| rates.get(&row.cookie).copied().unwrap_or(-1.0);
    match column {
        SocketColumn::Local => a.source.cmp(&b.source),
        SocketColumn::Remote => a.destination.cmp(&b.destination),
        SocketColumn::Process => a.process.cmp(&b.process),
        SocketColumn::Cgroup => a.cgroup.cmp(&b.cgroup),
        SocketColumn::Cwnd => a.cwnd_pkts.cmp(&b.cwnd_pkts),
        SocketColumn::Ssthresh => a.ssthresh_pkts.cmp(&b.ssthresh_pkts),
        SocketColumn::Rtt => a.srtt_us.cmp(&b.srtt_us),
        SocketColumn::Throughput => rate(a).total_cmp(&rate(b)),
        SocketColumn::Retransmits => a.retransmits_pkts.cmp(&b.retransmits_pkts),
        SocketColumn::State => a.state.cmp(&b.state),
        SocketColumn::Namespace => a.namespace.cmp(&b.namespace),
    }
}
