// SPDX-License-Identifier: GPL-2.0-only
//! The sending end of a link by itself: the queue and the clock of the simulator's links, for packets that are not simulated.
//!
//! The emulator of the lab forwards real packets at the times that are worked out here, so a queue means the same in both.

use super::clock::{Clock, LinkRate};
use super::loss::{Loss, LossProcess};
use super::queue::{Admission, Backlog, Discipline, LinkState, Queue};
use crate::packet::{Packet, MARKABLE, MARKED};
use crate::random::{Purpose, Random};

/// What becomes of a packet that is offered to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The queue was full.
    DroppedFull,
    /// The queue dropped it before it was full.
    DroppedEarly,
    /// The link sends it.
    Sent {
        /// When it leaves the queue.
        start_ns: u64,
        /// When its last bit leaves the sending end.
        end_ns: u64,
        /// The queue marks it.
        is_marked: bool,
        /// It does not reach the other end.
        is_lost: bool,
    },
}

/// A queue and the link that it waits for. Times given to it must not run backwards.
#[derive(Debug)]
pub struct SendingEnd {
    clock: Clock,
    discipline: Discipline,
    backlog: Backlog,
    loss: LossProcess,
    pkt_ns: u64,
}

impl SendingEnd {
    /// Makes it; none for queues that are only simulated. `index` tells links of one seed apart.
    #[must_use]
    pub fn new(rate: &LinkRate, queue: &Queue, loss: Loss, seed: u64, index: u32) -> Option<Self> {
        if queue.only_simulated().is_some() {
            return None;
        }
        Some(Self {
            clock: Clock::new(rate),
            discipline: Discipline::new(queue, rate, Random::new(seed, Purpose::Queue, index)),
            backlog: Backlog::default(),
            loss: LossProcess::new(loss, Random::new(seed, Purpose::Loss, index)),
            pkt_ns: 0,
        })
    }

    /// A packet comes.
    pub fn offer(&mut self, now_ns: u64, size_bytes: u16, is_markable: bool) -> Fate {
        self.backlog.pass_to(now_ns);
        let state = LinkState { now_ns, busy_until_ns: self.clock.busy_until_ns(), pkt_ns: self.pkt_ns };
        let flags = if is_markable { MARKABLE } else { 0 };
        let mut packet = Packet { size_bytes, flags, ..Packet::default() };
        match self.discipline.admits(&self.backlog, state, &mut packet) {
            Admission::DroppedFull => return Fate::DroppedFull,
            Admission::DroppedEarly => return Fate::DroppedEarly,
            Admission::Admitted => {}
        }
        let service = self.clock.serve(now_ns, size_bytes);
        if service.start_ns > now_ns {
            self.backlog.push(service.start_ns, size_bytes);
        }
        self.pkt_ns = service.end_ns - service.start_ns;
        Fate::Sent {
            start_ns: service.start_ns,
            end_ns: service.end_ns,
            is_marked: packet.has(MARKED),
            is_lost: self.loss.loses(service.end_ns, size_bytes),
        }
    }

    /// Packets that wait at a time not before the last offer; the one on the link is not counted.
    #[must_use]
    pub fn queue_pkts(&self, now_ns: u64) -> usize {
        self.backlog.len_at(now_ns)
    }

    /// Their bytes.
    #[must_use]
    pub fn queue_bytes(&self, now_ns: u64) -> u64 {
        self.backlog.bytes_at(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitRate, Codel, Limit, Probability};
    use std::time::Duration;

    fn sent(start_ns: u64, end_ns: u64, is_marked: bool) -> Fate {
        Fate::Sent { start_ns, end_ns, is_marked, is_lost: false }
    }

    /// 1000 bytes at 8 Mbit/s: 1 ms each. The packet on the link is not counted.
    #[test]
    fn a_queue_of_two_marks_above_one_and_drops_the_fourth() {
        let rate = LinkRate::Constant(BitRate::mbit_per_s(8));
        let queue = Queue::Threshold { mark_above_pkts: 0, limit: Limit::Packets(2) };
        let mut end = SendingEnd::new(&rate, &queue, Loss::None, 1, 0).unwrap();
        assert_eq!(end.offer(0, 1000, true), sent(0, 1_000_000, false));
        assert_eq!(end.offer(0, 1000, true), sent(1_000_000, 2_000_000, false));
        assert_eq!(end.offer(0, 1000, true), sent(2_000_000, 3_000_000, true));
        assert_eq!(end.offer(0, 1000, true), Fate::DroppedFull);
        assert_eq!((end.queue_pkts(0), end.queue_bytes(0)), (2, 2000));
        assert_eq!((end.queue_pkts(999_999), end.queue_pkts(1_000_000), end.queue_pkts(2_000_000)), (2, 1, 0));
        assert_eq!(end.offer(1_000_000, 500, false), sent(3_000_000, 3_500_000, false));
        // cannot be marked
    }

    #[test]
    fn losses_come_after_the_queue() {
        let rate = LinkRate::Constant(BitRate::mbit_per_s(8));
        let always = Loss::Bernoulli(Probability::ALWAYS);
        let mut end = SendingEnd::new(&rate, &Queue::DropTail(Limit::Packets(1)), always, 1, 0).unwrap();
        for start_ns in [0, 1_000_000] {
            let end_ns = start_ns + 1_000_000;
            let lost = Fate::Sent { start_ns, end_ns, is_marked: false, is_lost: true };
            assert_eq!(end.offer(0, 1000, false), lost, "lost packets take their time on the link");
        }
        assert_eq!(end.offer(0, 1000, false), Fate::DroppedFull);
    }

    #[test]
    fn a_queue_that_looks_at_leaving_packets_has_no_sending_end() {
        let codel = Codel {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            limit_pkts: 100,
        };
        let rate = LinkRate::Constant(BitRate::mbit_per_s(8));
        assert!(SendingEnd::new(&rate, &Queue::Codel(codel), Loss::None, 1, 0).is_none());
    }
}
