// SPDX-License-Identifier: GPL-2.0-only
//! The network: links, the paths of flows over them, and the delays that belong to one flow alone.

pub(crate) mod clock;
pub(crate) mod codel;
pub(crate) mod dualpi2;
pub(crate) mod link;
pub(crate) mod loss;
pub(crate) mod queue;
pub(crate) mod red;
pub(crate) mod sending_end;
pub(crate) mod served;
pub(crate) mod xcp;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::events::{Events, Kind, Source};
use crate::native::prefetch;
use crate::packet::{AckOptions, CongestionHeader, OnTheWay, Packet, ACK};
use crate::random::{Purpose, Random};
use link::Link;

/// A flow's path: links there, links back, and the line that stands for all delay that is its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    first: u32, // in Network::hops
    data_hops: u8,
    ack_hops: u8,
    line: u32,
}

/// A delay without a queue, for the ACKs of all flows that have the same one. Where along a flow's loop its own delay lies
/// cannot be seen from the links: it shifts the sender's clock. So all of it is here, before the sender.
#[derive(Debug)]
struct Line {
    delay_ns: u64,
    last_ns: u64,
    packets: VecDeque<Packet>,
    jitter: Option<Box<Jitter>>,
}

#[derive(Debug)]
struct Jitter {
    most_ns: u64,
    random: Random,
}

/// A time for which the network stands still, while the clocks of the ends go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// From then on, by the network's clock,
    pub at: Duration,
    /// for so long.
    pub length: Duration,
    /// So much of that it makes up for at once; the rest is lost time.
    pub made_up: Duration,
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
    pub(crate) options: OnTheWay<AckOptions>,
    /// Of data of XCP's senders.
    pub(crate) headers: OnTheWay<CongestionHeader>,
    /// Data packets of each flow that were dropped or lost.
    pub(crate) dropped_pkts: Vec<u64>,
    balance: PacketBalance,
    routes: Vec<Route>,
    hops: Vec<u32>,
    lines: Vec<Line>,
    line_of_delay: BTreeMap<u64, u32>, // of those without jitter
    stalls: VecDeque<Stall>,           // those to come
    stood_still_ns: u64,
    made_up_ns: u64, // until then it makes up for a part of the last one
}

impl Network {
    pub(crate) fn new() -> Self {
        Self {
            now_ns: 0,
            events: Events::new(),
            links: Vec::new(),
            options: OnTheWay::default(),
            headers: OnTheWay::default(),
            dropped_pkts: Vec::new(),
            balance: PacketBalance::default(),
            routes: Vec::new(),
            hops: Vec::new(),
            lines: Vec::new(),
            line_of_delay: BTreeMap::new(),
            stalls: VecDeque::new(),
            stood_still_ns: 0,
            made_up_ns: 0,
        }
    }

    pub(crate) fn add_stall(&mut self, stall: Stall) {
        self.stalls.push_back(stall);
    }

    /// It is this time; or, where that is in what is made up for after a stall, the end of it: all of that happens at once.
    #[inline]
    pub(crate) fn pass_to(&mut self, time_ns: u64) {
        while let Some(&Stall { at, length, made_up }) = self.stalls.front().filter(|stall| ns(stall.at) <= time_ns) {
            self.stalls.pop_front();
            self.made_up_ns = ns(at + made_up);
            self.stood_still_ns += ns(length.saturating_sub(made_up));
        }
        self.now_ns = time_ns.max(self.made_up_ns);
    }

    /// What the clocks of the ends show.
    #[inline]
    pub(crate) fn ends_ns(&self) -> u64 {
        self.now_ns + self.stood_still_ns
    }

    /// The network's time when the clocks of the ends show this, as far as stalls are known; `u64::MAX` is never.
    #[inline]
    pub(crate) fn when_ends_show(&self, ends_ns: u64) -> u64 {
        if ends_ns == u64::MAX {
            return u64::MAX;
        }
        ends_ns.saturating_sub(self.stood_still_ns).max(self.now_ns)
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
        let jitter = (jitter_ns > 0).then(|| Box::new(Jitter { most_ns: jitter_ns, random }));
        self.lines.push(Line { delay_ns, last_ns: 0, packets: VecDeque::new(), jitter });
        next
    }

