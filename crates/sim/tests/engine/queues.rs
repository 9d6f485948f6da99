// SPDX-License-Identifier: GPL-2.0-only
//! Queue management against its papers and RFCs, with flows that react.

use std::time::Duration;

use ccctl_sim::{Codel, DualPi2, Limit, Probability, Queue, Red};

use crate::{assert_near, link, ms, Dumbbell, PKT_BITS};

const LIMIT: Limit = Limit::Packets(1000);

/// RFC 3168: a mark halves the window once a round trip, and nothing is lost. The threshold takes the place of the buffer in
/// the sawtooth.
#[test]
fn a_mark_halves_the_window_and_loses_nothing() {
    let queue = Queue::Threshold { mark_above_pkts: 99, limit: LIMIT };
    let mut dumbbell = Dumbbell::new(&link(100, queue)).with("reno", ms(48), |flow| {
        flow.tcp.ecn = true;
        flow.tcp.initial_ssthresh_pkts = Some(300); // slow start would go far beyond the mark
    });
    dumbbell.run_until(Duration::from_secs(20));
    let before = dumbbell.flow(0).counters();
    let thresholds = dumbbell.sample(ms(200), Duration::from_secs(320), |it| it.flow(0).ssthresh_pkts());
    let after = dumbbell.flow(0).counters();
    assert_eq!((after.retransmitted_pkts, after.recoveries, dumbbell.flow(0).dropped_pkts()), (0, 0, 0));
    // the window grows on for the round trip until the echo comes, by one; the next round trip is that of the reduction
    assert!(thresholds.iter().all(|pkts| (249..=252).contains(pkts)), "{thresholds:?}");
    let cycles = (after.mark_reductions - before.mark_reductions) as f64;
    let (bdp, peak) = (400.0, 501.0_f64);
    let period_s = 0.048 * ((bdp - peak / 2.0) + (peak * peak - bdp * bdp) / (2.0 * bdp) + peak / bdp);
    assert_near(300.0 / cycles, period_s, 0.03, "period");
}

/// M. Alizadeh et al., SIGCOMM 2010, section 3.3 and 3.4: the queue is at most K + N, its amplitude sqrt(2 N (C RTT + K)) / 2,
/// and the link is never idle where K > C RTT / 7. The model is of N synchronised flows, each cutting its window at once, so
/// that marks last for one round trip. Linux reduces over one more (PRR): twice the marks are sqrt 2 times the amplitude.
#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    dctcp_keeps_the_queue_at_forty(Queue::Threshold { mark_above_pkts: 40, limit: LIMIT }, |_| {});
}

/// The same threshold as a time: 40 packets take 480 us. The marks are counted by the receiver (RFC 9768).
#[test]
fn a_step_marker_is_a_threshold_in_time() {
    let queue = Queue::Step { mark_above: Duration::from_micros(480), limit: LIMIT };
    dctcp_keeps_the_queue_at_forty(queue, |flow| {
        flow.tcp.accurate_ecn = Some(true);
        flow.tcp.ect_1 = true;
    });
}

fn dctcp_keeps_the_queue_at_forty(queue: Queue, change: impl Fn(&mut ccctl_sim::FlowSpec)) {
    let (flows, mark_above_pkts) = (2, 40);
    let mut dumbbell = Dumbbell::new(&link(1000, queue));
    for _ in 0..flows {
        dumbbell = dumbbell.with("dctcp", ms(1), &change);
    }
    dumbbell.run_until(Duration::from_secs(1));
    let drops_at_start = dumbbell.link().dropped_pkts();
    let mut queue = dumbbell.sample(Duration::from_micros(137), Duration::from_secs(3), Dumbbell::queue_pkts);
    queue.sort_unstable();
    let (least, most) = (queue[queue.len() / 100], queue[queue.len() * 99 / 100]);
    let bdp_pkts = 1e9 * 0.001 / PKT_BITS;
    let amplitude = (2.0 * f64::from(flows) * (bdp_pkts + f64::from(mark_above_pkts))).sqrt() / 2.0;
    let highest = mark_above_pkts as usize + flows as usize;
    // ACKs come in pairs, so a window may be a packet or two ahead
    assert!((highest - 3..=highest + 4).contains(&most), "at most {most}, expected {highest}");
    let seen = (most - least) as f64;
    assert!((amplitude * 0.8..amplitude * 2.0_f64.sqrt() * 1.2).contains(&seen), "{seen}, {amplitude} expected");
    assert_eq!(dumbbell.link().dropped_pkts(), drops_at_start);
    let utilisation = dumbbell.utilisation_until(Duration::from_secs(4));
    assert!(utilisation > 0.999, "{utilisation}");
}

