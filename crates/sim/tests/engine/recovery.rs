// SPDX-License-Identifier: GPL-2.0-only
//! Loss recovery: timeouts, proportional rate reduction, undo, reordering, partial ACKs.

use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{
    Application, BitRate, Limit, LinkRate, LinkSpec, Loss, Probability, Queue, RateTrace, Reordering, TcpSpec,
};

use crate::{instance, link, lossy, ms, Dumbbell, NO_LIMIT};

const RECOVERY: u8 = 3;

/// RFC 6298 section 2.1 and 5.5: a second before there is a sample, then twice as long each time, up to two minutes.
#[test]
fn timeouts_back_off() {
    let mut dumbbell = lossy("reno", 100, ms(10), Loss::Bernoulli(Probability::ALWAYS), |flow| {
        flow.tcp.tail_loss_probe = false;
    });
    let mut time = Duration::ZERO;
    for (index, timeout_s) in [1, 2, 4, 8, 16, 32, 64, 120, 120].into_iter().enumerate() {
        time += Duration::from_secs(timeout_s);
        dumbbell.run_until(time.saturating_sub(ms(1)));
        assert_eq!(dumbbell.flow(0).counters().timeouts, index as u64, "before {time:?}");
        dumbbell.run_until(time + ms(1));
        assert_eq!(dumbbell.flow(0).counters().timeouts, index as u64 + 1, "after {time:?}");
    }
    assert_eq!((dumbbell.flow(0).cwnd_pkts(), dumbbell.flow(0).received_pkts()), (1, 0));
}

/// A link of 12 Mbit/s that stands still from one second on for so long.
fn interrupted(pause_ms: u32) -> LinkSpec {
    let times: Vec<String> = (1..=1000).chain(1000 + pause_ms..20_000).map(|time_ms| time_ms.to_string()).collect();
    let trace = RateTrace::parse(&times.join("\n")).expect("a trace");
    LinkSpec::new(LinkRate::Trace(Arc::new(trace)), Duration::ZERO, Queue::DropTail(NO_LIMIT))
}

/// RFC 6298 with Linux's floor: 200 ms and an RTT after the last ACK, which was at 1 s.
#[test]
fn the_least_timeout_is_200_ms() {
    let mut dumbbell = Dumbbell::new(&interrupted(5000)).with("reno", ms(20), |flow| {
        flow.tcp.tail_loss_probe = false;
        flow.tcp.max_window_pkts = 20; // as much as the path holds
    });
    dumbbell.run_until(ms(1210));
    assert_eq!(dumbbell.flow(0).counters().timeouts, 0);
    dumbbell.run_until(ms(1275));
    assert_eq!(dumbbell.flow(0).counters().timeouts, 1);
}

/// RFC 3522, 4015: what comes after the pause was sent before the retransmission, and its ACK says so by the time stamp. The
/// window is given back.
#[test]
fn an_unnecessary_timeout_is_undone() {
    let mut dumbbell = Dumbbell::new(&interrupted(400)).with("reno", ms(20), |flow| {
        flow.tcp.tail_loss_probe = false;
        flow.tcp.max_window_pkts = 20;
    });
    dumbbell.run_until(ms(990));
    let before = dumbbell.flow(0).cwnd_pkts();
    dumbbell.run_until(ms(1390));
    assert!(dumbbell.flow(0).counters().timeouts == 1 && dumbbell.flow(0).cwnd_pkts() == 1);
    dumbbell.run_until(ms(1600));
    assert_eq!((dumbbell.flow(0).counters().undone, dumbbell.flow(0).ca_state()), (1, 0));
    assert!(dumbbell.flow(0).cwnd_pkts() >= before, "{} after {before}", dumbbell.flow(0).cwnd_pkts());
    assert_eq!(dumbbell.flow(0).counters().retransmitted_pkts, 1);
}

/// RFC 6937: on the way from W to W/2 one packet leaves for two that are delivered, so that at no time more than that is in
/// flight, and at the end it is the threshold.
#[test]
fn the_window_falls_in_proportion_to_what_is_delivered() {
    let mut dumbbell = Dumbbell::new(&link(100, Queue::DropTail(Limit::Packets(400)))).with("reno", ms(48), |flow| {
        flow.tcp.initial_ssthresh_pkts = Some(400);
    });
    dumbbell.run_until(Duration::from_secs(5));
    let (mut seen, mut is_sacked) = (Vec::new(), false);
    while !(seen.len() > 5 && dumbbell.flow(0).ca_state() == 0) {
        dumbbell.run_until(dumbbell.simulation.now() + ms(1));
        if dumbbell.flow(0).ca_state() == RECOVERY {
            let flow = dumbbell.flow(0);
            seen.push((flow.received_pkts(), flow.in_flight_pkts()));
            is_sacked |= flow.counters().delivered_pkts > flow.counters().acked_pkts;
        }
    }
    let (first_received, peak) = (seen[0].0, f64::from(seen[0].1));
    for (received, in_flight) in &seen {
        let delivered = (received - first_received) as f64;
        let bound = (peak - delivered / 2.0).max(peak / 2.0) + 4.0;
        assert!(f64::from(*in_flight) <= bound, "{in_flight} in flight, {bound} allowed");
    }
    let (threshold, end) = (dumbbell.flow(0).ssthresh_pkts(), dumbbell.flow(0).cwnd_pkts());
    assert!((threshold..=threshold + 2).contains(&end), "{end}, threshold {threshold}");
    assert!(is_sacked, "as in the kernel, a packet is delivered when SACK reports it");
}

