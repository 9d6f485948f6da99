// SPDX-License-Identifier: GPL-2.0-only
//! The hosts at the ends of a path.

use super::Affinity;
use ccctl_testbed::{Namespace, TestbedError};

/// Senders and receiver, and the processors that they run on.
#[derive(Debug)]
pub struct Endpoints {
    senders: Vec<Namespace>,
    receiver: Namespace,
    affinity: Affinity,
}

impl Endpoints {
    /// So many senders and a receiver, joined by nothing yet.
    pub(super) fn new(senders: usize) -> Result<Self, TestbedError> {
        let senders: Result<_, _> = (0..senders).map(|number| Namespace::new(&format!("sender{number}"))).collect();
        Ok(Self { senders: senders?, receiver: Namespace::new("receiver")?, affinity: Affinity::of_this_process()? })
    }

    /// Namespace of a sender; they are counted from 0.
    #[must_use]
    pub fn sender(&self, number: usize) -> &Namespace {
        &self.senders[number]
    }

    /// Those of all senders.
    #[must_use]
    pub fn senders(&self) -> &[Namespace] {
        &self.senders
    }

    /// Namespace of the receiver.
    #[must_use]
    pub fn receiver(&self) -> &Namespace {
        &self.receiver
    }

    /// All namespaces, the receiver's last.
    pub fn all(&self) -> impl Iterator<Item = &Namespace> {
        self.senders.iter().chain([&self.receiver])
    }

    /// Where the programs at the ends are to run.
    #[must_use]
    pub fn affinity(&self) -> &Affinity {
        &self.affinity
    }
}
