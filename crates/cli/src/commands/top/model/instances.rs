// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of algorithms.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::columns::{Columns, Key};
use super::scrolled;
use crate::commands::headings::{self, Heading};
use crate::commands::top::rates::bit_per_s;
use crate::commands::top::sample::{Counters, InstanceSample, Instances, Kind, Senders};

/// Throughputs kept for the trend.
pub const TREND_SAMPLES: usize = 60;
/// The retransmit ratio is over so much time: in one second few are sent, and the ratio would jump.
pub const RATIO_OVER: Duration = Duration::from_secs(10);
/// Means are of those that send within so much time: between two looks that are closer than an RTT nobody seems to.
pub const MEANS_OVER: Duration = Duration::from_secs(1);

/// A column, and a key to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the screen says what they are
pub enum InstanceColumn {
    Name,
    Algorithm,
    Program,
    Sockets,
    Senders,
    Throughput,
    Retransmits,
    Rtt,
    Cwnd,
    AckTime,
    Trend,
}

impl Key for InstanceColumn {
    const ALL: &'static [Self] = &[
        Self::Name,
        Self::Algorithm,
        Self::Program,
        Self::Sockets,
        Self::Senders,
        Self::Throughput,
        Self::Retransmits,
        Self::Rtt,
        Self::Cwnd,
        Self::AckTime,
        Self::Trend,
    ];

    fn heading(self) -> Heading {
        match self {
            Self::Name => headings::NAME,
            Self::Algorithm => headings::ALGORITHM,
            Self::Program => headings::PROGRAM,
            Self::Sockets => headings::SOCKETS,
            Self::Senders => headings::SENDERS,
            Self::Throughput => headings::THROUGHPUT,
            Self::Retransmits => headings::RETRANSMITS_PCT,
            Self::Rtt => headings::SRTT,
            Self::Cwnd => headings::CWND,
            Self::AckTime => headings::ACK_TIME,
            Self::Trend => headings::TREND,
        }
    }

    fn letter(self) -> Option<char> {
        Some(match self {
            Self::Name => 'N',
            Self::Algorithm => 'A',
            Self::Program => 'P',
            Self::Sockets => 'K',
            Self::Senders => 'E',
            Self::Throughput => 'T',
            Self::Retransmits => 'R',
            Self::Rtt => 'M',
            Self::Cwnd => 'C',
            Self::AckTime => 'U',
            Self::Trend => return None,
        })
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Name | Self::Algorithm)
    }
}

/// One algorithm.
#[derive(Debug, Clone, Default)]
pub struct InstanceRow {
    /// As it was seen.
    pub sample: InstanceSample,
    /// None before the second look.
    pub bit_per_s: Option<f64>,
    /// Of the last [`RATIO_OVER`].
    pub retransmits_pct: Option<f64>,
    /// Mean of the smoothed RTTs of those that sent in the last [`MEANS_OVER`], by packets acknowledged.
    pub rtt_us: Option<f64>,
    /// Mean of their windows, likewise.
    pub cwnd_pkts: Option<f64>,
}

#[derive(Debug, Default)]
struct History {
    looks: VecDeque<(Duration, Counters, Senders)>,
    trend: VecDeque<u64>,
}

/// All of them.
#[derive(Debug)]
pub struct InstanceTable {
    /// Those that the filter lets through, in order.
    pub rows: Vec<InstanceRow>,
    /// All together, the filter or not.
    pub total: InstanceRow,
    /// Text that a row must have.
    pub filter: String,
    /// Hides those through which nothing is sent.
    pub is_senders_only: bool,
    /// Columns and order.
    pub columns: Columns<InstanceColumn>,
    /// Rows that the screen has room for.
    pub height: usize,
    /// The first of them.
    pub offset: usize,
    all: Vec<InstanceRow>,
    histories: BTreeMap<String, History>,
    total_history: History,
    cursor: usize,
    /// Until the reader has moved the cursor it stays at the top.
    is_moved: bool,
}

impl Default for InstanceTable {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            total: InstanceRow::default(),
            filter: String::new(),
            is_senders_only: false,
            columns: Columns::sorted_by(InstanceColumn::Throughput),
            height: 0,
            offset: 0,
            all: Vec::new(),
            histories: BTreeMap::new(),
            total_history: History::default(),
            cursor: 0,
            is_moved: false,
        }
    }
}

impl InstanceTable {
    /// Takes in a sample; an algorithm that is gone takes its history along.
    pub fn take(&mut self, instances: Instances) {
        let mut total = InstanceSample { name: "total".to_owned(), ..InstanceSample::default() };
        for sample in &instances.rows {
            add(&mut total, sample);
        }
        self.histories.retain(|name, _| instances.rows.iter().any(|row| row.name == *name));
        let elapsed = instances.elapsed;
        self.total = self.total_history.row(total, elapsed);
        let rows = instances.rows.into_iter();
        self.all =
            rows.map(|sample| self.histories.entry(sample.name.clone()).or_default().row(sample, elapsed)).collect();
        self.arrange();
    }

    /// Throughputs of an algorithm, the latest last, in kbit/s; none given: of all.
    pub fn trend(&self, name: Option<&str>) -> Vec<u64> {
        let history = name.map_or(Some(&self.total_history), |name| self.histories.get(name));
        history.map(|history| history.trend.iter().copied().collect()).unwrap_or_default()
    }

    /// The one under the cursor.
    pub fn selected(&self) -> Option<&InstanceRow> {
        self.rows.get(self.cursor)
    }

