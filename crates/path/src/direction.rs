// SPDX-License-Identifier: GPL-2.0-only
//! The engine: when each packet leaves, worked out when it comes. No clock is read and nothing is waited for here.
//!
//! What a queue holds, drops and marks depends on the times at which packets came and on nothing else: a router that is late
//! delivers late, but its queue is as long as it should be.

use std::collections::{HashMap, VecDeque};

use ccctl_sim::{Fate, SendingEnd};

use super::flow::FlowKey;

/// What has become of packets, of one flow or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets that came.
    pub arrived_pkts: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// That found the queue full.
    pub dropped_full_pkts: u64,
    /// That the queue dropped before it was full.
    pub dropped_early_pkts: u64,
    /// Lost at random on the link.
    pub lost_pkts: u64,
    /// Marked here; those that were lost afterwards are counted.
    pub marked_pkts: u64,
    /// Marked here and given to the other end.
    pub delivered_marked_pkts: u64,
    /// Given to the other end.
    pub delivered_pkts: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
}

impl Counters {
    /// No packet.
    pub(super) const NONE: Self = Self {
        arrived_pkts: 0,
        arrived_bytes: 0,
        dropped_full_pkts: 0,
        dropped_early_pkts: 0,
        lost_pkts: 0,
        marked_pkts: 0,
        delivered_marked_pkts: 0,
        delivered_pkts: 0,
        delivered_bytes: 0,
    };

    /// Packets that came and have neither been delivered nor dropped nor lost.
    #[must_use]
    pub fn inside_pkts(&self) -> u64 {
        self.arrived_pkts - self.dropped_pkts() - self.lost_pkts - self.delivered_pkts
    }

    /// Dropped by the queue, for whatever reason.
    #[must_use]
    pub fn dropped_pkts(&self) -> u64 {
        self.dropped_full_pkts + self.dropped_early_pkts
    }

    fn add(&mut self, other: &Counters) {
        self.arrived_pkts += other.arrived_pkts;
        self.arrived_bytes += other.arrived_bytes;
        self.dropped_full_pkts += other.dropped_full_pkts;
        self.dropped_early_pkts += other.dropped_early_pkts;
        self.lost_pkts += other.lost_pkts;
        self.marked_pkts += other.marked_pkts;
        self.delivered_marked_pkts += other.delivered_marked_pkts;
        self.delivered_pkts += other.delivered_pkts;
        self.delivered_bytes += other.delivered_bytes;
    }

    fn arrive(&mut self, size_bytes: u16) {
        self.arrived_pkts += 1;
        self.arrived_bytes += u64::from(size_bytes);
    }

    fn decide(&mut self, fate: Fate) {
        match fate {
            Fate::DroppedFull => self.dropped_full_pkts += 1,
            Fate::DroppedEarly => self.dropped_early_pkts += 1,
            Fate::Sent { is_marked, is_lost, .. } => {
                self.marked_pkts += u64::from(is_marked);
                self.lost_pkts += u64::from(is_lost);
            }
        }
    }

    fn deliver(&mut self, size_bytes: u16, is_marked: bool) {
        self.delivered_pkts += 1;
        self.delivered_bytes += u64::from(size_bytes);
        self.delivered_marked_pkts += u64::from(is_marked);
    }
}

/// A packet as the engine sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) flow: FlowKey,
    pub(super) size_bytes: u16,
    pub(super) is_markable: bool,
    /// Which sender it comes from or goes to.
    pub(super) sender: usize,
}

/// A packet on its way, and what the router keeps with it.
#[derive(Debug)]
struct Held<T> {
    due_ns: u64,
    flow: u32,
    size_bytes: u16,
    is_marked: bool,
    /// It had to wait for the link, which was busy from then on until it left.
    waited: bool,
    packet: T,
}

/// A packet that is to be handed over.
#[allow(clippy::struct_field_names)] // when it is due
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Due<T> {
    pub(super) due_ns: u64,
    pub(super) sender: usize,
    pub(super) waited: bool,
    pub(super) packet: T,
}

/// One direction of the path: a queue and a link that all senders share, and a delay line for each of them.
#[derive(Debug)]
pub(super) struct Direction<T> {
    end: Option<SendingEnd>,
    delays_ns: Vec<u64>,
    lines: Vec<VecDeque<Held<T>>>,
    flows: HashMap<FlowKey, u32>,
    counters_of_flows: Vec<(FlowKey, Counters)>,
    all: Counters,
    max_queue_pkts: u64,
    max_queue_bytes: u64,
    waited_pkt_ns: u128,
}

impl<T> Direction<T> {
    /// Without a sending end there is nothing but the delay; one delay for each sender.
    pub(super) fn new(end: Option<SendingEnd>, delays_ns: Vec<u64>) -> Self {
        Self {
            end,
            lines: delays_ns.iter().map(|_| VecDeque::new()).collect(),
            delays_ns,
            flows: HashMap::new(),
            counters_of_flows: Vec::new(),
            all: Counters::default(),
            max_queue_pkts: 0,
            max_queue_bytes: 0,
            waited_pkt_ns: 0,
        }
    }

