// SPDX-License-Identifier: GPL-2.0-only
//! Which packets may wait for a link.

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::LinkRate;
use super::codel::{Codel, CodelQueue};
use super::dualpi2::{DualPi2, DualPi2Queue};
use super::red::{Red, RedState, Verdict};
use super::served::Served;
use super::xcp::XcpRouter;
use crate::packet::{Packet, MARKABLE, MARKED};
use crate::random::Random;

/// What a queue holds at most, the packet on the link not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

/// How a link's queue is managed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queue {
    /// Drops what does not fit.
    DropTail(Limit),
    /// Marks what comes to a queue longer than `mark_above_pkts` (DCTCP's K), drops what does not fit.
    Threshold {
        /// K
        mark_above_pkts: u32,
        /// What fits.
        limit: Limit,
    },
    /// Marks packets of scalable senders (ECT(1), RFC 9331) that will have waited for longer than `mark_above`, drops what does
    /// not fit.
    Step {
        /// Time in the queue.
        mark_above: Duration,
        /// What fits.
        limit: Limit,
    },
    /// Random early detection.
    Red(Red),
    /// Controlled delay.
    Codel(Codel),
    /// Dual queue for scalable and classic senders.
    DualPi2(DualPi2),
    /// XCP's router, which tells senders that carry its header how to change their windows, and drops what does not fit.
    Xcp(Limit),
}

impl Queue {
    /// What only the simulator has: queues that look at packets as they leave, at ECT(1) or at XCP's header. Its name, of others none.
    #[must_use]
    pub const fn only_simulated(&self) -> Option<&'static str> {
        match self {
            Self::DropTail(_) | Self::Threshold { .. } | Self::Red(_) => None,
            Self::Codel(_) => Some("CoDel"),
            Self::DualPi2(_) => Some("DualPI2"),
            Self::Step { .. } => Some("step marker"),
            Self::Xcp(_) => Some("XCP's router"),
        }
    }
}

/// The packets that wait for a link whose service times are known: when each leaves the queue.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    leaving: VecDeque<(u64, u32)>, // ns, bytes
    bytes: u64,
}

impl Backlog {
    /// Forgets those that have left.
    #[inline]
    pub(crate) fn pass_to(&mut self, now_ns: u64) {
        while let Some((time_ns, bytes)) = self.leaving.front() {
            if *time_ns > now_ns {
                break;
            }
            self.bytes -= u64::from(*bytes);
            self.leaving.pop_front();
        }
    }

    pub(crate) fn push(&mut self, leaving_ns: u64, bytes: u16) {
        self.leaving.push_back((leaving_ns, u32::from(bytes)));
        self.bytes += u64::from(bytes);
    }

    /// How many wait at the time that was passed to last.
    pub(crate) fn len(&self) -> usize {
        self.leaving.len()
    }

    /// Their bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many wait at this time, as of which nothing was forgotten.
    pub(crate) fn len_at(&self, now_ns: u64) -> usize {
        self.leaving.len() - self.leaving.partition_point(|(time_ns, _)| *time_ns <= now_ns)
    }

    pub(crate) fn bytes_at(&self, now_ns: u64) -> u64 {
        self.bytes
            - self
                .leaving
                .iter()
                .take_while(|(time_ns, _)| *time_ns <= now_ns)
                .map(|(_, bytes)| u64::from(*bytes))
                .sum::<u64>()
    }

    fn has_room(&self, limit: Limit, size_bytes: u16) -> bool {
        match limit {
            Limit::Packets(pkts) => self.len() < pkts as usize,
            Limit::Bytes(bytes) => self.bytes + u64::from(size_bytes) <= bytes,
        }
    }
}

/// A queue at work.
#[derive(Debug)]
pub(crate) enum Discipline {
    DropTail(Limit),
    Threshold { mark_above_pkts: u32, limit: Limit },
    Step { mark_above_ns: u64, limit: Limit },
    Red(RedState, Limit),
    Served(Box<Served>),
    Xcp(Box<XcpRouter>, Limit),
}

/// The link as a queue sees it when a packet comes.
#[allow(clippy::struct_field_names)] // the unit
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkState {
    pub(crate) now_ns: u64,
    pub(crate) busy_until_ns: u64,
    /// Time of the usual packet on the link.
    pub(crate) pkt_ns: u64,
}

impl Discipline {
    pub(crate) fn new(queue: &Queue, rate: &LinkRate, random: Random) -> Self {
        match queue {
            Queue::DropTail(limit) => Self::DropTail(*limit),
            Queue::Threshold { mark_above_pkts, limit } => {
                Self::Threshold { mark_above_pkts: *mark_above_pkts, limit: *limit }
            }
            Queue::Step { mark_above, limit } => {
                Self::Step { mark_above_ns: mark_above.as_nanos() as u64, limit: *limit }
            }
            Queue::Red(red) => Self::Red(RedState::new(*red, random), Limit::Packets(red.limit_pkts)),
            Queue::Codel(codel) => Self::Served(Box::new(Served::Codel(CodelQueue::new(codel)))),
            Queue::DualPi2(dual) => Self::Served(Box::new(Served::DualPi2(DualPi2Queue::new(dual)))),
            Queue::Xcp(limit) => Self::Xcp(Box::new(XcpRouter::new(rate.mean().as_bits_per_s())), *limit),
        }
    }

    /// Whether a packet may wait, or be marked and wait. What finds the link idle need not wait.
    #[inline]
    pub(crate) fn admits(&mut self, backlog: &Backlog, link: LinkState, packet: &mut Packet) -> Admission {
        let is_idle = link.busy_until_ns <= link.now_ns;
        let queued_pkts = backlog.len();
        let limit = match self {
            Self::DropTail(limit) | Self::Xcp(_, limit) => *limit,
            Self::Threshold { mark_above_pkts, limit } => {
                if queued_pkts > *mark_above_pkts as usize && packet.has(MARKABLE) {
                    packet.flags |= MARKED;
                }
                *limit
            }
            Self::Step { mark_above_ns, limit } => {
                let wait_ns = link.busy_until_ns.saturating_sub(link.now_ns);
                if wait_ns > *mark_above_ns && packet.is_scalable() {
                    packet.flags |= MARKED;
                }
                *limit
            }
            Self::Red(red, limit) => {
                let idle_ns = if is_idle { link.now_ns - link.busy_until_ns } else { 0 };
                match red.arrives(queued_pkts as u32, idle_ns / link.pkt_ns.max(1)) {
                    Verdict::Mark if packet.has(MARKABLE) => packet.flags |= MARKED,
                    Verdict::Mark | Verdict::Drop => return Admission::DroppedEarly,
                    Verdict::Enqueue => {}
                }
                *limit
            }
            Self::Served(queue) => Limit::Packets(queue.limit_pkts()),
        };
        if is_idle || backlog.has_room(limit, packet.size_bytes) {
            Admission::Admitted
        } else {
            Admission::DroppedFull
        }
    }
}

/// What becomes of a packet that comes to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Admitted,
    DroppedFull,
    DroppedEarly,
}
