// SPDX-License-Identifier: GPL-2.0-only
//! The router: carries packets between the ends, at the times that the engine works out. A thread of [`super::routers`] gives
//! it its turns.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ccctl_sim::Stall;
use nix::poll::{PollFd, PollFlags};

use super::clock::{Clock, ClockPause};
use super::direction::{Arrival, Direction, DirectionReport, DirectionSample, Due};
use super::flow::{mark, FlowKey, Header};
use super::forced_drops::ForcedDrops;
use super::latency_probe;
use super::lateness::{Lateness, LatenessReport};
use super::plan::sender_of;
use super::rate::RateMeter;
use super::spec::{PathSpec, Waiting};
use super::tun::Wire;

/// Packets taken from one end, and handed over, before the others have their turn.
const BURST_IN: usize = 8;
const BURST_OUT: usize = 4;
/// Kept ready beyond what one connection can have in flight.
const SPARE_PKTS: u64 = 1000;
const MOST_READY_BYTES: u64 = 256 << 20;

/// A packet that the router holds.
#[derive(Debug)]
struct Packet {
    bytes: Box<[u8]>,
    length: u16,
}

/// Packets that go the same way: those of the path, or canaries, which pass by the queue.
struct Lane {
    direction: Direction<Packet>,
    to_receiver: bool,
    rate: RateMeter,
}

const FORWARD: usize = 0;
const REVERSE: usize = 1;
const CANARIES: usize = 2; // the same two, for canaries

/// Both directions at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSample {
    /// Since the router began.
    pub time: Duration,
    /// The bottleneck.
    pub forward: DirectionSample,
    /// The way back.
    pub reverse: DirectionSample,
}

/// What a path and its router tell each other.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    pub(super) forced_drops: Arc<ForcedDrops>,
    pub(super) clock_pause: ClockPause,
}

/// The router with its devices: those of the senders, then the receiver's.
pub(super) struct Router<W> {
    ends: Vec<W>,
    lanes: [Lane; 4],
    ready: Vec<Box<[u8]>>,
    origin: Instant,
    clock: Clock,
    began_ns: u64, // the first turn, on the wall; 0: not yet
    waiting: Waiting,
    releases: Lateness,
    polls: Lateness,
    polled_ns: u64,
    idle: Duration,
    sampling_ns: u64,
    series: Vec<QueueSample>,
    mtu_bytes: usize,
    strays_pkts: u64,
    refused_pkts: u64,
    forced_drops: Arc<ForcedDrops>,
    holes_pkts: u64,
}

/// What the router has seen.
#[derive(Debug, Clone)]
pub struct RouterReport {
    /// How long it ran.
    pub run: Duration,
    /// How much of that the path's clock stood still.
    pub clock_pause: Duration,
    /// Each time that it was kept from its work for more than 200 us.
    pub stalls: Vec<Stall>,
    /// From the senders to the receiver.
    pub forward: DirectionReport,
    /// From the receiver to the senders.
    pub reverse: DirectionReport,
    /// How late packets were handed over, by the path's clock.
    pub releases: LatenessReport,
    /// How long it did not look for packets, of a router that is always busy: they are stamped so much too late.
    pub polls: Option<LatenessReport>,
    /// Relative error of the bottleneck's rate while packets waited for it, for 100 ms or more each time.
    pub rate_error: f64,
    /// How long packets waited for the bottleneck so.
    pub rate_time: Duration,
    /// Share of its time that the router had nothing to do.
    pub cpu_left: f64,
    /// Packets to somewhere else.
    pub strays_pkts: u64,
    /// Packets that the kernel would not take.
    pub refused_pkts: u64,
    /// Packets lost on request, before the queue.
    pub holes_pkts: u64,
    /// The queues over time.
    pub series: Vec<QueueSample>,
    /// Why it stopped before it was told to.
    pub failure: Option<String>,
}

