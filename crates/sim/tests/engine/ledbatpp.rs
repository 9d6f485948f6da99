// SPDX-License-Identifier: GPL-2.0-only
//! `LEDBAT++` on paths: what draft-irtf-iccrg-ledbat-plus-plus-06 is for, and where it says it is better than RFC 6817.

use std::time::Duration;

use ccctl_sim::{FlowSpec, Limit, Queue};

use crate::{instance_with, link, ms, Dumbbell};

const MEGABITS: u64 = 50;
const RTT: Duration = ms(40);
const TARGET_PKTS: f64 = 0.060 * 50e6 / 12_000.0; // 60 ms of packets of 1500 bytes: 250

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A queue of four bandwidth-delay products, 160 ms.
fn path() -> Dumbbell {
    Dumbbell::new(&link(MEGABITS, Queue::DropTail(Limit::Packets(4 * 167))))
}

fn starting(at_s: u64) -> impl FnOnce(&mut FlowSpec) {
    move |flow| flow.start = s(at_s)
}

/// Bytes that each of two flows received between then and then, as the first one's share and both in shares of the link.
fn shares(dumbbell: &mut Dumbbell, from_s: u64, until_s: u64) -> (f64, f64) {
    dumbbell.run_until(s(from_s));
    let before = [0, 1].map(|flow| dumbbell.flow(flow).received_bytes());
    dumbbell.run_until(s(until_s));
    let got = [0, 1].map(|flow| (dumbbell.flow(flow).received_bytes() - before[flow]) as f64);
    let sum = got[0] + got[1];
    (got[0] / sum, sum * 8.0 / (MEGABITS as f64 * 1e6) / (until_s - from_s) as f64)
}

/// Slowdowns take a tenth of the time at most (section 4.4: the pause is nine times as long), and in the rest the path is full
/// with a queue around the target.
#[test]
fn alone_it_has_nine_tenths_of_the_path_and_the_queue_stays_at_the_target() {
    let mut dumbbell = path().with("ledbatpp", RTT, |_| {});
    dumbbell.run_until(s(10));
    let queue = dumbbell.sample(ms(10), s(40), Dumbbell::queue_pkts);
    let used = dumbbell.utilisation_until(s(130));
    assert!(used > 0.9, "{used}");
    let largest = *queue.iter().max().expect("some") as f64;
    assert!(largest < 1.2 * TARGET_PKTS, "{largest} packets wait");
    assert_eq!(dumbbell.flow(0).dropped_pkts(), 0);
}

/// Without slowdowns all of it.
#[test]
fn without_slowdowns_it_has_all_of_the_path() {
    let mut dumbbell = path().with("ledbatpp", RTT, |flow| {
        flow.instance = instance_with("ledbatpp", &[("slowdown_pause", "0")]);
    });
    dumbbell.run_until(s(60));
    let used = dumbbell.utilisation_until(s(120));
    assert!(used > 0.99, "{used}");
}

/// CUBIC fills the queue beyond the target: it has the path two seconds later, and LEDBAT++ has it again when CUBIC is gone.
#[test]
fn it_gives_way_to_cubic_within_two_seconds_and_has_the_path_back_afterwards() {
    let cubic = |flow: &mut FlowSpec| {
        flow.start = s(30);
        flow.stop = Some(s(90));
    };
    let mut dumbbell = path().with("ledbatpp", RTT, |_| {}).with("cubic", RTT, cubic);
    let (share, both) = shares(&mut dumbbell, 32, 90);
    assert!(share < 0.1 && both > 0.9, "{share} of {both}");
    dumbbell.run_until(s(110));
    let alone = dumbbell.utilisation_until(s(200));
    assert!(alone > 0.85, "{alone}");
}

/// Section 3.1, latecomer advantage: a flow that begins when another's queue is there takes it for the path, and has most. The
/// slowdowns are what mends it.
#[test]
fn a_latecomer_gets_no_advantage() {
    let late_share = |pause: &str| {
        let change = |flow: &mut FlowSpec| flow.instance = instance_with("ledbatpp", &[("slowdown_pause", pause)]);
        let mut dumbbell = path().with("ledbatpp", RTT, change).with("ledbatpp", RTT, |flow| {
            change(flow);
            starting(30)(flow);
        });
        1.0 - shares(&mut dumbbell, 120, 300).0
    };
    let (with, without) = (late_share("9"), late_share("0"));
    assert!((0.35..0.65).contains(&with), "{with}");
    assert!(without > 0.7, "{without}");
}
