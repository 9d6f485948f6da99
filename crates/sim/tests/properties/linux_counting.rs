// SPDX-License-Identifier: GPL-2.0-only
//! What Linux's modules count otherwise than paper and RFC, where windows are small: `linux_counting` and `tick`, which
//! profile `linux` has. The numbers are worked out of net/ipv4/tcp_*.c by hand.

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_sim::{Ack, Flow, Instance, TCP_INFINITE_SSTHRESH};

use crate::laws::field;

const AS_LINUX: &[(&str, &str)] = &[("linux_counting", "on")];

fn flow(algorithm: &str, parameters: &[(&str, &str)], cwnd_pkts: u32) -> Flow {
    let known = ccctl_catalog::algorithm(algorithm).expect("it exists");
    let mut set = ParameterSet::defaults(algorithm, &known.layout().parameters);
    for (name, value) in parameters {
        set.set(name, value).expect("in range");
    }
    Flow::new(Arc::new(Instance::new(algorithm, &set).expect("it exists")), cwnd_pkts, 2, Duration::ZERO)
}

/// The ACK of one packet each `spacing`, by number from 1, at which the window has grown
fn grows_at(flow: &mut Flow, spacing: Duration) -> u32 {
    let before = flow.cwnd_pkts();
    let start = flow.now();
    (1..1000)
        .find(|number| {
            flow.set_clock(start + spacing * *number);
            flow.acked(&Ack::of(1, Some(Duration::from_millis(24))));
            flow.cwnd_pkts() > before
        })
        .expect("it grows")
}

/// `W_est` passes 7 with the 14th packet, since 7 * 15 / 8 is 13. The step of the first ACK stands for 1/32 s, which is 15
/// times 2.2 ms: the 16th ACK is the first that sees it.
#[test]
fn cubic_after_a_timeout_keeps_its_step_as_linux_does() {
    for (parameters, expected) in [(AS_LINUX, 16), (&[][..], 14)] {
        let mut flow = flow("cubic", parameters, 10);
        flow.timed_out();
        flow.opened();
        flow.set_cwnd(7);
        assert_eq!(flow.ssthresh_pkts(), 7, "0.7 of ten packets");
        assert_eq!(grows_at(&mut flow, Duration::from_micros(2200)), expected, "{parameters:?}");
    }
}

/// `HYSTART_MIN_SAMPLES` are counted first, and the next RTT is the first that is looked at.
#[test]
fn hystart_leaves_slow_start_at_the_ninth_sample() {
    let cubic = ccctl_catalog::algorithm("cubic").expect("it exists");
    let defaults = ParameterSet::defaults("cubic", &cubic.layout().parameters);
    let mut flow = Flow::open_connection(Arc::new(Instance::new("cubic", &defaults).expect("it exists")));
    flow.set_cwnd(20);
    for rtt_ms in [40, 60] {
        flow.end_round();
        for sample in 1..=9_u32 {
            assert_eq!(flow.ssthresh_pkts(), TCP_INFINITE_SSTHRESH, "RTT {rtt_ms} ms, before sample {sample}");
            flow.advance(Duration::from_millis(3)); // no train of ACKs
            flow.acked(&Ack::of(1, Some(Duration::from_millis(rtt_ms))));
        }
    }
    assert_eq!(flow.ssthresh_pkts(), 20 + 17, "the window at the ninth ACK of the second round, before it grows");
}

/// With an RTT of 2.5 s, `W(t + RTT)` is 6 packets above a window of 3 (0.4 * 2.5^3): RFC 9438 takes half a window of it, which is a
/// packet for three; `bictcp_update` takes all, and grows by a packet for two, its fastest.
#[test]
fn cubic_of_linux_does_not_limit_its_target() {
    for (parameters, expected) in [(AS_LINUX, 2), (&[][..], 3)] {
        let mut flow = flow("cubic", parameters, 3);
        flow.sampled(&Ack::of(1, Some(Duration::from_millis(2500))));
        let grows_at = (1..10).find(|_| {
            flow.acked(&Ack::of(1, Some(Duration::from_millis(2500))));
            flow.cwnd_pkts() > 3
        });
        assert_eq!(grows_at, Some(expected), "{parameters:?}");
    }
}