impl<W: Wire> Router<W> {
    /// Times are counted from `origin`.
    pub(super) fn new(spec: &PathSpec, ends: Vec<W>, origin: Instant, shared: Shared) -> Self {
        let ns = |delays: Vec<Duration>| -> Vec<u64> { delays.iter().map(|delay| delay.as_nanos() as u64).collect() };
        let (there, back) = (ns(spec.delays()), ns(spec.delays_back()));
        let (forward, reverse) = spec.endpoints();
        let lane = |end, delays_ns: &[u64], to_receiver| Lane {
            direction: Direction::new(end, delays_ns.to_vec()),
            to_receiver,
            rate: RateMeter::new(delays_ns.len()),
        };
        let lanes = [
            lane(forward, &there, true),
            lane(reverse, &back, false),
            lane(None, &there, true),
            lane(None, &back, false),
        ];
        let mtu_bytes = spec.mtu_bytes as usize;
        let ready_pkts = (spec.in_flight_bytes().min(MOST_READY_BYTES) / u64::from(spec.mtu_bytes)) + SPARE_PKTS;
        Self {
            ends,
            lanes,
            ready: (0..ready_pkts).map(|_| buffer(mtu_bytes)).collect(),
            origin,
            clock: Clock::new(shared.clock_pause),
            began_ns: 0,
            waiting: spec.waiting,
            releases: Lateness::new(&spec.bounds),
            polls: Lateness::new(&spec.bounds),
            polled_ns: 0,
            idle: Duration::ZERO,
            sampling_ns: spec.sampling.as_nanos() as u64,
            series: Vec::new(),
            mtu_bytes,
            strays_pkts: 0,
            refused_pkts: 0,
            forced_drops: shared.forced_drops,
            holes_pkts: 0,
        }
    }

    /// Takes and hands over what is there, within bounds: others may have the same thread. Whether there was anything.
    pub(super) fn turn(&mut self) -> io::Result<bool> {
        let wall_ns = self.wall_ns();
        if self.began_ns == 0 {
            (self.began_ns, self.polled_ns) = (wall_ns, wall_ns);
        }
        self.polls.note(wall_ns, wall_ns - self.polled_ns);
        self.polled_ns = wall_ns;
        self.sample();
        let mut has_worked = false;
        for end in 0..self.ends.len() {
            has_worked |= self.take_in(end)?;
        }
        Ok(has_worked | self.hand_over())
    }

    /// Whether its thread must not sleep.
    pub(super) fn is_busy(&self) -> bool {
        self.waiting == Waiting::Busy
    }

    /// Nothing was to do for so long.
    pub(super) fn note_idle(&mut self, idle: Duration) {
        self.idle += idle;
    }

    /// Its thread is about to sleep. Until something is due; none if nothing is.
    pub(super) fn until_due(&mut self) -> Option<Duration> {
        let now_ns = self.now_ns();
        let due_ns = self.lanes.iter().filter_map(|lane| lane.direction.next_due_ns()).min();
        self.clock.sleep_until(due_ns);
        Some(Duration::from_nanos(due_ns?.saturating_sub(now_ns)))
    }

