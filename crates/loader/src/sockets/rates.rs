// SPDX-License-Identifier: MIT OR Apache-2.0
//! What people watch of the sockets of each algorithm, added up inside the kernel.

use libbpf_rs::{MapCore as _, MapFlags};

use super::filter::SocketFilter;
use super::iterator::{SocketIterator, SocketProgramName};
use super::raw::{socket_rates, socket_record, socket_totals_key};
use crate::error::{Error, Result};
use crate::netns::NamespaceScan;
use crate::pod::first_of;
use ccctl_catalog::kernel::c_text;

const RATES: SocketProgramName<socket_record> = SocketProgramName::new("rates");

/// What the sockets of one program did between two looks, and how they are at the second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlgorithmRates {
    /// Kernel name.
    pub algorithm: String,
    /// `struct_ops` map of the program; 0: built-in.
    pub map_id: u32,
    /// All, listening ones included.
    pub sockets: u64,
    /// Bytes acknowledged since the last look; from the first one: since the connections began.
    pub acked_bytes: u64,
    /// Segments with data sent, likewise.
    pub data_segments: u64,
    /// Of these, retransmissions.
    pub retransmits_pkts: u64,
    /// Connections with data of theirs acknowledged since the last look.
    pub senders: u64,
    /// Packets acknowledged of these, likewise.
    pub acked_pkts: u64,
    /// Windows of these at this look, each times its packets acknowledged.
    pub acked_cwnd: u64,
    /// Smoothed RTTs of these at this look, likewise.
    pub acked_srtt_us: u64,
    /// Connections with a window or threshold that no algorithm can mean.
    pub impossible: u64,
}

/// Looks at all sockets of the host again and again. As in [`IntervalScanner`](crate::IntervalScanner), what a socket had
/// counted before is kept with the socket: one that closes takes nothing out of the sums.
pub struct SocketRates {
    iterator: SocketIterator<socket_record>,
}

impl SocketRates {
    /// Loads what looks.
    pub fn new() -> Result<Self> {
        Ok(Self { iterator: SocketIterator::of(&RATES, &SocketFilter::default(), "")? })
    }

    /// Rates by program, and the namespaces that could not be looked into, with the reason.
    pub fn look(&mut self) -> Result<(Vec<AlgorithmRates>, Vec<String>)> {
        let failed = |error: libbpf_rs::Error| Error::libbpf("read the rates of sockets", &error);
        let rated = self.iterator.map("rated")?;
        for key in rated.keys() {
            rated.delete(&key).map_err(failed)?;
        }
        let mut scan = NamespaceScan::all()?;
        let failed_in = scan.each(|namespace| self.iterator.each(namespace, |_| {}));
        scan.unreadable.extend(failed_in);
        let mut found = Vec::new();
        for key in rated.keys() {
            let value = rated.lookup(&key, MapFlags::ANY).map_err(failed)?;
            let key = first_of::<socket_totals_key>(&key);
            let value = value.as_deref().and_then(first_of::<socket_rates>);
            found.extend(key.zip(value).map(|(key, value)| rates(&key, &value)));
        }
        found.sort_by(|a, b| (&a.algorithm, a.map_id).cmp(&(&b.algorithm, b.map_id)));
        Ok((found, scan.unreadable))
    }
}

fn rates(key: &socket_totals_key, value: &socket_rates) -> AlgorithmRates {
    AlgorithmRates {
        algorithm: c_text(&key.algorithm),
        map_id: key.map_id,
        sockets: value.sockets,
        acked_bytes: value.acked_bytes,
        data_segments: value.data_segments,
        retransmits_pkts: value.retransmits_pkts,
        senders: value.senders,
        acked_pkts: value.acked_pkts,
        acked_cwnd: value.acked_cwnd,
        acked_srtt_us: value.acked_srtt_us,
        impossible: value.impossible,
    }
}
