// SPDX-License-Identifier: GPL-2.0-only
//! The network: links, the paths of flows over them, and the delays that belong to one flow alone.

pub(crate) mod clock;
pub(crate) mod codel;
pub(crate) mod link;
pub(crate) mod loss;
pub(crate) mod queue;
pub(crate) mod red;
pub(crate) mod sending_end;

use std::collections::{BTreeMap, VecDeque};

use crate::events::{Events, Kind, Source};
use crate::packet::{Packet, SackOptions, ACK};
use crate::random::{Purpose, Random};
use link::{Link, Next};

/// A flow's path: links there, links back, and the line that stands for all delay that is its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    first: u32, // in Network::hops
    data_hops: u8,
    ack_hops: u8,
    line: u32,
}

/// Where a packet is, after a link.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// On its way.
    Inside,
    /// Data at the receiver.
    Receiver(Packet),
    /// An ACK at the sender.
    Sender(Packet),
}

/// A delay without a queue, for the ACKs of all flows that have the same one. Where along a flow's loop its own delay lies
/// cannot be seen from the links: it shifts the sender's clock. So all of it is here, before the sender.
#[derive(Debug)]
struct Line {
    delay_ns: u64,
    jitter_ns: u64,
    random: Random,
    last_ns: u64,
    packets: VecDeque<Packet>,
}

/// What has become of all packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketBalance {
    /// Given to the network, data and ACKs.
    pub sent_pkts: u64,
    /// That came to the other end.
    pub arrived_pkts: u64,
    /// Dropped by queues, or lost on links.
    pub dropped_pkts: u64,
    /// On links and in queues.
    pub inside_pkts: u64,
}

/// All of it, with the events that it leads to.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) now_ns: u64,
    pub(crate) events: Events,
    pub(crate) links: Vec<Link>,
    pub(crate) sacks: SackOptions,
    /// Data packets of each flow that were dropped or lost.
    pub(crate) dropped_pkts: Vec<u64>,
    balance: PacketBalance,
    routes: Vec<Route>,
    hops: Vec<u32>,
    lines: Vec<Line>,
    line_of_delay: BTreeMap<u64, u32>, // of those without jitter
}

impl Network {
    pub(crate) fn new() -> Self {
        Self {
            now_ns: 0,
            events: Events::new(),
            links: Vec::new(),
            sacks: SackOptions::default(),
            dropped_pkts: Vec::new(),
            balance: PacketBalance::default(),
            routes: Vec::new(),
            hops: Vec::new(),
            lines: Vec::new(),
            line_of_delay: BTreeMap::new(),
        }
    }

    /// Adds a flow's path. Its index is the flow's.
    pub(crate) fn add_route(&mut self, data: &[u32], ack: &[u32], delay_ns: u64, jitter_ns: u64, seed: u64) {
        let flow = self.routes.len() as u32;
        let first = self.hops.len() as u32;
        self.hops.extend(data.iter().chain(ack));
        let line = self.line(delay_ns, jitter_ns, seed, flow);
        self.routes.push(Route { first, data_hops: data.len() as u8, ack_hops: ack.len() as u8, line });
        self.dropped_pkts.push(0);
    }

    fn line(&mut self, delay_ns: u64, jitter_ns: u64, seed: u64, flow: u32) -> u32 {
        let next = self.lines.len() as u32;
        if jitter_ns == 0 {
            let index = *self.line_of_delay.entry(delay_ns).or_insert(next);
            if index < next {
                return index;
            }
        }
        let random = Random::new(seed, Purpose::Access, flow);
        self.lines.push(Line { delay_ns, jitter_ns, random, last_ns: 0, packets: VecDeque::new() });
        next
    }

    /// An endpoint sends a packet.
    pub(crate) fn send(&mut self, packet: Packet) {
        self.balance.sent_pkts += 1;
        let place = self.forward(packet);
        debug_assert!(matches!(place, Place::Inside), "a path has at least one link or a line");
    }

