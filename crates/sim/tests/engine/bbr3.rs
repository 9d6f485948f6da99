// SPDX-License-Identifier: GPL-2.0-only
//! `BBRv3` on paths: the goals that draft-ietf-ccwg-bbr-06 states in section 3.1, and the test cases of its appendix A.

use std::time::Duration;

use ccctl_sim::{Ack, Flow, Limit, Loss, Probability, Queue};

use crate::{assert_near, instance, link, lossy, ms, Dumbbell};

const STARTUP: i128 = 0;
const DRAIN: i128 = 1;
const DOWN: i128 = 2;
const REFILL: i128 = 4;
const PROBE_RTT: i128 = 6;
const UNDO_STARTUP: i128 = 1;
const UNDO_UP: i128 = 2;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn packets(pkts: u32) -> Queue {
    Queue::DropTail(Limit::Packets(pkts))
}

fn pair(first: &str, second: &str, buffer_pkts: u32) -> Dumbbell {
    let dumbbell = Dumbbell::new(&link(50, packets(buffer_pkts)));
    dumbbell.with(first, ms(40), |_| {}).with(second, ms(40), |flow| flow.start = s(5))
}

/// Goal 1 and 2: all of the path, and a queue well below a BDP (417 packets), which is what a window of two BDP allows.
#[test]
fn alone_it_fills_the_link_and_keeps_the_queue_short() {
    let mut dumbbell = Dumbbell::new(&link(100, packets(1000))).with("bbr3", ms(50), |_| {});
    dumbbell.run_until(s(5));
    let queue = dumbbell.sample(ms(10), s(15), Dumbbell::queue_pkts);
    let mean_pkts = queue.iter().sum::<usize>() / queue.len();
    assert!(mean_pkts < 100, "{mean_pkts} packets wait");
    let headers = 1448.0 / 1500.0;
    let (probe_rtt, margin) = (0.98, 0.99); // sections 5.3.4.2 and 2.5
    assert_near(dumbbell.utilisation_until(s(35)), headers * probe_rtt * margin, 0.01, "utilisation");
    assert_eq!(dumbbell.flow(0).dropped_pkts(), 0);
}

/// A.1: `max_bw` within 2 % of the path's bandwidth, 8333 packets of 1500 bytes per second.
#[test]
fn startup_finds_the_bandwidth() {
    let mut dumbbell = Dumbbell::new(&link(100, packets(1000))).with("bbr3", ms(50), |_| {});
    dumbbell.run_until(s(3));
    let flow = dumbbell.flow(0);
    let bw = flow.state("bw_q24").max(flow.state("older_bw_q24")).expect("fields of its state");
    let per_s = bw as f64 / f64::from(1 << 24) * 1e6;
    assert!((per_s / 8333.3 - 1.0).abs() < 0.02, "{per_s} packets/s");
    assert_eq!(flow.state("full_bw_reached"), Some(1));
    assert!(flow.state("mode") >= Some(DOWN), "{:?}", flow.state("mode"));
}

/// Goal 1, losses of up to 1 %: a probe restores the rate, and each round with a loss in the 2.5 s between two of them leaves
/// (1 - loss rate) of it (section 5.3.3.8.3), times the 0.99 that pacing has less. Reno would have 3 % of the link at 1 %.
#[test]
fn losses_below_the_threshold_cost_what_the_draft_says() {
    for per_million in [1000, 5000, 10_000] {
        let loss = Loss::Bernoulli(Probability::ratio(per_million, 1_000_000));
        let mut dumbbell = lossy("bbr3", 100, ms(50), loss, |_| {});
        dumbbell.run_until(s(5));
        let (rate, flight_pkts, rounds) = (per_million as f64 / 1e6, 417.0, 50.0);
        let rounds_with_loss = 1.0 - (1.0 - rate).powf(flight_pkts);
        let decay = -rounds * rounds_with_loss * (0.99 * (1.0 - rate)).ln();
        let expected = 1448.0 / 1500.0 * (1.0 - (-decay).exp()) / decay;
        assert_near(dumbbell.utilisation_until(s(65)), expected, 0.15, "utilisation");
    }
}

