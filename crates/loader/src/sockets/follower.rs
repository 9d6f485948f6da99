// SPDX-License-Identifier: MIT OR Apache-2.0
//! Following sockets: looking at a chosen few again and again, at the cost of these few.

use std::time::{Duration, Instant};

use libbpf_rs::Link;

use super::filter::SocketFilter;
use super::iterator::{samples_in, SocketIterator, SocketProgramName, SocketSamples, SAMPLES, SAMPLES_AMONG_ALL};
use super::raw::{socket_detail, socket_sample};
use super::record::SocketRecord;
use crate::error::{Error, Result};
use crate::netns::NamespaceScan;

const FOLLOW: SocketProgramName<socket_detail> = SocketProgramName::new("follow");
/// Namespaces are looked for among all processes, which takes its time.
const SCAN_EVERY: Duration = Duration::from_secs(1);

/// A followed socket at one moment, seen without its lock: the values of a busy socket may be of two neighbouring ACKs.
#[derive(Debug, Clone)]
pub struct SocketSample {
    /// When, on `CLOCK_MONOTONIC`.
    pub time: Duration,
    /// The socket; without addresses and cgroup.
    pub record: SocketRecord,
}

/// How the followed sockets are gone over.
enum Samples {
    /// By themselves, in all namespaces together.
    Followed(SocketSamples),
    /// Among all sockets, one namespace after the other: some kernels refuse the iterator over socket storage even to root.
    AmongAll(Link),
}

/// Finds sockets by a filter and samples those that it has found, in all namespaces together.
pub struct SocketFollower {
    iterator: SocketIterator<socket_detail>,
    samples: Samples,
    filter: SocketFilter,
    scan: NamespaceScan,
    scanned: Instant,
}

impl SocketFollower {
    /// Loads it; nothing is followed yet.
    pub fn new(filter: &SocketFilter) -> Result<Self> {
        let scan = filter.scan()?;
        let (iterator, samples) = match SocketIterator::with(&FOLLOW, &[SAMPLES], filter, "") {
            Err(Error::Host { .. }) => {
                let iterator = SocketIterator::with(&FOLLOW, &[SAMPLES_AMONG_ALL], filter, "")?;
                let link = iterator.samples_among_all()?;
                (iterator, Samples::AmongAll(link))
            }
            loaded => {
                let iterator = loaded?;
                let samples = iterator.samples()?;
                (iterator, Samples::Followed(samples))
            }
        };
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
        let mut tell = |raw: socket_sample| tell(&SocketSample::from(raw));
        match &self.samples {
            Samples::Followed(samples) => samples.each(tell),
            Samples::AmongAll(link) => self.scan.found.iter().try_for_each(|namespace| {
                match samples_in(link, namespace) {
                    Ok(samples) => samples.into_iter().for_each(&mut tell),
                    Err(Error::Gone { .. }) => {}
                    Err(error) => return Err(error),
                }
                Ok(())
            }),
        }
    }
}

impl From<socket_sample> for SocketSample {
    fn from(raw: socket_sample) -> Self {
        Self { time: Duration::from_nanos(raw.time_ns), record: SocketRecord(raw.detail) }
    }
}
