// SPDX-License-Identifier: GPL-2.0-only
//! The engine against departures worked out by hand, and against closed forms of queueing theory.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use ccctl_sim::{BitRate, Limit, LinkRate, Loss, Probability, Queue};

use super::super::flow::Header;
use super::*;

const MS: u64 = 1_000_000;

fn end(mbit_per_s: u64, queue: &Queue, loss: Loss) -> Option<SendingEnd> {
    SendingEnd::new(&LinkRate::Constant(BitRate::mbit_per_s(mbit_per_s)), queue, loss, 7, 0)
}

/// The flow from port `port` of a sender.
fn flow(port: u16) -> FlowKey {
    let mut packet = vec![0x45, 0, 0, 24, 0, 0, 0, 0, 64, 6, 0, 0, 10, 77, 1, 1, 10, 77, 0, 2];
    packet.extend(port.to_be_bytes());
    packet.extend(80_u16.to_be_bytes());
    Header::read(&packet).unwrap().flow
}

fn arrival(sender: usize, size_bytes: u16) -> Arrival {
    Arrival { flow: flow(sender as u16), size_bytes, is_markable: false, sender }
}

/// Packets are their numbers here.
type Numbers = Direction<u32>;

fn arrive(direction: &mut Numbers, now_ns: u64, arrival: Arrival, number: u32) -> bool {
    direction.arrive(now_ns, arrival, number, |_| ()).is_none()
}

/// Due times and numbers of all packets that are due.
fn drain(direction: &mut Numbers, now_ns: u64) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| direction.pop_due(now_ns)).map(|due| (due.due_ns, due.packet)).collect()
}

/// 1500 bytes at 10 Mbit/s: 1.2 ms each, then 5 or 30 ms.
#[test]
fn senders_share_the_link_and_have_delays_of_their_own() {
    let mut path = Direction::new(end(10, &Queue::DropTail(Limit::Packets(10)), Loss::None), vec![30 * MS, 5 * MS]);
    for (now_ns, sender, number) in [(0, 0, 1), (100_000, 1, 2), (200_000, 0, 3), (10 * MS, 1, 4)] {
        assert!(arrive(&mut path, now_ns, arrival(sender, 1500), number));
    }
    assert_eq!(path.next_due_ns(), Some(7_400_000));
    assert_eq!(drain(&mut path, 7_399_999), []);
    assert_eq!(drain(&mut path, 7_400_000), [(7_400_000, 2)]);
    assert_eq!(drain(&mut path, 100 * MS), [(16_200_000, 4), (31_200_000, 1), (33_600_000, 3)]);
    assert_eq!(path.next_due_ns(), None);
}

#[test]
fn without_a_link_there_is_only_delay() {
    let mut path: Numbers = Direction::new(None, vec![20 * MS]);
    (0..3).for_each(|number| assert!(arrive(&mut path, 5, arrival(0, 1500), number)));
    assert_eq!(drain(&mut path, 20 * MS + 5), [(20 * MS + 5, 0), (20 * MS + 5, 1), (20 * MS + 5, 2)]);
    assert_eq!(path.queue(5), (0, 0));
}

/// 1250 bytes at 10 Mbit/s: 1 ms. One packet is on the link, three wait, the others find no room.
#[test]
fn a_queue_of_packets_holds_its_limit_and_no_more() {
    let mut path = Direction::new(end(10, &Queue::DropTail(Limit::Packets(3)), Loss::None), vec![0]);
    let kept: Vec<bool> = (0..6).map(|number| arrive(&mut path, 0, arrival(0, 1250), number)).collect();
    assert_eq!(kept, [true, true, true, true, false, false]);
    assert!(arrive(&mut path, MS, arrival(0, 1250), 6), "a place is free once the first has left the link");
    let report = path.report();
    assert_eq!((report.max_queue_pkts, report.max_queue_bytes), (3, 3 * 1250));
    assert_eq!((report.all.arrived_pkts, report.all.dropped_full_pkts, report.held_pkts), (7, 2, 5));
    assert_eq!(report.all.inside_pkts(), 5);
    assert_eq!(drain(&mut path, 10 * MS), [(MS, 0), (2 * MS, 1), (3 * MS, 2), (4 * MS, 3), (5 * MS, 6)]);
}

#[test]
fn a_queue_of_bytes_takes_what_still_fits() {
    let mut path = Direction::new(end(10, &Queue::DropTail(Limit::Bytes(3000)), Loss::None), vec![0]);
    let sizes = [1250, 1500, 1400, 200, 100, 1];
    let kept: Vec<bool> = sizes.iter().map(|size| arrive(&mut path, 0, arrival(0, *size), 0)).collect();
    assert_eq!(kept, [true, true, true, false, true, false], "1500 + 1400 + 100 = 3000");
    assert_eq!(path.queue(0), (3, 3000));
}