/// Beyond `LossThresh` = 2 % each probe fails: the long-term bound holds.
#[test]
fn losses_beyond_the_threshold_are_not() {
    let loss = Loss::Bernoulli(Probability::ratio(4, 100));
    let mut dumbbell = lossy("bbr3", 100, ms(50), loss, |_| {});
    dumbbell.run_until(s(5));
    let utilisation = dumbbell.utilisation_until(s(35));
    assert!(utilisation < 0.1, "{utilisation}");
}

/// A short buffer: BBR v1 loses packets at each of its probes there and between them; this one learns what fits.
#[test]
fn a_short_buffer_is_not_overrun() {
    let lost_share = |algorithm: &str| {
        let mut dumbbell = Dumbbell::new(&link(50, packets(20)));
        for _ in 0..2 {
            dumbbell = dumbbell.with(algorithm, ms(40), |_| {});
        }
        dumbbell.run_until(s(10));
        let dropped = |dumbbell: &Dumbbell| (0..2).map(|flow| dumbbell.flow(flow).dropped_pkts()).sum::<u64>() as f64;
        let received = |dumbbell: &Dumbbell| (0..2).map(|flow| dumbbell.flow(flow).received_pkts()).sum::<u64>() as f64;
        let (before, begun) = (dropped(&dumbbell), received(&dumbbell));
        dumbbell.run_until(s(60));
        (dropped(&dumbbell) - before) / (received(&dumbbell) - begun)
    };
    let (old, new) = (lost_share("bbr"), lost_share("bbr3"));
    assert!(new < 0.01, "average packet loss rates of up to 1 %: {new}");
    assert!(new < old / 2.0, "{new} lost, v1 {old}");
}

fn share_of_the_second(mut dumbbell: Dumbbell) -> f64 {
    dumbbell.run_until(s(30));
    let begun = [0, 1].map(|flow| dumbbell.flow(flow).received_bytes());
    dumbbell.run_until(s(90));
    let got = [0, 1].map(|flow| dumbbell.flow(flow).received_bytes() - begun[flow]);
    got[1] as f64 / (got[0] + got[1]) as f64
}

/// Section 5.3.3.1: bandwidth-based convergence to approximate fairness.
#[test]
fn two_flows_come_to_equal_shares() {
    for buffer_pkts in [60, 170, 700] {
        let share = share_of_the_second(pair("bbr3", "bbr3", buffer_pkts));
        assert!((0.35..0.65).contains(&share), "{buffer_pkts} packets of buffer: {share}");
    }
}

/// Section 5.3.3.8: beside CUBIC, with a buffer of one BDP, neither starves.
#[test]
fn beside_cubic_neither_starves() {
    let share = share_of_the_second(pair("cubic", "bbr3", 170));
    assert!((0.2..0.8).contains(&share), "{share}");
}

fn in_mode(mode: i128, undo: i128) -> Flow {
    let mut flow = Flow::open_connection(instance("bbr3"));
    flow.advance(ms(1));
    flow.acked(&Ack::of(2, Some(ms(40))));
    flow.lost(); // saves what is to come back
    for (field, value) in [("mode", mode), ("undo", undo), ("full_bw_reached", 1)] {
        assert!(flow.set_state(field, value), "{field}");
    }
    flow
}

/// Section 5.5.11.2: out of a phase by losses that were none, and back.
#[test]
fn an_undo_goes_back_to_the_phase_before() {
    for (mode, undo, expected) in [
        (DRAIN, UNDO_STARTUP, STARTUP),
        (DOWN, UNDO_UP, REFILL),
        (DOWN, 0, DOWN),
        (PROBE_RTT, UNDO_STARTUP, PROBE_RTT),
        (PROBE_RTT, UNDO_UP, PROBE_RTT),
    ] {
        let mut flow = in_mode(mode, undo);
        flow.undone();
        assert_eq!(flow.state("mode"), Some(expected), "mode {mode}, undo {undo}");
        assert_eq!(flow.state("full_bw_reached"), Some(i128::from(undo != UNDO_STARTUP)), "mode {mode}, undo {undo}");
    }
}