    /// To the next link of its path, or to the end of it.
    fn forward(&mut self, packet: Packet) -> Place {
        let route = self.routes[packet.flow as usize];
        let hop = u32::from(packet.hop);
        if packet.has(ACK) {
            if packet.hop == route.ack_hops {
                self.enter_line(route.line, packet);
            } else {
                self.enter_link(self.hops[(route.first + u32::from(route.data_hops) + hop) as usize], packet);
            }
            return Place::Inside;
        }
        if packet.hop == route.data_hops {
            self.balance.arrived_pkts += 1;
            return Place::Receiver(packet);
        }
        self.enter_link(self.hops[(route.first + hop) as usize], packet);
        Place::Inside
    }

    fn enter_link(&mut self, link: u32, packet: Packet) {
        let Self { links, balance, sacks, dropped_pkts, .. } = self;
        let next = links[link as usize]
            .arrive(self.now_ns, packet, |packet| drop_packet(balance, sacks, dropped_pkts, &packet));
        self.schedule(link, next);
    }

    fn schedule(&mut self, link: u32, next: Next) {
        let mut push = |kind, time_ns: Option<u64>| {
            if let Some(time_ns) = time_ns {
                self.events.push(time_ns, Source::new(kind, link));
            }
        };
        push(Kind::Crossing, next.crossing_ns);
        push(Kind::Straggler, next.straggler_ns);
        push(Kind::Service, next.service_ns);
    }

    fn enter_line(&mut self, line: u32, mut packet: Packet) {
        let Line { delay_ns, jitter_ns, random, last_ns, packets } = &mut self.lines[line as usize];
        let jitter_ns = if *jitter_ns == 0 { 0 } else { random.below(*jitter_ns + 1) };
        *last_ns = (*last_ns).max(self.now_ns + *delay_ns + jitter_ns);
        packet.time_ns = *last_ns;
        if packets.is_empty() {
            self.events.push(packet.time_ns, Source::new(Kind::Return, line));
        }
        packets.push_back(packet);
    }

    /// A packet has crossed a link.
    pub(crate) fn cross(&mut self, index: usize, kind: Kind) -> Place {
        let link = &mut self.links[index];
        let (packet, next_ns) = if kind == Kind::Crossing { link.cross() } else { link.straggle() };
        if let Some(time_ns) = next_ns {
            self.events.push(time_ns, Source::new(kind, index as u32));
        }
        let Some(mut packet) = packet else { return Place::Inside };
        packet.hop += 1;
        self.forward(packet)
    }

    /// A queue's turn.
    pub(crate) fn serve(&mut self, index: usize) {
        let Self { links, balance, sacks, dropped_pkts, .. } = self;
        let next = links[index].serve(self.now_ns, |packet| drop_packet(balance, sacks, dropped_pkts, &packet));
        self.schedule(index as u32, next);
    }

    /// An ACK has come back to its sender.
    pub(crate) fn come_back(&mut self, index: usize) -> Place {
        let packets = &mut self.lines[index].packets;
        let packet = packets.pop_front();
        if let Some(next) = packets.front() {
            self.events.push(next.time_ns, Source::new(Kind::Return, index as u32));
        }
        let Some(packet) = packet else { return Place::Inside };
        self.balance.arrived_pkts += 1;
        Place::Sender(packet)
    }

    /// An ACK that will come back after so many others.
    pub(crate) fn coming_back(&self, line: usize, after: usize) -> Option<&Packet> {
        self.lines[line].packets.get(after)
    }

    /// Counts what is inside now.
    pub(crate) fn balance(&self) -> PacketBalance {
        let on_the_way: usize = self.links.iter().map(|link| link.packets().count()).sum();
        let on_the_way_back: usize = self.lines.iter().map(|line| line.packets.len()).sum();
        PacketBalance { inside_pkts: (on_the_way + on_the_way_back) as u64, ..self.balance }
    }
}

fn drop_packet(balance: &mut PacketBalance, sacks: &mut SackOptions, dropped_pkts: &mut [u64], packet: &Packet) {
    balance.dropped_pkts += 1;
    if packet.has(ACK) {
        sacks.take(packet.sack);
    } else {
        dropped_pkts[packet.flow as usize] += 1;
    }
}
