// SPDX-License-Identifier: GPL-2.0-only
//! Queues that look at packets as they leave: the link asks them for one after the other.

use super::codel::{CodelQueue, Leaving};
use super::dualpi2::{DualPi2Queue, DualPi2View};
use crate::packet::Packet;

/// One of them at work.
#[derive(Debug)]
pub(crate) enum Served {
    Codel(CodelQueue),
    DualPi2(DualPi2Queue),
}

impl Served {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Codel(queue) => queue.len(),
            Self::DualPi2(queue) => queue.len(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Codel(queue) => queue.bytes(),
            Self::DualPi2(queue) => queue.bytes(),
        }
    }

    pub(crate) fn limit_pkts(&self) -> u32 {
        match self {
            Self::Codel(queue) => queue.limit_pkts,
            Self::DualPi2(queue) => queue.limit_pkts(),
        }
    }

    pub(crate) fn push(&mut self, now_ns: u64, packet: Packet) {
        match self {
            Self::Codel(queue) => queue.push(now_ns, packet),
            Self::DualPi2(queue) => queue.push(now_ns, packet),
        }
    }

    /// The packet that is to be sent now; those that go before it are given to `dropped`.
    pub(crate) fn pop(&mut self, now_ns: u64, dropped: impl FnMut(Packet)) -> Leaving {
        match self {
            Self::Codel(queue) => queue.pop(now_ns, dropped),
            Self::DualPi2(queue) => queue.pop(now_ns, dropped),
        }
    }

    pub(crate) fn dual_pi2(&self) -> Option<DualPi2View> {
        match self {
            Self::Codel(_) => None,
            Self::DualPi2(queue) => Some(queue.view()),
        }
    }
}
