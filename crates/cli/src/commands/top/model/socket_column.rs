// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns of the table of sockets, and the order that each gives.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::columns::Key;
use crate::commands::headings::{self, Heading};
use crate::commands::top::sample::SocketRow;

/// A column, and a key to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the screen says what they are
pub enum SocketColumn {
    Local,
    Remote,
    Cwnd,
    Ssthresh,
    Rtt,
    Throughput,
    Retransmits,
    State,
    Process,
    Cgroup,
    Namespace,
}

impl Key for SocketColumn {
    const ALL: &'static [Self] = &[
        Self::Local,
        Self::Remote,
        Self::Cwnd,
        Self::Ssthresh,
        Self::Rtt,
        Self::Throughput,
        Self::Retransmits,
        Self::State,
        Self::Process,
        Self::Cgroup,
        Self::Namespace,
    ];

    fn heading(self) -> Heading {
        match self {
            Self::Local => headings::SOURCE,
            Self::Remote => headings::DESTINATION,
            Self::Cwnd => headings::CWND,
            Self::Ssthresh => headings::SSTHRESH,
            Self::Rtt => headings::SRTT,
            Self::Throughput => headings::THROUGHPUT,
            Self::Retransmits => headings::RETRANSMITS,
            Self::State => headings::STATE,
            Self::Process => headings::PROCESS,
            Self::Cgroup => headings::CGROUP,
            Self::Namespace => headings::NETNS,
        }
    }

    fn letter(self) -> Option<char> {
        Some(match self {
            Self::Local => 'O',
            Self::Remote => 'D',
            Self::Cwnd => 'C',
            Self::Ssthresh => 'H',
            Self::Rtt => 'M',
            Self::Throughput => 'T',
            Self::Retransmits => 'R',
            Self::State => 'A',
            Self::Process => 'P',
            Self::Cgroup => 'U',
            Self::Namespace => 'N',
        })
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Local | Self::Remote | Self::Process | Self::Cgroup | Self::State | Self::Namespace)
    }
}

/// Sorts by this column; throughputs are by cookie.
pub fn compare(column: SocketColumn, a: &SocketRow, b: &SocketRow, rates: &HashMap<u64, f64>) -> Ordering {
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
