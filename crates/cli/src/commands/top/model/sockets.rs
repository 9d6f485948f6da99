// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of an algorithm's sockets.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use super::columns::Columns;
use super::scrolled;
use super::socket_column::{compare, SocketColumn};
use super::tree::{tree, Branch, Place};
use crate::commands::top::rates::bit_per_s;
use crate::commands::top::sample::{SocketList, SocketRow};

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line<'a> {
    /// A cgroup of the tree.
    Branch(&'a Branch),
    /// A socket.
    Socket(&'a SocketRow),
}

/// What the cursor stays with.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Identity {
    Branch(String),
    Socket(u64),
}

/// All of them.
#[derive(Debug)]
pub struct SocketTable {
    /// Text that a row must have.
    pub filter: String,
    /// Hides those that send nothing.
    pub is_senders_only: bool,
    /// By cgroup.
    pub is_tree: bool,
    /// Columns and order.
    pub columns: Columns<SocketColumn>,
    /// Rows that the screen has room for.
    pub height: usize,
    /// The first of them.
    pub offset: usize,
    instance: String,
    all: Vec<SocketRow>,
    rates: HashMap<u64, f64>,
    read_at: Option<Instant>,
    /// Places in `all`, of those that the filter lets through, in order.
    order: Vec<usize>,
    branches: Vec<Branch>,
    folded: BTreeSet<String>,
    lines: Vec<Place>,
    marked: BTreeSet<u64>,
    cursor: usize,
    /// The cursor was moved: from then on it stays with its socket; before, at the top.
    is_moved: bool,
}

impl Default for SocketTable {
    fn default() -> Self {
        Self {
            filter: String::new(),
            is_senders_only: false,
            is_tree: false,
            columns: Columns::sorted_by(SocketColumn::Throughput),
            height: 0,
            offset: 0,
            instance: String::new(),
            all: Vec::new(),
            rates: HashMap::new(),
            read_at: None,
            order: Vec::new(),
            branches: Vec::new(),
            folded: BTreeSet::new(),
            lines: Vec::new(),
            marked: BTreeSet::new(),
            cursor: 0,
            is_moved: false,
        }
    }
}

impl SocketTable {
    /// Of this algorithm from now on; nothing known yet. Columns, order and tree stay as they were chosen.
    pub fn begin(&mut self, instance: &str) {
        *self = Self {
            is_senders_only: self.is_senders_only,
            is_tree: self.is_tree,
            columns: self.columns.clone(),
            height: self.height,
            instance: instance.to_owned(),
            ..Self::default()
        };
    }

    /// Takes in a sample.
    pub fn take(&mut self, list: SocketList) {
        let elapsed = self.read_at.zip(list.at).map(|(before, now)| now.saturating_duration_since(before));
        let before: HashMap<u64, u64> = self.all.iter().map(|row| (row.cookie, row.acked_bytes)).collect();
        let rate = |row: &SocketRow| {
            let grown = row.acked_bytes.checked_sub(*before.get(&row.cookie)?)?;
            Some((row.cookie, bit_per_s(grown, elapsed?)?))
        };
        let cursor = self.identity();
        self.rates = list.rows.iter().filter_map(rate).collect();
        (self.all, self.read_at) = (list.rows, list.at);
        let there: BTreeSet<u64> = self.all.iter().map(|row| row.cookie).collect();
        self.marked.retain(|cookie| there.contains(cookie));
        self.arrange(cursor.as_ref());
    }

    /// Has a sample come?
    pub fn is_known(&self) -> bool {
        self.read_at.is_some()
    }

    /// How many the filter lets through, and how many there are.
    pub fn counts(&self) -> (usize, usize) {
        (self.order.len(), self.all.len())
    }

