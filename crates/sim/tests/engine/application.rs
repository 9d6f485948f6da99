// SPDX-License-Identifier: GPL-2.0-only
//! Applications: what is sent when, and what becomes of the window meanwhile. ACKs: how many there are.

use std::time::Duration;

use ccctl_sim::{Application, BitRate, Limit, Queue, WebUser};

use crate::{assert_near, link, lossy, ms, Dumbbell, NO_LIMIT};

/// RFC 7661, `tcp_is_cwnd_limited`: 1 Mbit/s over 100 ms are 9 packets, so a window of 20 is twice what is used.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut dumbbell = Dumbbell::new(&link(100, Queue::DropTail(NO_LIMIT))).with("reno", ms(100), |flow| {
        flow.application = Application::Limited { rate: BitRate::mbit_per_s(1) };
    });
    dumbbell.run_until(Duration::from_secs(100));
    assert!(dumbbell.flow(0).cwnd_pkts() <= 20, "{}", dumbbell.flow(0).cwnd_pkts());
    assert_near(dumbbell.flow(0).received_bytes() as f64 * 8.0, 100e6, 0.01, "bits");
}

/// RFC 5681 section 4.1: after more than a timeout without sending the window is the initial one again. Linux halves it for
/// each timeout that has passed.
#[test]
fn a_pause_takes_the_window_back() {
    let windows = |slow_start_after_idle: bool| {
        let mut dumbbell = Dumbbell::new(&link(1000, Queue::DropTail(NO_LIMIT))).with("reno", ms(20), |flow| {
            flow.application =
                Application::OnOff { on: ms(500), off: Duration::from_secs(30), rate: BitRate::mbit_per_s(500) };
            flow.tcp.slow_start_after_idle = slow_start_after_idle;
        });
        let mut seen = Vec::new();
        let mut idle_ms = 0;
        while seen.len() < 20 {
            let before = dumbbell.flow(0).counters().sent_pkts;
            dumbbell.run_until(dumbbell.simulation.now() + ms(5));
            if dumbbell.flow(0).counters().sent_pkts == before {
                idle_ms += 5;
            } else {
                if idle_ms > 5000 {
                    seen.push(dumbbell.flow(0).cwnd_pkts());
                }
                idle_ms = 0;
            }
        }
        seen
    };
    let restarted = windows(true);
    assert!(restarted.iter().all(|pkts| *pkts <= 20), "{restarted:?}");
    let kept = windows(false);
    assert!(kept[5..].iter().all(|pkts| *pkts > 100), "{kept:?}");
}

/// RFC 1122 section 4.2.3.2 and Linux: one by one at first, then every second packet; as many as asked for with stretch ACKs.
#[test]
fn acks_are_delayed_as_asked() {
    for (ack_every_pkts, quick_acks) in [(1, 0), (2, 16), (8, 0)] {
        let mut dumbbell = Dumbbell::new(&link(10, Queue::DropTail(NO_LIMIT)));
        let back = dumbbell.simulation.add_link(&link(1000, Queue::DropTail(NO_LIMIT)));
        dumbbell = dumbbell.with("reno", ms(20), |flow| {
            flow.ack_path = vec![back];
            flow.tcp.max_window_pkts = 64;
            flow.tcp.ack_every_pkts = ack_every_pkts;
            flow.tcp.quick_acks = quick_acks;
        });
        dumbbell.run_until(Duration::from_secs(10));
        let acks = dumbbell.simulation.link(back).counters().arrived_pkts;
        let quick = u64::from(quick_acks);
        let expected = quick + (dumbbell.flow(0).received_pkts() - quick) / u64::from(ack_every_pkts);
        assert!(acks.abs_diff(expected) <= 3, "{acks} ACKs, {expected} expected");
    }
}

/// A single packet waits 40 ms for a second one.
#[test]
fn a_last_odd_packet_is_acknowledged_after_40_ms() {
    let finished = |quick_acks| {
        let mut dumbbell = Dumbbell::new(&link(12, Queue::DropTail(NO_LIMIT))).with("reno", ms(20), |flow| {
            flow.application = Application::Transfer { bytes: 3 * 1448 };
            flow.tcp.quick_acks = quick_acks;
        });
        dumbbell.run_until(Duration::from_secs(1));
        dumbbell.simulation.completions()[0].finished
    };
    assert_eq!((finished(16), finished(0)), (ms(23), ms(63))); // 3 packets of 1 ms each, and 20 ms
}