    /// Where packets come from.
    pub(super) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.ends.iter().map(|end| PollFd::new(end.fd(), PollFlags::POLLIN))
    }

    fn wall_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// The path's time.
    fn now_ns(&mut self) -> u64 {
        let wall_ns = self.wall_ns();
        self.clock.at(wall_ns)
    }

    fn take_in(&mut self, end: usize) -> io::Result<bool> {
        for count in 0..BURST_IN {
            let mut bytes = self.ready.pop().unwrap_or_else(|| buffer(self.mtu_bytes));
            let Some(length) = self.ends[end].receive(&mut bytes)? else {
                self.ready.push(bytes);
                return Ok(count > 0);
            };
            let packet = Packet { bytes, length: length as u16 };
            if let Some(packet) = self.arrive(end, packet) {
                self.ready.push(packet.bytes);
            }
        }
        Ok(true)
    }

    /// Gives a packet back that goes no further.
    fn arrive(&mut self, end: usize, packet: Packet) -> Option<Packet> {
        let now_ns = self.now_ns();
        let receiver = self.ends.len() - 1;
        let length = packet.length;
        let header = Header::read(&packet.bytes[..usize::from(length)]);
        let Some((header, sender)) = header.and_then(|header| Some((header, route(&header.flow, end, receiver)?)))
        else {
            self.strays_pkts += 1;
            return Some(packet);
        };
        let way = if end == receiver { REVERSE } else { FORWARD };
        let is_probe = latency_probe::is_probe(&packet.bytes[..usize::from(length)]);
        if way == FORWARD && !is_probe && self.forced_drops.takes(length) {
            self.holes_pkts += 1;
            return Some(packet);
        }
        let lane = if is_probe { CANARIES + way } else { way };
        let is_markable = header.is_markable && !header.is_marked;
        let arrival = Arrival { flow: header.flow, size_bytes: length, is_markable, sender };
        let set_mark = |packet: &mut Packet| mark(&mut packet.bytes);
        self.lanes[lane].direction.arrive(now_ns, arrival, packet, set_mark)
    }

    /// Hands over what is due.
    fn hand_over(&mut self) -> bool {
        for count in 0..BURST_OUT {
            let now_ns = self.now_ns();
            let heads = self.lanes.iter().enumerate();
            let first = heads.filter_map(|(lane, it)| Some((it.direction.next_due_ns()?, lane))).min();
            let due = first.and_then(|(_, lane)| Some((lane, self.lanes[lane].direction.pop_due(now_ns)?)));
            let Some((lane, due)) = due else { return count > 0 };
            self.deliver(now_ns, lane, due);
        }
        true
    }

    fn deliver(&mut self, now_ns: u64, lane: usize, due: Due<Packet>) {
        let lane = &mut self.lanes[lane];
        let end = if lane.to_receiver { self.ends.len() - 1 } else { due.sender };
        let Packet { bytes, length } = due.packet;
        self.releases.note(now_ns, now_ns - due.due_ns);
        lane.rate.note(due.sender, due.waited, due.due_ns, now_ns);
        if self.ends[end].send(&bytes[..usize::from(length)]).is_err() {
            self.refused_pkts += 1;
        }
        self.ready.push(bytes);
    }

    fn sample(&mut self) {
        let now_ns = self.now_ns();
        let next_ns = self.series.last().map_or(0, |last| last.time.as_nanos() as u64 + self.sampling_ns);
        if now_ns < next_ns {
            return;
        }
        let [forward, reverse] = [FORWARD, REVERSE].map(|lane| self.lanes[lane].direction.sample(now_ns));
        let time = Duration::from_nanos(now_ns - now_ns % self.sampling_ns);
        self.series.push(QueueSample { time, forward, reverse });
    }

    /// What it has seen, and why it has stopped before it was told to.
    pub(super) fn report(self, failure: Option<String>) -> RouterReport {
        let run = Duration::from_nanos(self.wall_ns() - self.began_ns);
        let is_busy = self.is_busy();
        let (rate_error, rate_time) = self.lanes[FORWARD].rate.report();
        RouterReport {
            run,
            clock_pause: self.clock.stood_still(),
            stalls: self.clock.into_stalls(),
            forward: self.lanes[FORWARD].direction.report(),
            reverse: self.lanes[REVERSE].direction.report(),
            releases: self.releases.report(run),
            polls: is_busy.then(|| self.polls.report(run)),
            rate_error,
            rate_time,
            cpu_left: self.idle.as_secs_f64() / run.as_secs_f64().max(f64::MIN_POSITIVE),
            strays_pkts: self.strays_pkts,
            refused_pkts: self.refused_pkts,
            holes_pkts: self.holes_pkts,
            series: self.series,
            failure,
        }
    }
}

/// Touched, so that no page is missing when a packet is read into it.
fn buffer(mtu_bytes: usize) -> Box<[u8]> {
    vec![0xff; mtu_bytes].into_boxed_slice()
}

/// Number of the sender that a packet from `end` belongs to.
fn route(flow: &FlowKey, end: usize, receiver: usize) -> Option<usize> {
    if end == receiver {
        return sender_of(flow.destination_address()).filter(|sender| *sender < receiver);
    }
    is_receiver(flow.destination_address()).then_some(end)
}

fn is_receiver(address: IpAddr) -> bool {
    address == IpAddr::V4(super::plan::RECEIVER_V4) || address == IpAddr::V6(super::plan::RECEIVER_V6)
}
