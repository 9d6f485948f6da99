// SPDX-License-Identifier: GPL-2.0-only
//! Controlled delay: RFC 8289, whose pseudo-code (section 5) this follows name by name.

use std::collections::VecDeque;
use std::time::Duration;

use crate::native::arithmetic::cc_sqrt;
use crate::packet::{Packet, MARKABLE, MARKED};

/// What `CoDel` is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    /// Delay that a queue may have for ever.
    pub target: Duration,
    /// About the longest RTT; a queue may stand for this long.
    pub interval: Duration,
    /// Marks instead of dropping.
    pub ecn: bool,
    /// What waits at most, in packets.
    pub limit_pkts: u32,
}

impl Default for Codel {
    /// Section 4.2, 4.3: 5 ms, 100 ms
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false, limit_pkts: 1000 }
    }
}

/// Bytes that make up no queue: one packet.
const MTU_BYTES: u64 = 1514;

/// A queue that looks at packets as they leave.
#[derive(Debug)]
pub(crate) struct CodelQueue {
    target_ns: u64,
    interval_ns: u64,
    ecn: bool,
    pub(crate) limit_pkts: u32,
    waiting: VecDeque<Packet>, // time_ns: when it came
    waiting_bytes: u64,
    first_above_time_ns: Option<u64>,
    drop_next_ns: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// A packet that leaves, and those that were dropped before it.
pub(crate) struct Leaving {
    pub(crate) packet: Option<Packet>,
    pub(crate) marked: bool,
}

impl CodelQueue {
    pub(crate) fn new(spec: &Codel) -> Self {
        Self {
            target_ns: spec.target.as_nanos() as u64,
            interval_ns: spec.interval.as_nanos() as u64,
            ecn: spec.ecn,
            limit_pkts: spec.limit_pkts,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            first_above_time_ns: None,
            drop_next_ns: 0,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.waiting_bytes
    }

    pub(crate) fn push(&mut self, now_ns: u64, mut packet: Packet) {
        packet.time_ns = now_ns;
        self.waiting_bytes += u64::from(packet.size_bytes);
        self.waiting.push_back(packet);
    }

    /// `dequeue`: hands what it drops to `dropped`.
    pub(crate) fn pop(&mut self, now_ns: u64, mut dropped: impl FnMut(Packet)) -> Leaving {
        let (mut packet, mut ok_to_drop) = self.do_dequeue(now_ns);
        let mut marked = false;
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now_ns >= self.drop_next_ns && !marked {
                let Some(next) = packet else { break };
                self.count += 1;
                (packet, ok_to_drop, marked) = self.drop_or_mark(now_ns, next, &mut dropped);
                if ok_to_drop || marked {
                    self.drop_next_ns = self.control_law(self.drop_next_ns);
                } else {
                    self.dropping = false;
                }
            }
        } else if let (Some(next), true) = (packet, ok_to_drop) {
            (packet, _, marked) = self.drop_or_mark(now_ns, next, &mut dropped);
            self.start_dropping(now_ns);
        }
        Leaving { packet, marked }
    }

    fn drop_or_mark(
        &mut self,
        now_ns: u64,
        mut packet: Packet,
        dropped: &mut impl FnMut(Packet),
    ) -> (Option<Packet>, bool, bool) {
        if self.ecn && packet.has(MARKABLE) {
            packet.flags |= MARKED;
            return (Some(packet), false, true);
        }
        dropped(packet);
        let (next, ok_to_drop) = self.do_dequeue(now_ns);
        (next, ok_to_drop, false)
    }

    /// Where the last time is not long ago, the drop rate that controlled the queue then is the one to begin with.
    fn start_dropping(&mut self, now_ns: u64) {
        self.dropping = true;
        let delta = self.count - self.last_count;
        self.count = 1;
        if delta > 1 && now_ns.saturating_sub(self.drop_next_ns) < 16 * self.interval_ns {
            self.count = delta;
        }
        self.drop_next_ns = self.control_law(now_ns);
        self.last_count = self.count;
    }

    /// interval / sqrt(count), in 2^-16 of it
    fn control_law(&self, time_ns: u64) -> u64 {
        let root_q16 = u64::from(cc_sqrt(u64::from(self.count.max(1)) << 32));
        time_ns + (self.interval_ns << 16) / root_q16
    }

    fn do_dequeue(&mut self, now_ns: u64) -> (Option<Packet>, bool) {
        let Some(packet) = self.waiting.pop_front() else {
            self.first_above_time_ns = None;
            return (None, false);
        };
        self.waiting_bytes -= u64::from(packet.size_bytes);
        let sojourn_ns = now_ns - packet.time_ns;
        if sojourn_ns < self.target_ns || self.waiting_bytes <= MTU_BYTES {
            self.first_above_time_ns = None;
            return (Some(packet), false);
        }
        match self.first_above_time_ns {
            None => {
                self.first_above_time_ns = Some(now_ns + self.interval_ns);
                (Some(packet), false)
            }
            Some(first_above_ns) => (Some(packet), now_ns >= first_above_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A queue of constant delay, served every millisecond: the times of its drops, in ms.
    fn drops_ms(delay_ms: u64, until_ms: u64) -> Vec<u64> {
        let mut queue = CodelQueue::new(&Codel::default());
        let packet = Packet { size_bytes: 1500, ..Packet::default() };
        let mut drops = Vec::new();
        for now_ms in 0..until_ms {
            queue.push(now_ms * MS, packet);
            if now_ms >= delay_ms {
                let mut dropped = 0;
                queue.pop(now_ms * MS, |_| dropped += 1);
                (0..dropped).for_each(|_| drops.push(now_ms));
                // what was dropped is made up for, so that the delay stays
                (0..dropped)
                    .for_each(|_| queue.waiting.push_front(Packet { time_ns: (now_ms - delay_ms) * MS, ..packet }));
                queue.waiting_bytes += 1500 * dropped;
            }
        }
        drops
    }

    #[test]
    fn a_delay_below_the_target_is_no_reason_to_drop() {
        assert!(drops_ms(4, 10_000).is_empty());
    }

    /// Section 5.2: the first drop an interval after the target was exceeded, then after 100, 100/sqrt 2, 100/sqrt 3 ms ...
    #[test]
    fn drops_come_ever_closer_while_the_delay_lasts() {
        let drops = drops_ms(10, 600);
        let mut expected = 110.0; // found at 10 ms
        for (count, drop_ms) in drops.iter().enumerate() {
            assert!((*drop_ms as f64 - expected).abs() <= 1.0 + count as f64 * 0.01, "{drops:?}: not {expected}");
            expected += 100.0 / ((count + 1) as f64).sqrt();
        }
        assert!(drops.len() >= 9, "{drops:?}");
    }
}
