// SPDX-License-Identifier: GPL-2.0-only
//! BBR's calls against what Linux's `tcp_bbr.c` (v1, 6.12) says of them.

use std::time::Duration;

use ccctl_sim::{Ack, Flow};

use crate::{instance, ms};

const PROBE_RTT: i128 = 3;

fn us(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

/// A connection whose SYN's RTT was 40 us, before there was a queue.
fn connection() -> Flow {
    let mut flow = Flow::open_connection(instance("bbr"));
    flow.advance(ms(1));
    flow.sampled(&Ack::of(1, Some(us(40))));
    flow.established();
    flow
}

fn field(flow: &Flow, name: &str) -> i128 {
    flow.state(name).expect("a field of BBR's state")
}

/// `bbr_init`: `min_rtt_us = tcp_min_rtt(tp)`, which has the SYN's. Of data behind four other connections' it is longer.
#[test]
fn the_smallest_rtt_begins_with_that_of_the_syn() {
    let mut flow = connection();
    assert_eq!(field(&flow, "min_rtt_us"), 40);
    flow.advance(ms(6));
    flow.acked(&Ack::of(2, Some(ms(6))));
    assert_eq!(field(&flow, "min_rtt_us"), 40);
    let unmeasured = Flow::open_connection(instance("bbr"));
    assert_eq!(field(&unmeasured, "min_rtt_us"), 0xffff_ffff, "~0U: none yet");
}

/// `bbr_update_min_rtt` is in `PROBE_RTT` already when it calls `bbr_save_cwnd`: the larger of the two windows stays.
#[test]
fn what_probe_rtt_comes_back_to_is_not_less_than_what_was_saved() {
    let mut flow = connection();
    flow.set_state("prior_cwnd_pkts", 100);
    flow.set_cwnd(50);
    flow.advance(Duration::from_secs(11));
    flow.acked(&Ack { in_flight_pkts: 50, ..Ack::of(1, Some(ms(6))) });
    assert_eq!((field(&flow, "mode"), field(&flow, "prior_cwnd_pkts")), (PROBE_RTT, 100));
}
