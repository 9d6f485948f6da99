//! What sockets did between two looks, added up inside the kernel.

use std::collections::BTreeMap;

use libbpf_rs::{MapCore as _, MapFlags};

use super::filter::SocketFilter;
use super::iterator::{SocketIterator, SocketProgramName};
use super::raw::{socket_record, socket_totals_key, socket_window};
use super::record::c_text;
use crate::error::{Error, Result};
use crate::netns::NamespaceScan;
use crate::plain::values_of;

const WINDOWS: SocketProgramName<socket_record> = SocketProgramName::new("windows");

/// What the connections of one algorithm did in a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketWindow {
    /// Connections that sent data in it, or wait for an acknowledgement at its end.
    pub active: u64,
    /// Of these, at its end: wait for an acknowledgement, and a retransmission timeout has come.
    pub stalled: u64,
    /// Segments with data that were sent.
    pub data_segments: u64,
    /// Of these, retransmissions.
    pub retransmits_pkts: u64,
    /// Retransmission timeouts; 0 before Linux 6.7.
    pub timeouts: u64,
}

impl SocketWindow {
    fn add(&mut self, more: &socket_window) {
        self.active += more.active;
        self.stalled += more.stalled;
        self.data_segments += more.data_segments;
        self.retransmits_pkts += more.retransmits_pkts;
        self.timeouts += more.timeouts;
    }
}

/// Looks at all sockets of the host again and again. What a socket had counted before is kept with the socket, so that
/// sums are right although sockets close. What a socket did between the last look and its end is missed.
pub struct SocketWindows {
    iterator: SocketIterator<socket_record>,
    is_first: bool,
}

impl SocketWindows {
    /// Loads what looks.
    pub fn new() -> Result<Self> {
        Ok(Self { iterator: SocketIterator::of(&WINDOWS, &SocketFilter::default(), "")?, is_first: true })
    }

    /// What was done since the last look, by kernel name; None from the first one. A network namespace that cannot be
    /// entered is left out.
    pub fn look(&mut self) -> Result<Option<BTreeMap<String, SocketWindow>>> {
        let failed = |error: libbpf_rs::Error| Error::libbpf("read what sockets did", &error);
        let news = self.iterator.map("news")?;
        for key in news.keys() {
            news.delete(&key).map_err(failed)?;
        }
        for namespace in &NamespaceScan::all()?.found {
            self.iterator.each(namespace, |_| {}).or_else(|error| match error {
                Error::Kernel { .. } => Ok(()), // it has gone meanwhile
                error => Err(error),
            })?;
        }
        let mut windows: BTreeMap<String, SocketWindow> = BTreeMap::new();
        for key in news.keys() {
            let value = news.lookup(&key, MapFlags::ANY).map_err(failed)?;
            let key = values_of::<socket_totals_key>(&key).next();
            let value = value.as_deref().and_then(|bytes| values_of::<socket_window>(bytes).next());
            if let (Some(key), Some(value)) = (key, value) {
                windows.entry(c_text(&key.algorithm)).or_default().add(&value);
            }
        }
        let is_first = std::mem::replace(&mut self.is_first, false);
        Ok((!is_first).then_some(windows))
    }
}