/// Of a link that is marked for DCTCP alpha is the share of marked packets: W alpha / 2 lost and won again in each cycle.
#[test]
fn dctcp_estimates_the_share_of_marks() {
    let queue = Queue::Threshold { mark_above_pkts: 40, limit: LIMIT };
    let mut dumbbell = Dumbbell::new(&link(1000, queue)).with("dctcp", ms(1), |_| {});
    dumbbell.run_until(Duration::from_secs(1));
    let (marked, delivered) = (dumbbell.link().marked_pkts, dumbbell.link().delivered_pkts);
    let alphas = dumbbell.sample(ms(1), Duration::from_secs(3), |it| it.flow(0).state("alpha_q10").expect("a field"));
    let alpha = alphas.iter().sum::<i128>() as f64 / alphas.len() as f64 / 1024.0;
    let share = (dumbbell.link().marked_pkts - marked) as f64 / (dumbbell.link().delivered_pkts - delivered) as f64;
    assert_near(alpha, share, 0.15, "alpha");
}

fn many_flows(flows: u64, queue: Queue, change: impl Fn(&mut ccctl_sim::FlowSpec)) -> Dumbbell {
    let mut dumbbell = Dumbbell::new(&link(50, queue));
    for index in 0..flows {
        dumbbell = dumbbell.with("reno", ms(60 + index), |flow| {
            flow.access_jitter = ms(1);
            change(flow);
        });
    }
    dumbbell.run_until(Duration::from_secs(20));
    dumbbell
}

/// S. Floyd, V. Jacobson, 1993: packets are dropped in proportion to how far the average is between its thresholds, evenly
/// spaced, which makes the share twice `p_b`; so the share tells where the average lies, and the queue around it. The slope is
/// gentle enough for forty flows of 9 packets to be stable (C. Hollot et al., INFOCOM 2001). Marks do what drops do.
#[test]
fn red_drops_in_proportion_to_the_average_queue() {
    for ecn in [false, true] {
        let red = Red {
            min_threshold_pkts: 20,
            max_threshold_pkts: 200,
            max_probability: Probability::ratio(1, 20),
            weight_shift: 9,
            gentle: true,
            ecn,
            limit_pkts: 400,
        };
        let mut dumbbell = many_flows(40, Queue::Red(red), |flow| flow.tcp.ecn = ecn);
        let before = dumbbell.link();
        let queue = dumbbell.sample(ms(10), Duration::from_secs(80), Dumbbell::queue_pkts);
        let after = dumbbell.link();
        let mean = queue.iter().sum::<usize>() as f64 / queue.len() as f64;
        let noticed = (after.dropped_early_pkts + after.marked_pkts) - (before.dropped_early_pkts + before.marked_pkts);
        let share = noticed as f64 / (after.arrived_pkts - before.arrived_pkts) as f64;
        assert_near(mean, 20.0 + 180.0 * share / 2.0 / 0.05, 0.1, "mean queue");
        assert_eq!(after.dropped_full_pkts, before.dropped_full_pkts);
        assert_eq!((after.dropped_early_pkts > before.dropped_early_pkts, after.marked_pkts > 0), (!ecn, ecn));
        assert!(dumbbell.utilisation_until(Duration::from_secs(100)) > 0.96);
    }
}