    /// Its place.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Moves the cursor.
    pub fn move_by(&mut self, rows: isize) {
        self.is_moved = true;
        self.cursor = self.cursor.saturating_add_signed(rows).min(self.rows.len().saturating_sub(1));
        self.scroll();
    }

    /// An algorithm by its name, whatever the filter hides.
    pub fn named(&self, name: &str) -> Option<&InstanceRow> {
        self.all.iter().find(|row| row.sample.name == name)
    }

    /// Chooses and sorts the rows. The cursor stays with its name once it was moved.
    pub fn arrange(&mut self) {
        let name = self.selected().filter(|_| self.is_moved).map(|row| row.sample.name.clone());
        let filter = self.filter.to_lowercase();
        let is_wanted = |row: &&InstanceRow| matches(row, &filter) && (!self.is_senders_only || may_send(row));
        self.rows = self.all.iter().filter(is_wanted).cloned().collect();
        let (column, is_descending) = (self.columns.sorted, self.columns.is_descending);
        self.rows.sort_by(|a, b| {
            let order = compare(column, a, b);
            let order = if is_descending { order.reverse() } else { order };
            order.then_with(|| a.sample.name.cmp(&b.sample.name))
        });
        let place = name.and_then(|name| self.rows.iter().position(|row| row.sample.name == name));
        self.cursor = place.unwrap_or(self.cursor).min(self.rows.len().saturating_sub(1));
        self.scroll();
    }

    /// Gives it as many rows as the screen has room for.
    pub fn fit(&mut self, height: usize) {
        self.height = height;
        self.scroll();
    }

    fn scroll(&mut self) {
        self.offset = scrolled(self.offset, self.cursor, self.height, self.rows.len());
    }
}

impl History {
    fn row(&mut self, sample: InstanceSample, elapsed: Option<Duration>) -> InstanceRow {
        let rate = elapsed.and_then(|elapsed| bit_per_s(sample.counters.acked_bytes, elapsed));
        if let (Some(elapsed), Some(rate)) = (elapsed, rate) {
            self.looks.push_back((elapsed, sample.counters, sample.senders));
            while self.looks.iter().skip(1).map(|(elapsed, ..)| *elapsed).sum::<Duration>() >= RATIO_OVER {
                self.looks.pop_front();
            }
            self.trend.push_back((rate / 1000.0) as u64);
            if self.trend.len() > TREND_SAMPLES {
                self.trend.pop_front();
            }
        }
        let mut sums = Counters::default();
        self.looks.iter().for_each(|(_, counters, _)| sums.add(*counters));
        let senders = self.latest_senders();
        InstanceRow {
            bit_per_s: rate,
            retransmits_pct: sums.retransmits_pct(),
            rtt_us: senders.srtt_us(),
            cwnd_pkts: senders.cwnd_pkts(),
            sample,
        }
    }

    /// Of as many looks as make [`MEANS_OVER`], at least of the last.
    fn latest_senders(&self) -> Senders {
        let (mut senders, mut covered) = (Senders::default(), Duration::ZERO);
        for (elapsed, _, more) in self.looks.iter().rev() {
            if covered >= MEANS_OVER {
                break;
            }
            covered += *elapsed;
            senders.add(*more);
        }
        senders
    }
}

fn add(total: &mut InstanceSample, sample: &InstanceSample) {
    total.sockets += sample.sockets;
    total.impossible += sample.impossible;
    total.counters.add(sample.counters);
    total.senders.add(sample.senders);
}

/// What a row is, in a word.
pub fn kind_text(kind: &Kind) -> &str {
    match kind {
        Kind::Instance(algorithm) => algorithm,
        Kind::Other => "not ccctl's",
        Kind::BuiltIn => "built-in",
        Kind::Unloaded => "unloaded",
    }
}

fn matches(row: &InstanceRow, filter: &str) -> bool {
    let texts = [row.sample.name.as_str(), kind_text(&row.sample.kind)];
    texts.iter().any(|text| text.to_lowercase().contains(filter))
}

/// Before the second look nobody knows.
fn may_send(row: &InstanceRow) -> bool {
    row.bit_per_s.is_none() || row.cwnd_pkts.is_some()
}

fn compare(column: InstanceColumn, a: &InstanceRow, b: &InstanceRow) -> Ordering {
    let number = |a: Option<f64>, b: Option<f64>| a.unwrap_or(-1.0).total_cmp(&b.unwrap_or(-1.0));
    match column {
        InstanceColumn::Name => a.sample.name.cmp(&b.sample.name),
        InstanceColumn::Algorithm => kind_text(&a.sample.kind).cmp(kind_text(&b.sample.kind)),
        InstanceColumn::Program => a.sample.program.cmp(&b.sample.program),
        InstanceColumn::Sockets => a.sample.sockets.cmp(&b.sample.sockets),
        InstanceColumn::Senders => a.sample.senders.count.cmp(&b.sample.senders.count),
        InstanceColumn::Throughput | InstanceColumn::Trend => number(a.bit_per_s, b.bit_per_s),
        InstanceColumn::Retransmits => number(a.retransmits_pct, b.retransmits_pct),
        InstanceColumn::Rtt => number(a.rtt_us, b.rtt_us),
        InstanceColumn::Cwnd => number(a.cwnd_pkts, b.cwnd_pkts),
        InstanceColumn::AckTime => a.sample.ack_time.cmp(&b.sample.ack_time),
    }
}