/// Slow start: 10, 20, 40 packets; 70 packets take three rounds and the time of the last ones on the link.
#[test]
fn a_transfer_takes_its_rounds() {
    let mut dumbbell = Dumbbell::new(&link(1000, Queue::DropTail(NO_LIMIT))).with("reno", ms(100), |flow| {
        flow.application = Application::Transfer { bytes: 70 * 1448 };
        flow.start = ms(7);
    });
    dumbbell.run_until(Duration::from_secs(2));
    let completion = dumbbell.simulation.completions()[0];
    assert_eq!((completion.started, completion.pkts), (ms(7), 70));
    let length = completion.length();
    assert!((ms(300)..ms(302)).contains(&length), "{length:?}");
}

/// A flow that is stopped sends nothing more, and what is in flight arrives.
#[test]
fn a_flow_starts_and_stops_in_time() {
    let mut dumbbell = Dumbbell::new(&link(10, Queue::DropTail(Limit::Packets(20)))).with("cubic", ms(30), |flow| {
        flow.start = Duration::from_secs(2);
        flow.stop = Some(Duration::from_secs(5));
    });
    dumbbell.run_until(ms(1999));
    assert_eq!(dumbbell.flow(0).counters().sent_pkts, 0);
    dumbbell.run_until(ms(5500));
    let sent = dumbbell.flow(0).counters().sent_pkts;
    dumbbell.run_until(Duration::from_secs(50));
    assert_eq!((dumbbell.flow(0).counters().sent_pkts, dumbbell.flow(0).in_flight_pkts()), (sent, 0));
    assert!(sent > 2000);
}

/// SURGE's users: each object on a connection of its own, from the initial window, with pauses of seconds between pages.
#[test]
fn users_of_the_web_come_and_go() {
    let mut dumbbell = Dumbbell::new(&link(100, Queue::DropTail(Limit::Packets(200))));
    for _ in 0..50 {
        dumbbell = dumbbell.with("cubic", ms(50), |flow| flow.application = Application::Web(WebUser::default()));
    }
    dumbbell.run_until(Duration::from_secs(200));
    let completions = dumbbell.simulation.completions();
    // a page of 1.7 objects and their pauses every 10 s or so
    assert!((300..20_000).contains(&completions.len()), "{}", completions.len());
    assert!(completions.iter().all(|it| it.length() >= ms(50)));
    let small = completions.iter().find(|it| it.pkts <= 10 && it.started > Duration::from_secs(20)).expect("many are");
    assert!(small.length() < ms(500), "{small:?}");
}

/// H. Cardwell et al., 2016: one BBR flow fills the link with no queue to speak of, paced, under random loss that would hold
/// Reno to 1.31 / sqrt(0.001) = 41 packets of 417.
#[test]
fn a_paced_flow_keeps_the_queue_short() {
    let mut dumbbell = Dumbbell::new(&link(100, Queue::DropTail(Limit::Packets(1000)))).with("bbr", ms(50), |_| {});
    dumbbell.run_until(Duration::from_secs(5));
    let queue = dumbbell.sample(ms(10), Duration::from_secs(15), Dumbbell::queue_pkts);
    assert!(queue.iter().sum::<usize>() / queue.len() < 100, "half of what 2 BDP of window allow is 208");
    assert!(dumbbell.utilisation_until(Duration::from_secs(35)) > 0.93);
    assert!(dumbbell.flow(0).pacing_bytes_per_s().is_some());
    let loss = ccctl_sim::Loss::Bernoulli(ccctl_sim::Probability::ratio(1, 1000));
    let mut lossy = lossy("bbr", 100, ms(50), loss, |_| {});
    lossy.run_until(Duration::from_secs(5));
    assert!(lossy.utilisation_until(Duration::from_secs(25)) > 0.9);
}