/// `tcp_vegas_cong_avoid` calls `tcp_slow_start` whether the window was filled or not.
#[test]
fn vegas_of_linux_grows_in_slow_start_also_where_the_window_is_not_filled() {
    for (parameters, expected) in [(AS_LINUX, 11), (&[][..], 10)] {
        let known = ccctl_catalog::algorithm("vegas").expect("it exists");
        let mut set = ParameterSet::defaults("vegas", &known.layout().parameters);
        for (name, value) in parameters {
            set.set(name, value).expect("in range");
        }
        let mut flow = Flow::open_connection(Arc::new(Instance::new("vegas", &set).expect("it exists")));
        flow.set_cwnd(10);
        flow.set_sequence(1, 1000); // within a round
        let ack = Ack { cwnd_limited: false, ..Ack::of(1, Some(Duration::from_millis(40))) };
        flow.acked(&ack);
        assert_eq!(flow.cwnd_pkts(), expected, "{parameters:?}");
    }
}

/// A loss has lowered ssthresh from 40 to 28 packets, and the window on its way there is at 20: `hystart_update` takes that for
/// slow start, and a queue that is being drained for one that grows.
#[test]
fn hystart_of_linux_lowers_ssthresh_in_recovery_too() {
    for (parameters, expected) in [(AS_LINUX, 20), (&[][..], 28)] {
        let mut flow = flow("cubic", parameters, 40);
        flow.acked(&Ack::of(1, Some(Duration::from_millis(40))));
        flow.set_cwnd(40);
        flow.lost();
        flow.set_cwnd(20);
        flow.end_round();
        for _ in 1..=9 {
            assert_eq!(flow.ssthresh_pkts(), 28, "0.7 of forty packets");
            flow.advance(Duration::from_millis(3)); // no train of ACKs
            flow.acked(&Ack::of(1, Some(Duration::from_millis(60))));
        }
        assert_eq!(flow.ssthresh_pkts(), expected, "{parameters:?}");
    }
}

/// `snd_cwnd_cnt * alpha >> 7 >= snd_cwnd` is tested before the ACK is added, and that ACK is not added.
#[test]
fn htcp_pays_with_the_whole_credit_at_the_ack_after() {
    for (parameters, expected) in [(AS_LINUX, [11, 12]), (&[][..], [10, 11])] {
        let mut flow = flow("htcp", parameters, 10);
        let spacing = Duration::from_millis(2);
        assert_eq!([grows_at(&mut flow, spacing), grows_at(&mut flow, spacing)], expected, "{parameters:?}");
    }
}

/// `minRTT` is in jiffies: an RTT of 100 us is one of 4 ms where HZ is 250.
#[test]
fn rtts_are_rounded_up_to_a_tick() {
    for algorithm in ["htcp", "westwood"] {
        for (parameters, expected_us) in [(&[("tick", "4ms")][..], 4000), (&[][..], 100)] {
            let mut flow = flow(algorithm, parameters, 10);
            flow.sampled(&Ack::of(1, Some(Duration::from_micros(100))));
            assert_eq!(field(&flow, "min_rtt_us"), expected_us, "{algorithm} {parameters:?}");
        }
    }
}

/// `tcp_illinois_acked()` asks for no state.
#[test]
fn illinois_counts_rtts_in_recovery() {
    for (parameters, expected) in [(AS_LINUX, 1), (&[][..], 0)] {
        let mut flow = flow("illinois", parameters, 10);
        flow.lost();
        flow.sampled(&Ack::of(1, Some(Duration::from_millis(24))));
        assert_eq!(field(&flow, "rtt_samples"), expected, "{parameters:?}");
    }
}

/// `tcp_vegas_state()` only switches off at a timeout: `baseRTT` stays.
#[test]
fn vegas_and_yeah_keep_the_base_over_a_timeout() {
    for algorithm in ["vegas", "yeah"] {
        for (parameters, expected_us) in [(AS_LINUX, 10_000), (&[][..], 0)] {
            let mut flow = flow(algorithm, parameters, 10);
            flow.sampled(&Ack::of(1, Some(Duration::from_millis(10))));
            flow.timed_out();
            assert_eq!(field(&flow, "rtt.base_us"), expected_us, "{algorithm} {parameters:?}");
        }
    }
}
