// SPDX-License-Identifier: GPL-2.0-only
//! A link: a queue, a rate, a propagation delay.
//!
//! Packets leave a link in the order in which they came, so all that are on it lie in one ring, and only the first of them
//! is an event. When a packet leaves its queue is known when it enters, except where the queue looks at packets as they leave
//! (`CoDel`, `DualPI2`): that one is served packet by packet.

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::{Clock, LinkRate, Service};
use super::dualpi2::DualPi2View;
use super::loss::{Loss, LossProcess};
use super::queue::{Admission, Backlog, Discipline, LinkState, Queue};
use crate::events::Kind;
use crate::packet::{CongestionHeader, Packet, MARKED};
use crate::random::{Probability, Purpose, Random};

/// Some packets are held back and overtaken by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reordering {
    /// Which share.
    pub probability: Probability,
    /// For how long.
    pub delay: Duration,
}

/// A link, in one direction.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    /// Speed.
    pub rate: LinkRate,
    /// Propagation delay.
    pub delay: Duration,
    /// Up to so much is added to the delay of each packet, without reordering them.
    pub jitter: Duration,
    /// Packets leave their queue at multiples of this time only, as those of an emulator that a timer drives; zero: at once.
    /// One that is being sent is in the queue until then. `CoDel` and `DualPI2` know no ticks.
    pub tick: Duration,
    /// Where packets wait for the link.
    pub queue: Queue,
    /// Packets lost after they have been sent.
    pub loss: Loss,
    /// Packets that are overtaken.
    pub reordering: Option<Reordering>,
}

impl LinkSpec {
    /// A link with nothing but a rate, a delay and a queue.
    #[must_use]
    pub fn new(rate: LinkRate, delay: Duration, queue: Queue) -> Self {
        Self { rate, delay, jitter: Duration::ZERO, tick: Duration::ZERO, queue, loss: Loss::None, reordering: None }
    }
}

/// What has become of the packets that came to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Packets that came.
    pub arrived_pkts: u64,
    /// That found the queue full.
    pub dropped_full_pkts: u64,
    /// That the queue dropped before it was full.
    pub dropped_early_pkts: u64,
    /// Lost on the link.
    pub lost_pkts: u64,
    /// Marked; they are delivered.
    pub marked_pkts: u64,
    /// That have crossed the link.
    pub delivered_pkts: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Longest queue that a packet found.
    pub max_queue_pkts: u64,
    /// Packets times the time that they waited: the queue's integral over time.
    pub waited_pkt_ns: u128,
}

impl LinkCounters {
    /// Dropped by the queue, for whatever reason.
    #[must_use]
    pub fn dropped_pkts(&self) -> u64 {
        self.dropped_full_pkts + self.dropped_early_pkts
    }
}

/// A link at work.
#[derive(Debug)]
pub(crate) struct Link {
    clock: Clock,
    delay_ns: u64,
    jitter_ns: u64,
    tick_ns: u64,
    discipline: Discipline,
    backlog: Backlog,
    loss: LossProcess,
    jitter: Random,
    reordering: Option<(Probability, u64)>,
    last_crossing_ns: u64,
    pkt_ns: u64,
    crossing: VecDeque<Packet>,
    stragglers: VecDeque<Packet>,
    pub(crate) counters: LinkCounters,
}

impl Link {
    pub(crate) fn new(spec: &LinkSpec, seed: u64, index: u32) -> Self {
        Self {
            clock: Clock::new(&spec.rate),
            delay_ns: spec.delay.as_nanos() as u64,
            jitter_ns: spec.jitter.as_nanos() as u64,
            tick_ns: spec.tick.as_nanos() as u64,
            discipline: Discipline::new(&spec.queue, &spec.rate, Random::new(seed, Purpose::Queue, index)),
            backlog: Backlog::default(),
            loss: LossProcess::new(spec.loss, Random::new(seed, Purpose::Loss, index)),
            jitter: Random::new(seed, Purpose::Jitter, index),
            reordering: spec.reordering.map(|it| (it.probability, it.delay.as_nanos() as u64)),
            last_crossing_ns: 0,
            pkt_ns: 0,
            crossing: VecDeque::new(),
            stragglers: VecDeque::new(),
            counters: LinkCounters::default(),
        }
    }