    /// Lines that there are: sockets, and cgroups of a tree.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Those that the screen has room for; only of these anything is made ready to be drawn.
    pub fn visible(&self) -> impl Iterator<Item = Line<'_>> {
        self.lines.iter().skip(self.offset).take(self.height).map(|place| self.line(*place))
    }

    /// All sockets that the filter lets through, in order.
    pub fn listed(&self) -> impl Iterator<Item = &SocketRow> {
        self.order.iter().map(|place| &self.all[*place])
    }

    fn line(&self, place: Place) -> Line<'_> {
        match place {
            Place::Branch(number) => Line::Branch(&self.branches[number]),
            Place::Socket(place) => Line::Socket(&self.all[place]),
        }
    }

    /// Throughput; None before the socket was seen twice.
    pub fn bit_per_s(&self, row: &SocketRow) -> Option<f64> {
        self.rates.get(&row.cookie).copied()
    }

    /// What is under the cursor.
    pub fn selected_line(&self) -> Option<Line<'_>> {
        self.lines.get(self.cursor).map(|place| self.line(*place))
    }

    /// The socket under the cursor.
    pub fn selected(&self) -> Option<&SocketRow> {
        match self.selected_line()? {
            Line::Socket(row) => Some(row),
            Line::Branch(_) => None,
        }
    }

    /// Sockets in this cgroup and below.
    pub fn within(&self, path: &str) -> Vec<u64> {
        let below = format!("{}/", path.trim_end_matches('/'));
        let is_within = |row: &&SocketRow| {
            let cgroup = row.cgroup.as_deref().unwrap_or_default();
            cgroup == path || !path.is_empty() && cgroup.starts_with(&below)
        };
        self.listed().filter(is_within).map(|row| row.cookie).collect()
    }

    fn identity(&self) -> Option<Identity> {
        Some(match self.selected_line()? {
            Line::Branch(branch) => Identity::Branch(branch.path.clone()),
            Line::Socket(row) => Identity::Socket(row.cookie),
        })
    }

    /// Place of the cursor among all lines.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor.
    pub fn move_by(&mut self, rows: isize) {
        self.is_moved = true;
        self.cursor = self.cursor.saturating_add_signed(rows).min(self.lines.len().saturating_sub(1));
        self.scroll();
    }

    /// Shows or hides what is below the cgroup under the cursor. False: there is none.
    pub fn fold(&mut self) -> bool {
        let Some(Line::Branch(branch)) = self.selected_line() else { return false };
        let path = branch.path.clone();
        if !self.folded.remove(&path) {
            self.folded.insert(path);
        }
        self.is_moved = true;
        self.arrange_here();
        true
    }

    /// Marks what is under the cursor, or takes the mark away: a socket, or all of a cgroup.
    pub fn mark(&mut self) {
        let cookies = match self.selected_line() {
            None => return,
            Some(Line::Socket(row)) => vec![row.cookie],
            Some(Line::Branch(branch)) => self.within(&branch.path),
        };
        if cookies.iter().all(|cookie| self.marked.contains(cookie)) {
            self.marked.retain(|cookie| !cookies.contains(cookie));
        } else {
            self.marked.extend(cookies);
        }
        self.move_by(1);
    }

    /// Takes all marks away.
    pub fn unmark(&mut self) {
        self.marked.clear();
    }

    /// Is it marked?
    pub fn is_marked(&self, row: &SocketRow) -> bool {
        self.marked.contains(&row.cookie)
    }

    /// Which are marked.
    pub fn marks(&self) -> &BTreeSet<u64> {
        &self.marked
    }

    /// Gives it as many rows as the screen has room for.
    pub fn fit(&mut self, height: usize) {
        self.height = height;
        self.scroll();
    }

    /// Chooses and sorts the rows anew.
    pub fn arrange_here(&mut self) {
        let cursor = self.identity();
        self.arrange(cursor.as_ref());
    }

    fn arrange(&mut self, cursor: Option<&Identity>) {
        self.sort();
        let (all, rates) = (&self.all, &self.rates);
        if self.is_tree {
            let rate = |row: &SocketRow| rates.get(&row.cookie).copied().unwrap_or_default();
            let cgroup = |row: &'_ SocketRow| row.cgroup.clone().unwrap_or_default();
            let paths: Vec<_> = self.order.iter().map(|place| cgroup(&all[*place])).collect();
            let sockets = self.order.iter().zip(&paths).map(|(place, path)| (*place, &**path, rate(&all[*place])));
            (self.branches, self.lines) = tree(sockets, &self.folded);
        } else {
            self.branches.clear();
            self.lines = self.order.iter().map(|place| Place::Socket(*place)).collect();
        }
        let is_it = |place: &Place, wanted: &Identity| match (place, wanted) {
            (Place::Branch(number), Identity::Branch(path)) => self.branches[*number].path == *path,
            (Place::Socket(place), Identity::Socket(cookie)) => all[*place].cookie == *cookie,
            _ => false,
        };
        let found = cursor
            .filter(|_| self.is_moved)
            .and_then(|wanted| self.lines.iter().position(|place| is_it(place, wanted)));
        self.cursor = found.unwrap_or(self.cursor).min(self.lines.len().saturating_sub(1));
        self.scroll();
    }

    fn sort(&mut self) {
        let filter = self.filter.to_lowercase();
        let is_of_all = self.instance.to_lowercase().contains(&filter);
        let (all, rates) = (&self.all, &self.rates);
        let is_wanted =
            |row: &SocketRow| (is_of_all || matches(row, &filter)) && (!self.is_senders_only || may_send(row, rates));
        self.order = (0..all.len()).filter(|place| is_wanted(&all[*place])).collect();
        let (column, is_descending) = (self.columns.sorted, self.columns.is_descending);
        self.order.sort_by(|a, b| {
            let (a, b) = (&all[*a], &all[*b]);
            let order = compare(column, a, b, rates);
            let order = if is_descending { order.reverse() } else { order };
            order.then_with(|| a.cookie.cmp(&b.cookie))
        });
    }

    fn scroll(&mut self) {
        self.offset = scrolled(self.offset, self.cursor, self.height, self.lines.len());
    }
}

fn matches(row: &SocketRow, filter: &str) -> bool {
    let labels = [row.process.as_deref(), row.cgroup.as_deref(), Some(&*row.state), Some(&*row.namespace)];
    let texts = labels.into_iter().flatten().chain([row.source.as_str(), row.destination.as_str()]);
    texts.into_iter().any(|text| text.to_lowercase().contains(filter))
}

/// Something is in flight, or was acknowledged between two looks; before the second one nobody knows.
fn may_send(row: &SocketRow, rates: &HashMap<u64, f64>) -> bool {
    row.in_flight_pkts > 0 || rates.get(&row.cookie).map_or(row.cwnd_pkts.is_some(), |rate| *rate > 0.0)
}
