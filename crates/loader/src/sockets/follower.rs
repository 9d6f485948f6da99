// SPDX-License-Identifier: MIT OR Apache-2.0
//! Following sockets: looking at a chosen few again and again, at the cost of these few.

use std::time::{Duration, Instant};

use super::filter::SocketFilter;
use super::iterator::{SocketIterator, SocketProgramName, SocketSamples};
use super::raw::{socket_detail, socket_sample};
use super::record::SocketRecord;
use crate::error::{Error, Result};
use crate::netns::NamespaceScan;

const FOLLOW: SocketProgramName<socket_detail> = SocketProgramName::new("follow");
const SAMPLES: &str = "samples";
/// Namespaces are looked for among all processes, which takes its time.
const SCAN_EVERY: Duration = Duration::from_secs(1);

/// A followed socket at one moment, seen without its lock: the values of a busy socket may be of two neighbouring ACKs.
#[derive(Debug, Clone)]
pub struct SocketSample {
    /// When, on `CLOCK_MONOTONIC`.
    pub time: Duration,
    /// The socket; without addresses and cgroup.
    pub record: SocketRecord,
    /// First byte not acknowledged: a sequence number.
    pub snd_una: u32,
    /// Mean deviation of the RTT: RTTVAR of RFC 6298, as `ss` shows it.
    pub rtt_variation: Duration,
}

/// Finds sockets by a filter and samples those that it has found, in all namespaces together.
pub struct SocketFollower {
    iterator: SocketIterator<socket_detail>,
    samples: SocketSamples,
    filter: SocketFilter,
    scan: NamespaceScan,
    scanned: Instant,
}

impl SocketFollower {
    /// Loads it; nothing is followed yet.
    pub fn new(filter: &SocketFilter) -> Result<Self> {
        let scan = filter.scan()?;
        let iterator = SocketIterator::with(&FOLLOW, &[SAMPLES], filter, "")?;
        let samples = iterator.samples()?;
        Ok(Self { iterator, samples, filter: filter.clone(), scan, scanned: Instant::now() })
    }

    /// Looks for sockets that the filter selects, listening ones left out; follows them, and tells of those that are new.
    pub fn find(&mut self, mut tell: impl FnMut(&str, &SocketRecord) + Send) -> Result<()> {
        self.iterator.select()?;
        if self.filter.namespace.is_none() && self.scanned.elapsed() >= SCAN_EVERY {
            self.scan = self.filter.scan()?;
            self.scanned = Instant::now();
        }
        for namespace in &self.scan.found {
            let found = self.iterator.each(namespace, |detail| tell(&namespace.label, &SocketRecord(detail)));
            found.or_else(|error| match error {
                Error::Kernel { .. } | Error::Gone { .. } if self.filter.namespace.is_none() => Ok(()), // it has gone meanwhile
                error => Err(error),
            })?;
        }
        Ok(())
    }

    /// Network namespaces that cannot be looked into, and why.
    #[must_use]
    pub fn unreadable(&self) -> &[String] {
        &self.scan.unreadable
    }

    /// Tells how each followed socket is now.
    pub fn sample(&self, mut tell: impl FnMut(&SocketSample)) -> Result<()> {
        self.samples.each(|raw: socket_sample| {
            tell(&SocketSample {
                time: Duration::from_nanos(raw.time_ns),
                record: SocketRecord(raw.detail),
                snd_una: raw.detail.stats.snd_una,
                rtt_variation: Duration::from_micros((raw.detail.stats.mdev_us >> 2).into()),
            });
        })
    }
}
