// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sockets did between two looks, added up inside the kernel.

use std::collections::BTreeMap;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::netns::NamespaceScan;
use crate::pod::first_of;
use crate::rules;
use crate::sockets::raw::{
    socket_record, socket_window, socket_window_key, SOURCE_ALL, SOURCE_CGROUP, SOURCE_PEER, SOURCE_USER,
};
use crate::sockets::{SocketFilter, SocketIterator, SocketProgramName};
use ccctl_catalog::kernel::c_text;

const WINDOWS: SocketProgramName<socket_record> = SocketProgramName::new("windows");
/// What a socket had counted when it was last looked at.
const SEEN: &str = "seen";

/// What connections did in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalStats {
    /// Connections that sent data in it, or wait for an acknowledgement at its end.
    pub active: u64,
    /// Of these, those with an impossible window; the following fields leave them out.
    pub impossible: u64,
    /// Connections that wait for an acknowledgement at its end, after a retransmission timeout.
    pub stalled: u64,
    /// Segments with data that were sent.
    pub data_segments: u64,
    /// Of these, retransmissions.
    pub retransmits_pkts: u64,
    /// Retransmission timeouts; 0 before Linux 6.7.
    pub timeouts: u64,
}

impl IntervalStats {
    /// What is left without these connections, which are among them.
    #[must_use]
    pub fn without(self, some: &Self) -> Self {
        Self {
            active: self.active.saturating_sub(some.active),
            impossible: self.impossible.saturating_sub(some.impossible),
            stalled: self.stalled.saturating_sub(some.stalled),
            data_segments: self.data_segments.saturating_sub(some.data_segments),
            retransmits_pkts: self.retransmits_pkts.saturating_sub(some.retransmits_pkts),
            timeouts: self.timeouts.saturating_sub(some.timeouts),
        }
    }
}

impl From<socket_window> for IntervalStats {
    fn from(raw: socket_window) -> Self {
        let socket_window { active, impossible, stalled, data_segments, retransmits_pkts, timeouts } = raw;
        Self { active, impossible, stalled, data_segments, retransmits_pkts, timeouts }
    }
}

/// What the connections of one algorithm did in a window, and how much of it comes from where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlgorithmInterval {
    /// All of them.
    pub all: IntervalStats,
    /// Those with each remote IPv4 address, or remote /64 of IPv6.
    pub peers: Vec<IntervalStats>,
    /// Those of each user.
    pub users: Vec<IntervalStats>,
    /// Those of each cgroup.
    pub cgroups: Vec<IntervalStats>,
}

impl AlgorithmInterval {
    fn add(&mut self, source: u32, window: IntervalStats) {
        match source {
            SOURCE_ALL => self.all = window,
            SOURCE_PEER => self.peers.push(window),
            SOURCE_USER => self.users.push(window),
            SOURCE_CGROUP => self.cgroups.push(window),
            _ => {}
        }
    }
}

/// Looks again and again at the sockets of the host that a rule or a default has given their algorithm, but those of
/// network namespaces that a user namespace owns. What a socket had counted before is kept with the socket, so that sums
/// are right although sockets close. What a socket did between the last look and its end is missed.
pub struct IntervalScanner {
    iterator: SocketIterator<socket_record>,
    /// Map of what rules have given; it goes with the last rule.
    rules: Vec<u32>,
    is_first: bool,
}

impl IntervalScanner {
    /// Loads what looks.
    pub fn new() -> Result<Self> {
        let rules = rules::memory_of_sockets()?;
        Ok(Self { iterator: load(&rules, None)?, rules: ids_of(&rules)?, is_first: true })
    }

    /// What was done since the last look, by kernel name; None from the first one. A network namespace that cannot be
    /// entered is left out.
    pub fn look(&mut self) -> Result<Option<BTreeMap<String, AlgorithmInterval>>> {
        self.follow_rules()?;
        drain(&self.iterator.map("news")?, |_, _| {})?; // of a look that failed
        for namespace in &NamespaceScan::all()?.found {
            self.iterator.each(namespace, |_| {}).or_else(|error| match error {
                Error::Kernel { .. } | Error::Gone { .. } => Ok(()), // it has gone meanwhile
                error => Err(error),
            })?;
        }
        let mut windows: BTreeMap<String, AlgorithmInterval> = BTreeMap::new();
        drain(&self.iterator.map("news")?, |key, window| {
            windows.entry(c_text(&key.algorithm)).or_default().add(key.source, window.into());
        })?;
        let is_first = std::mem::replace(&mut self.is_first, false);
        Ok((!is_first).then_some(windows))
    }

    /// With the first rule there are other maps of what rules have given.
    fn follow_rules(&mut self) -> Result<()> {
        let rules = rules::memory_of_sockets()?;
        let ids = ids_of(&rules)?;
        if ids == self.rules {
            return Ok(());
        }
        let seen = self.iterator.map(SEEN)?;
        let seen = MapHandle::try_from(&seen).map_err(|error| Error::libbpf("store the samples", &error))?;
        self.iterator = load(&rules, Some(&seen))?;
        self.rules = ids;
        Ok(())
    }
}

fn load(rules: &[(&'static str, MapHandle)], seen: Option<&MapHandle>) -> Result<SocketIterator<socket_record>> {
    let rules = rules.iter().map(|(name, map)| (*name, map));
    let maps: Vec<(&str, &MapHandle)> = rules.chain(seen.map(|map| (SEEN, map))).collect();
    SocketIterator::on(&WINDOWS, &[], &maps, &SocketFilter::default(), "")
}

fn ids_of(maps: &[(&'static str, MapHandle)]) -> Result<Vec<u32>> {
    let ids = maps.iter().map(|(_, map)| Ok(map.info()?.info.id));
    ids.collect::<libbpf_rs::Result<_>>().map_err(|error| Error::libbpf("read what sockets remember of rules", &error))
}

/// Takes everything out.
fn drain(map: &impl MapCore, mut tell: impl FnMut(&socket_window_key, socket_window)) -> Result<()> {
    let keys: Vec<Vec<u8>> = map.keys().collect();
    for key in keys {
        let failed = |error: libbpf_rs::Error| Error::libbpf("read the sockets' counters", &error);
        let value = map.lookup(&key, MapFlags::ANY).map_err(failed)?;
        map.delete(&key).map_err(failed)?;
        let value = value.as_deref().and_then(first_of::<socket_window>);
        if let (Some(key), Some(value)) = (first_of::<socket_window_key>(&key), value) {
            tell(&key, value);
        }
    }
    Ok(())
}