/// RFC 6582 section 3.2: without SACK a partial ACK repairs one loss a round trip, so a window with many losses takes as many
/// round trips; with SACK few do.
#[test]
fn newreno_repairs_a_loss_a_round_trip() {
    let recovery_time = |sack: bool| {
        let queue = Queue::DropTail(Limit::Packets(40));
        let mut dumbbell = Dumbbell::new(&link(50, queue)).with("reno", ms(100), |flow| flow.tcp.sack = sack);
        let step = ms(10);
        let states = dumbbell.sample(step, Duration::from_secs(120), |dumbbell| dumbbell.flow(0).ca_state());
        let first = states.iter().position(|state| *state == RECOVERY).expect("slow start overshoots");
        let length = states[first..].iter().position(|state| *state != RECOVERY).expect("it ends");
        (step * length as u32, dumbbell.flow(0).dropped_pkts(), dumbbell.flow(0).counters().timeouts)
    };
    let (with_sack, dropped_pkts, _) = recovery_time(true);
    assert!(dropped_pkts > 30, "{dropped_pkts}");
    assert!(with_sack < ms(1500), "{with_sack:?}");
    let (without, _, timeouts) = recovery_time(false);
    assert!(without > ms(80) * dropped_pkts as u32 || timeouts > 0, "{without:?}");
}

/// Where duplicate ACKs tell nothing, as in ns-2's TCP-Linux with a sink that sends no SACK, no loss is repaired before its timeout.
#[test]
fn without_duplicate_acks_each_loss_waits_for_its_timeout() {
    let counters = |fast_retransmit: bool| {
        let mut dumbbell = lossy("reno", 20, ms(20), Loss::Bernoulli(Probability::ratio(1, 1000)), |flow| {
            flow.tcp = TcpSpec { sack: false, fast_retransmit, time_stamps: false, ..TcpSpec::default() };
        });
        dumbbell.run_until(Duration::from_secs(60));
        let flow = dumbbell.flow(0);
        assert!(flow.dropped_pkts() > 10, "{}", flow.dropped_pkts());
        flow.counters()
    };
    let with = counters(true);
    assert!(with.recoveries > with.timeouts, "{with:?}");
    let without = counters(false);
    assert!(without.recoveries == 0 && without.timeouts > 10, "{without:?}");
}

/// RFC 8985: packets that overtake others by less than a quarter of the RTT are soon no reason to reduce the window.
#[test]
fn reordering_is_told_from_loss() {
    let reordering = Some(Reordering { probability: Probability::ratio(1, 100), delay: ms(10) });
    let spec = LinkSpec { reordering, ..link(100, Queue::DropTail(NO_LIMIT)) };
    let mut dumbbell = Dumbbell::new(&spec).with("reno", ms(50), |flow| flow.tcp.max_window_pkts = 300);
    dumbbell.run_until(Duration::from_secs(2));
    let before = dumbbell.flow(0).counters();
    dumbbell.run_until(Duration::from_secs(20));
    let after = dumbbell.flow(0).counters();
    assert_eq!(after.retransmitted_pkts - before.retransmitted_pkts, 0);
    assert_eq!(dumbbell.flow(0).cwnd_pkts(), 300);
}

/// RFC 8985 section 7: the end of a transfer is lost, and a probe after two RTTs repairs it long before the timeout could.
#[test]
fn a_lost_tail_is_probed_for() {
    let duration = |tail_loss_probe: bool| {
        // the queue takes the first window and not all of the second
        let queue = Queue::DropTail(Limit::Packets(9));
        let mut dumbbell = Dumbbell::new(&link(1, queue)).with("reno", ms(400), |flow| {
            flow.application = Application::Transfer { bytes: 30 * 1448 };
            flow.tcp = TcpSpec { tail_loss_probe, ..TcpSpec::default() };
        });
        dumbbell.run_until(Duration::from_secs(30));
        assert_eq!(dumbbell.flow(0).in_order_pkts(), 30);
        (dumbbell.simulation.completions()[0].finished, dumbbell.flow(0).counters())
    };
    let ((with, counters), (without, _)) = (duration(true), duration(false));
    assert!(counters.probes > 0 && counters.timeouts == 0, "{counters:?}");
    assert!(with <= without, "{with:?}, {without:?}");
}

/// Nothing is lost for ever: every transfer ends, whatever the path does.
#[test]
fn transfers_end_on_bad_paths() {
    for (sack, fast_retransmit) in [(true, true), (false, true), (false, false)] {
        for percent in [5, 20, 40] {
            let loss = Loss::Bernoulli(Probability::ratio(percent, 100));
            let spec = LinkSpec {
                loss,
                jitter: ms(5),
                reordering: Some(Reordering { probability: Probability::ratio(1, 50), delay: ms(30) }),
                ..LinkSpec::new(
                    LinkRate::Constant(BitRate::mbit_per_s(10)),
                    ms(10),
                    Queue::DropTail(Limit::Packets(20)),
                )
            };
            let mut dumbbell = Dumbbell::new(&spec);
            let back = dumbbell.simulation.add_link(&spec);
            dumbbell = dumbbell.with("cubic", ms(10), |flow| {
                flow.ack_path = vec![back];
                flow.application = Application::Transfer { bytes: 200 * 1448 };
                flow.tcp = TcpSpec { sack, fast_retransmit, ..TcpSpec::default() };
            });
            dumbbell.run_until(Duration::from_secs(20_000));
            let flow = dumbbell.flow(0);
            assert_eq!(
                dumbbell.simulation.completions().len(),
                1,
                "{percent} %, sack {sack}, {fast_retransmit}: {:?}",
                flow.counters()
            );
            assert_eq!((flow.in_order_pkts(), flow.in_flight_pkts()), (200, 0));
            assert!(!sack || flow.counters().delivered_pkts == 200, "each packet is delivered once");
        }
    }
    let _ = instance("cubic");
}
