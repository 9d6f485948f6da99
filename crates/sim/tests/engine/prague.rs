// SPDX-License-Identifier: GPL-2.0-only
//! Prague on step markers and behind `DualPI2`, against what follows from its law on paper.

use std::time::Duration;

use ccctl_sim::{DualPi2, DualPi2View, FlowSpec, Limit, Queue};

use crate::{link, ms, Dumbbell};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Without Accurate ECN the connection is Reno's, with RFC 3168's ECN if there is any: packet for packet.
#[test]
fn without_accurate_ecn_it_is_reno() {
    let run = |algorithm, change: fn(&mut FlowSpec)| {
        let queue = Queue::Threshold { mark_above_pkts: 50, limit: Limit::Packets(100) };
        let mut dumbbell = Dumbbell::new(&link(50, queue)).with(algorithm, ms(20), change);
        dumbbell.run_until(seconds(20));
        let flow = dumbbell.flow(0);
        (flow.algorithm(), flow.counters(), flow.cwnd_pkts())
    };
    let fallen_back = run("prague", |flow| flow.tcp.accurate_ecn = Some(false));
    assert_eq!(fallen_back, run("reno", |flow| flow.tcp.ecn = true));
    assert_eq!(run("prague", |_| {}).0, "prague");
}

/// Alone behind `DualPI2`: nothing is dropped, packets wait less than the step on average, and the link is in full use.
#[test]
fn alone_it_keeps_the_queue_below_the_step() {
    for (megabits, rtt_ms, least_use) in
        [(20, 5, 0.95), (20, 50, 0.95), (100, 5, 0.99), (100, 20, 0.99), (400, 20, 0.99)]
    {
        let mut dumbbell =
            Dumbbell::new(&link(megabits, Queue::DualPi2(DualPi2::default()))).with("prague", ms(rtt_ms), |_| {});
        dumbbell.run_until(seconds(10));
        let before = dumbbell.dual_pi2();
        let utilisation = dumbbell.utilisation_until(seconds(30));
        let mean_ms = low_latency_ms(&before, &dumbbell.dual_pi2());
        assert!(mean_ms < 1.0, "{megabits} Mbit/s, {rtt_ms} ms: {mean_ms} ms");
        assert!(utilisation > least_use, "{megabits} Mbit/s, {rtt_ms} ms: {utilisation}");
        assert_eq!(dumbbell.link().dropped_pkts(), 0);
    }
}

/// Mean time in the low-latency queue.
fn low_latency_ms(before: &DualPi2View, after: &DualPi2View) -> f64 {
    let pkts = (after.low_latency_pkts - before.low_latency_pkts) as f64;
    (after.low_latency_wait_ns - before.low_latency_wait_ns) as f64 / pkts / 1e6
}

/// Prague's rate over CUBIC's, and its mean time in the queue in ms, from 20 s to 100 s.
fn beside_cubic(megabits: u64, rtt_ms: u64) -> (f64, f64) {
    let mut dumbbell = Dumbbell::new(&link(megabits, Queue::DualPi2(DualPi2::default())))
        .with("prague", ms(rtt_ms), |_| {})
        .with("cubic", ms(rtt_ms), |_| {});
    let received = |dumbbell: &Dumbbell| [0, 1].map(|flow| dumbbell.flow(flow).received_pkts());
    dumbbell.run_until(seconds(20));
    let (before, view) = (received(&dumbbell), dumbbell.dual_pi2());
    dumbbell.run_until(seconds(100));
    let after = received(&dumbbell);
    let [prague_pkts, cubic_pkts] = [0, 1].map(|flow| (after[flow] - before[flow]) as f64);
    (prague_pkts / cubic_pkts, low_latency_ms(&view, &dumbbell.dual_pi2()))
}

/// RFC 9332: rates through `DualPI2` are equal within a factor of 2, whichever queue a flow is in.
#[test]
fn beside_cubic_it_has_between_half_and_double() {
    for megabits in [4, 12, 40, 120, 200] {
        for rtt_ms in [5, 10, 20, 50, 100] {
            let (ratio, delay_ms) = beside_cubic(megabits, rtt_ms);
            println!("{megabits} Mbit/s, {rtt_ms} ms: {ratio:.2}, {delay_ms:.2} ms");
            assert!((0.5..=2.0).contains(&ratio), "{megabits} Mbit/s, {rtt_ms} ms: {ratio}");
        }
    }
}