/// RFC 8289 section 3.2: the delay that stands is held at the target of 5 ms, with the link in full use; without it the
/// buffer of 120 ms would stand full.
#[test]
fn codel_keeps_the_delay_near_its_target() {
    for ecn in [false, true] {
        let mut dumbbell =
            many_flows(10, Queue::Codel(Codel { ecn, limit_pkts: 500, ..Codel::default() }), |flow| flow.tcp.ecn = ecn);
        let before = dumbbell.link();
        let utilisation = dumbbell.utilisation_until(Duration::from_secs(80));
        let after = dumbbell.link();
        let waited_ns = (after.waited_pkt_ns - before.waited_pkt_ns) as f64;
        let mean_ms = waited_ns / (after.delivered_pkts - before.delivered_pkts) as f64 / 1e6;
        assert!((2.0..12.0).contains(&mean_ms), "{mean_ms} ms");
        assert!(utilisation > 0.95, "{utilisation}");
        assert_eq!(after.dropped_full_pkts, before.dropped_full_pkts);
    }
}

/// RFC 9332: the classic queue is held at the target of 15 ms, in full use. Its marks come evenly spaced, so that Reno's mean
/// window is that of periodic losses, sqrt(3/2p) = 1.22 / sqrt(p) (Mathis et al., 1997); a mark costs a round trip without
/// growth, one of sqrt(2/3p) or so.
#[test]
fn dualpi2_keeps_classic_flows_at_the_target() {
    for ecn in [false, true] {
        let mut dumbbell = many_flows(10, Queue::DualPi2(DualPi2::default()), |flow| flow.tcp.ecn = ecn);
        let before = dumbbell.link();
        let utilisation = dumbbell.utilisation_until(Duration::from_secs(120));
        let after = dumbbell.link();
        let pkts = (after.delivered_pkts - before.delivered_pkts) as f64;
        let mean_ms = (after.waited_pkt_ns - before.waited_pkt_ns) as f64 / pkts / 1e6;
        assert_near(mean_ms, 15.0, 0.1, "delay in ms");
        assert!(utilisation > 0.95, "{utilisation}");
        let signs = (after.dropped_early_pkts + after.marked_pkts) - (before.dropped_early_pkts + before.marked_pkts);
        let share = signs as f64 / pkts;
        let window = pkts / 100.0 / 10.0 * (0.0645 + mean_ms / 1000.0); // per flow and round trip
        assert_near(window, (1.5 / share).sqrt(), 0.1, "mean window");
        assert_eq!((after.dropped_early_pkts > before.dropped_early_pkts, after.marked_pkts > 0), (!ecn, ecn));
    }
}

/// A buffer in bytes takes as many packets as fit.
#[test]
fn a_buffer_in_bytes_is_one_in_packets() {
    let run = |limit| {
        let mut dumbbell = Dumbbell::new(&link(100, Queue::DropTail(limit))).with("cubic", ms(20), |_| {});
        dumbbell.run_until(Duration::from_secs(10));
        dumbbell.link()
    };
    assert_eq!(run(Limit::Bytes(50 * 1500)), run(Limit::Packets(50)));
    assert_eq!(run(Limit::Bytes(51 * 1500 - 1)), run(Limit::Packets(50)));
}

/// The queue's integral over time is what the packets waited (J. Little, 1961).
#[test]
fn waiting_time_is_the_queue_over_time() {
    let mut dumbbell = Dumbbell::new(&link(10, Queue::DropTail(Limit::Packets(50)))).with("reno", ms(40), |_| {});
    dumbbell.run_until(Duration::from_secs(1));
    let before = dumbbell.link().waited_pkt_ns;
    let queue = dumbbell.sample(Duration::from_micros(100), Duration::from_secs(21), Dumbbell::queue_pkts);
    let sum_pkt_ns = queue.iter().sum::<usize>() as f64 * 100_000.0;
    assert_near((dumbbell.link().waited_pkt_ns - before) as f64, sum_pkt_ns, 0.01, "integral");
}