    /// A sender sends a packet. Its path has at least one link.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet) {
        self.balance.sent_pkts += 1;
        let first = self.routes[packet.flow as usize].first;
        self.enter_link(self.hops[first as usize], packet);
    }

    /// A receiver sends an ACK.
    pub(crate) fn reply(&mut self, flow: u32, mut ack: Packet, options: AckOptions) {
        self.balance.sent_pkts += 1;
        ack.flow = flow;
        ack.options = self.options.put(options);
        self.forward_ack(ack);
    }

    /// Data goes to the next link of its path; where there is none, it is at the receiver.
    #[inline]
    fn forward_data(&mut self, packet: Packet) -> Option<Packet> {
        let route = self.routes[packet.flow as usize];
        if packet.hop == route.data_hops {
            self.balance.arrived_pkts += 1;
            return Some(packet);
        }
        self.enter_link(self.hops[route.first as usize + usize::from(packet.hop)], packet);
        None
    }

    /// An ACK goes to the next link of its path, and after the last one to the line.
    #[inline]
    fn forward_ack(&mut self, packet: Packet) {
        let route = self.routes[packet.flow as usize];
        if packet.hop == route.ack_hops {
            self.enter_line(route.line, packet);
        } else {
            let hop = route.first as usize + usize::from(route.data_hops) + usize::from(packet.hop);
            self.enter_link(self.hops[hop], packet);
        }
    }

    #[inline]
    fn enter_link(&mut self, link: u32, packet: Packet) {
        let Self { links, balance, options, headers, dropped_pkts, events, now_ns, .. } = self;
        let entered = &mut links[link as usize];
        if entered.has_xcp_router() {
            let header = if packet.has(ACK) { None } else { headers.get_mut(packet.options) };
            entered.meet_xcp_router(*now_ns, packet.size_bytes, header);
        }
        let push = |kind, time_ns| events.push(time_ns, Source::new(kind, link));
        let dropped = |packet| drop_packet(balance, options, headers, dropped_pkts, &packet);
        entered.arrive(*now_ns, packet, push, dropped);
    }

    fn enter_line(&mut self, line: u32, mut packet: Packet) {
        let Line { delay_ns, last_ns, packets, jitter } = &mut self.lines[line as usize];
        let jitter_ns = jitter.as_mut().map_or(0, |jitter| jitter.random.below(jitter.most_ns + 1));
        *last_ns = (*last_ns).max(self.now_ns + *delay_ns + jitter_ns);
        packet.time_ns = *last_ns;
        if packets.is_empty() {
            self.events.push(packet.time_ns, Source::new(Kind::Return, line));
        }
        packets.push_back(packet);
    }

    /// A packet has crossed a link; it is given back where it is data at its receiver.
    #[inline]
    pub(crate) fn cross(&mut self, index: usize, kind: Kind) -> Option<Packet> {
        let link = &mut self.links[index];
        let (packet, next_ns) = if kind == Kind::Crossing { link.cross() } else { link.straggle() };
        if let Some(time_ns) = next_ns {
            self.events.push(time_ns, Source::new(kind, index as u32));
        }
        let mut packet = packet?;
        packet.hop += 1;
        if packet.has(ACK) {
            self.forward_ack(packet);
            return None;
        }
        self.forward_data(packet)
    }

    /// A queue's turn.
    pub(crate) fn serve(&mut self, index: usize) {
        let Self { links, balance, options, headers, dropped_pkts, events, .. } = self;
        let push = |kind, time_ns| events.push(time_ns, Source::new(kind, index as u32));
        let dropped = |packet| drop_packet(balance, options, headers, dropped_pkts, &packet);
        links[index].serve(self.now_ns, push, dropped);
    }

    /// An ACK has come back to its sender.
    #[inline]
    pub(crate) fn come_back(&mut self, index: usize) -> Option<Packet> {
        let packets = &mut self.lines[index].packets;
        let packet = packets.pop_front();
        if let Some(next) = packets.front() {
            self.events.push(next.time_ns, Source::new(Kind::Return, index as u32));
        }
        self.balance.arrived_pkts += u64::from(packet.is_some());
        packet
    }

    /// The line that the ACKs of a flow come to will be needed soon.
    pub(crate) fn prefetch_line_of(&self, flow: u32) {
        prefetch(&self.lines[self.routes[flow as usize].line as usize]);
    }

    /// And the end of it.
    pub(crate) fn prefetch_end_of_line_of(&self, flow: u32) {
        if let Some(packet) = self.lines[self.routes[flow as usize].line as usize].packets.back() {
            prefetch(packet);
        }
    }

    pub(crate) fn prefetch_line(&self, line: usize) {
        prefetch(&self.lines[line]);
    }

    /// An ACK that will come back after so many others.
    pub(crate) fn coming_back(&self, line: usize, after: usize) -> Option<&Packet> {
        self.lines[line].packets.get(after)
    }

    /// Counts what is inside now.
    pub(crate) fn balance(&self) -> PacketBalance {
        let on_the_way: usize = self.links.iter().map(Link::inside_pkts).sum();
        let on_the_way_back: usize = self.lines.iter().map(|line| line.packets.len()).sum();
        PacketBalance { inside_pkts: (on_the_way + on_the_way_back) as u64, ..self.balance }
    }
}

fn ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}

fn drop_packet(
    balance: &mut PacketBalance,
    options: &mut OnTheWay<AckOptions>,
    headers: &mut OnTheWay<CongestionHeader>,
    dropped_pkts: &mut [u64],
    packet: &Packet,
) {
    balance.dropped_pkts += 1;
    if packet.has(ACK) {
        options.take(packet.options);
    } else {
        headers.take(packet.options);
        dropped_pkts[packet.flow as usize] += 1;
    }
}