    /// A packet comes; `mark` is called if it is to carry a mark. Gives it back if it goes no further.
    pub(super) fn arrive(
        &mut self,
        now_ns: u64,
        arrival: Arrival,
        mut packet: T,
        mark: impl FnOnce(&mut T),
    ) -> Option<T> {
        let flow = self.number_of(arrival.flow);
        let fate = match &mut self.end {
            Some(end) => end.offer(now_ns, arrival.size_bytes, arrival.is_markable),
            None => Fate::Sent { start_ns: now_ns, end_ns: now_ns, is_marked: false, is_lost: false },
        };
        for counters in [&mut self.all, &mut self.counters_of_flows[flow as usize].1] {
            counters.arrive(arrival.size_bytes);
            counters.decide(fate);
        }
        let Fate::Sent { start_ns, end_ns, is_marked, is_lost } = fate else { return Some(packet) };
        let waited = start_ns > now_ns;
        self.waited_pkt_ns += u128::from(start_ns - now_ns);
        if waited {
            self.note_queue(now_ns);
        }
        if is_lost {
            return Some(packet);
        }
        if is_marked {
            mark(&mut packet);
        }
        let due_ns = end_ns + self.delays_ns[arrival.sender];
        let held = Held { due_ns, flow, size_bytes: arrival.size_bytes, is_marked, waited, packet };
        self.lines[arrival.sender].push_back(held);
        None
    }

    fn note_queue(&mut self, now_ns: u64) {
        let (pkts, bytes) = self.queue(now_ns);
        self.max_queue_pkts = self.max_queue_pkts.max(pkts);
        self.max_queue_bytes = self.max_queue_bytes.max(bytes);
    }

    fn number_of(&mut self, flow: FlowKey) -> u32 {
        let next = self.counters_of_flows.len() as u32;
        let number = *self.flows.entry(flow).or_insert(next);
        if number == next {
            self.counters_of_flows.push((flow, Counters::default()));
        }
        number
    }

    /// When the next packet is to be handed over.
    pub(super) fn next_due_ns(&self) -> Option<u64> {
        self.lines.iter().filter_map(|line| line.front()).map(|held| held.due_ns).min()
    }

    /// The packet that is to be handed over first, if its time has come.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<Due<T>> {
        let heads = self.lines.iter().enumerate().filter_map(|(sender, line)| Some((line.front()?.due_ns, sender)));
        let (due_ns, sender) = heads.min()?;
        if due_ns > now_ns {
            return None;
        }
        let held = self.lines[sender].pop_front()?;
        for counters in [&mut self.all, &mut self.counters_of_flows[held.flow as usize].1] {
            counters.deliver(held.size_bytes, held.is_marked);
        }
        Some(Due { due_ns, sender, waited: held.waited, packet: held.packet })
    }

    /// Packets and bytes that wait for the link, at a time not before the last arrival.
    pub(super) fn queue(&self, now_ns: u64) -> (u64, u64) {
        self.end.as_ref().map_or((0, 0), |end| (end.queue_pkts(now_ns) as u64, end.queue_bytes(now_ns)))
    }

    /// How it stands at a time not before the last arrival.
    pub(super) fn sample(&self, now_ns: u64) -> DirectionSample {
        let (queue_pkts, queue_bytes) = self.queue(now_ns);
        DirectionSample {
            queue_pkts,
            queue_bytes,
            waited_pkt_us: (self.waited_pkt_ns / 1000) as u64,
            counters: self.all,
        }
    }

    /// What was counted, all and each flow.
    pub(super) fn report(&self) -> DirectionReport {
        DirectionReport {
            all: self.all,
            flows: self.counters_of_flows.clone(),
            max_queue_pkts: self.max_queue_pkts,
            max_queue_bytes: self.max_queue_bytes,
            held_pkts: self.lines.iter().map(|line| line.len() as u64).sum(),
        }
    }
}

/// One direction at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectionSample {
    /// Packets that wait; the one on the link is not counted.
    pub queue_pkts: u64,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Packets times the time that they wait, of all that have come so far: the queue's integral, ahead by what still waits.
    pub waited_pkt_us: u64,
    /// All packets so far.
    pub counters: Counters,
}

/// What one direction of a path has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectionReport {
    /// All packets.
    pub all: Counters,
    /// Those of each flow, in the order in which they appeared.
    pub flows: Vec<(FlowKey, Counters)>,
    /// Longest queue, the packet on the link not counted.
    pub max_queue_pkts: u64,
    /// Most bytes in the queue.
    pub max_queue_bytes: u64,
    /// Packets that were still on their way.
    pub held_pkts: u64,
}

impl DirectionReport {
    /// All TCP flows to or from a port together.
    #[must_use]
    pub fn of_port(&self, port: u16) -> Counters {
        let is_asked =
            |key: &FlowKey| key.is_tcp() && (key.source().port() == port || key.destination().port() == port);
        let mut sum = Counters::default();
        self.flows.iter().filter(|(key, _)| is_asked(key)).for_each(|(_, flow)| sum.add(flow));
        sum
    }
}

#[cfg(test)]
mod tests;