/// Marks what finds more than two packets waiting.
#[test]
fn marks_reach_the_packet_and_the_counters_of_its_flow() {
    let queue = Queue::Threshold { mark_above_pkts: 2, limit: Limit::Packets(100) };
    let mut path = Direction::new(end(10, &queue, Loss::None), vec![0, 0]);
    let mut marked = Vec::new();
    for number in 0..8_u32 {
        let sender = number as usize % 2;
        let arrival = Arrival { is_markable: sender == 0, ..arrival(sender, 1250) };
        assert_eq!(path.arrive(0, arrival, number, |number| marked.push(*number)), None);
    }
    assert_eq!(marked, [4, 6]);
    assert_eq!(drain(&mut path, 100 * MS).len(), 8);
    let flows: Vec<_> = path.report().flows.iter().map(|(_, flow)| (flow.marked_pkts, flow.delivered_pkts)).collect();
    assert_eq!(flows, [(2, 4), (0, 4)]);
    assert_eq!(path.report().all.delivered_marked_pkts, 2);
}

/// 100,000 packets lost with 1/1000: 100, deviation 10.
#[test]
fn losses_are_binomial_and_repeatable() {
    let lost = || {
        let loss = Loss::Bernoulli(Probability::ratio(1, 1000));
        let mut path = Direction::new(end(1000, &Queue::DropTail(Limit::Packets(9)), loss), vec![0]);
        (0..100_000).filter(|number| !arrive(&mut path, u64::from(*number) * MS, arrival(0, 1500), *number)).collect()
    };
    let first: Vec<u32> = lost();
    assert!(first.len().abs_diff(100) <= 50, "{}", first.len());
    assert_eq!(first, lost());
}

/// Random arrivals: exponential pauses of this mean.
struct Poisson {
    state: u64,
    now_ns: f64,
    pause_ns: f64,
}

impl Iterator for Poisson {
    type Item = u64;

    /// Marsaglia's xorshift64, and the inverse of the distribution function.
    fn next(&mut self) -> Option<u64> {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let even = ((self.state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        self.now_ns -= even.ln() * self.pause_ns;
        Some(self.now_ns as u64)
    }
}

fn poisson(pause_ns: f64) -> Poisson {
    Poisson { state: 0x9e37_79b9_7f4a_7c15, now_ns: 0.0, pause_ns }
}

/// M/D/1 (Pollaczek, Khinchin): the mean wait is rho / (2 (1 - rho)) of a service time, 2 of them at rho = 0.8. A million
/// packets have about 10,000 busy periods' worth of independent waits; 3 % is beyond four deviations.
#[test]
fn random_arrivals_wait_as_long_as_theory_says() {
    let mut path = Direction::new(end(10, &Queue::DropTail(Limit::Packets(100_000)), Loss::None), vec![0]);
    let (mut waited_ns, mut count) = (0.0, 0.0);
    for now_ns in poisson(MS as f64 / 0.8).take(1_000_000) {
        assert!(arrive(&mut path, now_ns, arrival(0, 1250), 0));
        let due_ns = std::iter::from_fn(|| path.pop_due(u64::MAX)).last().unwrap().due_ns;
        waited_ns += (due_ns - now_ns - MS) as f64;
        count += 1.0;
    }
    let mean = waited_ns / count / MS as f64;
    assert!((mean / 2.0 - 1.0).abs() < 0.03, "{mean}");
}

/// M/G/1 without a waiting room (Erlang's loss formula holds for any service): rho / (1 + rho) are dropped, 1/3 at 0.5.
#[test]
fn without_room_erlangs_share_is_dropped() {
    let mut path = Direction::new(end(10, &Queue::DropTail(Limit::Packets(0)), Loss::None), vec![0]);
    for now_ns in poisson(MS as f64 / 0.5).take(300_000) {
        arrive(&mut path, now_ns, arrival(0, 1250), 0);
    }
    let all = path.report().all;
    let share = all.dropped_full_pkts as f64 / all.arrived_pkts as f64;
    assert!((share - 1.0 / 3.0).abs() < 0.005, "{share}");
}

/// Twice what the link carries: half is dropped, and what leaves does so at the rate of the link.
#[test]
fn an_overloaded_link_keeps_its_rate() {
    let mut path = Direction::new(end(622, &Queue::DropTail(Limit::Packets(50)), Loss::None), vec![0]);
    let arrivals = 622_000_u64; // each 1500 bytes: 12 s at 622 Mbit/s
    for number in 0..arrivals {
        arrive(&mut path, number * 12_000_000_000 / 622_000 / 2, arrival(0, 1500), 0);
    }
    let all = path.report().all;
    let sent = all.arrived_pkts - all.dropped_full_pkts;
    assert!(sent.abs_diff(arrivals / 2 + 51) <= 1, "{sent} sent; the queue and the link are full at the end");
    let ends = drain(&mut path, u64::MAX);
    assert_eq!(ends.last().unwrap().0, (u128::from(sent) * 12_000_000_000 / 622_000) as u64);
}