    /// The link has XCP's controllers.
    #[inline]
    pub(crate) fn has_xcp_router(&self) -> bool {
        matches!(self.discipline, Discipline::Xcp(..))
    }

    /// A packet is about to come, with this header if it is one of XCP's; whether there is a place for it is decided later.
    pub(crate) fn meet_xcp_router(&mut self, now_ns: u64, size_bytes: u16, header: Option<&mut CongestionHeader>) {
        self.backlog.pass_to(now_ns);
        if let Discipline::Xcp(router, _) = &mut self.discipline {
            router.meet(now_ns, self.backlog.bytes(), size_bytes, header);
        }
    }

    /// A packet comes. Those for which there is no place are given to `dropped`; when the link has to act next, as far as that
    /// has changed, to `push`.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now_ns: u64,
        mut packet: Packet,
        push: impl FnMut(Kind, u64),
        mut dropped: impl FnMut(Packet),
    ) {
        self.counters.arrived_pkts += 1;
        if let Discipline::Served(_) = self.discipline {
            return self.arrive_to_be_served(now_ns, packet, push, dropped);
        }
        self.backlog.pass_to(now_ns);
        let state = LinkState { now_ns, busy_until_ns: self.clock.busy_until_ns(), pkt_ns: self.pkt_ns };
        if !self.is_admitted(state, &mut packet) {
            return dropped(packet);
        }
        let service = self.clock.serve(now_ns, packet.size_bytes);
        let (leaves_ns, sent_ns) = self.at_ticks(service);
        if leaves_ns > now_ns {
            self.backlog.push(leaves_ns, packet.size_bytes);
        }
        self.counters.max_queue_pkts = self.counters.max_queue_pkts.max(self.backlog.len() as u64);
        self.counters.waited_pkt_ns += u128::from(leaves_ns - now_ns);
        self.pkt_ns = service.end_ns - service.start_ns;
        self.send(sent_ns, packet, push, dropped);
    }

    /// When a packet leaves the queue, and when its last bit the link's sending end.
    #[inline]
    fn at_ticks(&self, service: Service) -> (u64, u64) {
        if self.tick_ns == 0 {
            return (service.start_ns, service.end_ns);
        }
        let tick_ns = service.end_ns.next_multiple_of(self.tick_ns);
        (tick_ns, tick_ns)
    }

    fn is_admitted(&mut self, state: LinkState, packet: &mut Packet) -> bool {
        let was_marked = packet.has(MARKED);
        let admission = self.discipline.admits(&self.backlog, state, packet);
        match admission {
            Admission::Admitted => self.counters.marked_pkts += u64::from(packet.has(MARKED) && !was_marked),
            Admission::DroppedFull => self.counters.dropped_full_pkts += 1,
            Admission::DroppedEarly => self.counters.dropped_early_pkts += 1,
        }
        admission == Admission::Admitted
    }

    /// The last bit of a packet leaves for the other end.
    #[inline]
    fn send(
        &mut self,
        end_ns: u64,
        mut packet: Packet,
        mut push: impl FnMut(Kind, u64),
        mut dropped: impl FnMut(Packet),
    ) {
        if self.loss.loses(end_ns, packet.size_bytes) {
            self.counters.lost_pkts += 1;
            return dropped(packet);
        }
        let jitter_ns = if self.jitter_ns == 0 { 0 } else { self.jitter.below(self.jitter_ns + 1) };
        self.last_crossing_ns = self.last_crossing_ns.max(end_ns + self.delay_ns + jitter_ns);
        packet.time_ns = self.last_crossing_ns;
        match self.reordering {
            Some((probability, held_ns)) if self.jitter.happens(probability) => {
                packet.time_ns += held_ns;
                if self.stragglers.is_empty() {
                    push(Kind::Straggler, packet.time_ns);
                }
                self.stragglers.push_back(packet);
            }
            _ => {
                if self.crossing.is_empty() {
                    push(Kind::Crossing, packet.time_ns);
                }
                self.crossing.push_back(packet);
            }
        }
    }

    /// A packet that will have crossed the link after so many others.
    pub(crate) fn crossing(&self, after: usize) -> Option<&Packet> {
        self.crossing.get(after)
    }

    /// The first packet on the link has crossed it; when the next one will have.
    pub(crate) fn cross(&mut self) -> (Option<Packet>, Option<u64>) {
        let packet = self.crossing.pop_front();
        self.count_delivered(packet.as_ref());
        (packet, self.crossing.front().map(|next| next.time_ns))
    }

    /// The same of those that were held back.
    pub(crate) fn straggle(&mut self) -> (Option<Packet>, Option<u64>) {
        let packet = self.stragglers.pop_front();
        self.count_delivered(packet.as_ref());
        (packet, self.stragglers.front().map(|next| next.time_ns))
    }

    fn count_delivered(&mut self, packet: Option<&Packet>) {
        let Some(packet) = packet else { return };
        self.counters.delivered_pkts += 1;
        self.counters.delivered_bytes += u64::from(packet.size_bytes);
    }

    fn arrive_to_be_served(
        &mut self,
        now_ns: u64,
        packet: Packet,
        mut push: impl FnMut(Kind, u64),
        mut dropped: impl FnMut(Packet),
    ) {
        let busy_until_ns = self.clock.busy_until_ns();
        let Discipline::Served(queue) = &mut self.discipline else { return };
        if queue.len() >= queue.limit_pkts() as usize {
            self.counters.dropped_full_pkts += 1;
            return dropped(packet);
        }
        queue.push(now_ns, packet);
        self.counters.max_queue_pkts = self.counters.max_queue_pkts.max(queue.len() as u64);
        if queue.len() > 1 {
            return; // its turn is an event already
        }
        if busy_until_ns > now_ns {
            return push(Kind::Service, busy_until_ns);
        }
        self.serve(now_ns, push, dropped);
    }

    /// The link is free: the queue gives it a packet.
    pub(crate) fn serve(&mut self, now_ns: u64, mut push: impl FnMut(Kind, u64), mut dropped: impl FnMut(Packet)) {
        let Discipline::Served(queue) = &mut self.discipline else { return };
        let (mut drops, mut waited_ns) = (0, 0);
        let leaving = queue.pop(now_ns, |packet| {
            drops += 1;
            waited_ns += now_ns - packet.time_ns;
            dropped(packet);
        });
        let waits_more = queue.len() > 0;
        self.counters.dropped_early_pkts += drops;
        let Some(packet) = leaving.packet else { return };
        self.counters.marked_pkts += u64::from(leaving.marked);
        self.counters.waited_pkt_ns += u128::from(waited_ns + (now_ns - packet.time_ns));
        let end_ns = self.clock.serve(now_ns, packet.size_bytes).end_ns;
        self.send(end_ns, packet, &mut push, dropped);
        if waits_more {
            push(Kind::Service, end_ns);
        }
    }

    pub(crate) fn queue_pkts(&self, now_ns: u64) -> usize {
        match &self.discipline {
            Discipline::Served(queue) => queue.len(),
            _ => self.backlog.len_at(now_ns),
        }
    }

    pub(crate) fn queue_bytes(&self, now_ns: u64) -> u64 {
        match &self.discipline {
            Discipline::Served(queue) => queue.bytes(),
            _ => self.backlog.bytes_at(now_ns),
        }
    }

    /// Packets that came and have neither left nor been dropped.
    pub(crate) fn inside_pkts(&self) -> usize {
        let waiting_pkts = match &self.discipline {
            Discipline::Served(queue) => queue.len(),
            _ => 0, // those are on the link already
        };
        self.crossing.len() + self.stragglers.len() + waiting_pkts
    }

    pub(crate) fn dual_pi2(&self) -> Option<DualPi2View> {
        match &self.discipline {
            Discipline::Served(queue) => queue.dual_pi2(),
            _ => None,
        }
    }
}
