// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading whole records of sockets.

use std::collections::HashSet;

use super::filter::SocketFilter;
use super::iterator::{SocketIterator, SocketProgramName};
use super::raw::socket_detail;
use super::record::SocketRecord;
use crate::error::{Error, Result};
use crate::netns::{Namespace, NamespaceScan};

const DETAILS: SocketProgramName<socket_detail> = SocketProgramName::new("details");

/// Tells of the sockets that a filter selects. Loaded once, it can be asked again and again.
pub struct SocketReader {
    iterator: SocketIterator<socket_detail>,
    scan: NamespaceScan,
    one_namespace: bool,
    filter: SocketFilter,
}

impl SocketReader {
    /// Prepares the question. With a process in the filter, it is about the sockets that the process has open now.
    pub fn new(filter: &SocketFilter) -> Result<Self> {
        let scan = filter.scan()?;
        let iterator = SocketIterator::of(&DETAILS, filter, "")?;
        Ok(Self { iterator, scan, one_namespace: filter.namespace.is_some(), filter: filter.clone() })
    }

    /// From now on in the network namespaces that there are now.
    pub fn scan_again(&mut self) -> Result<()> {
        self.scan = self.filter.scan()?;
        Ok(())
    }

    /// Tells of each socket once, as the kernel shows it, with the label of its namespace. A socket that is opened or
    /// closed meanwhile may or may not be told of. Returns the namespaces that could not be looked into, with the reason.
    pub fn each(&self, mut tell: impl FnMut(&str, &SocketRecord) + Send) -> Result<Vec<String>> {
        let mut unreadable = self.scan.unreadable.clone();
        for namespace in &self.scan.found {
            match self.each_in(namespace, &mut tell) {
                Ok(()) => {}
                Err(Error::Gone { .. }) if !self.one_namespace => {}
                Err(error) if self.one_namespace => return Err(error),
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        Ok(unreadable)
    }

    fn each_in(&self, namespace: &Namespace, tell: &mut (impl FnMut(&str, &SocketRecord) + Send)) -> Result<()> {
        // Before 6.17 the kernel may show a socket again when its hash bucket changes between two reads.
        let mut seen = HashSet::new();
        self.iterator.each(namespace, |detail| {
            if seen.insert(detail.socket.cookie) {
                tell(&namespace.label, &SocketRecord(detail));
            }
        })
    }
}
