// SPDX-License-Identifier: GPL-2.0-only
//! Laws of lp and `highspeed_lp`: when delays indicate congestion, and what then.

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::ParameterSet;
use ccctl_sim::checks::Event;
use ccctl_sim::{Ack, Flow, Instance};
use proptest::prelude::*;

use crate::every_history::for_algorithm;
use crate::laws::{field, flow};

const RTT: Duration = Duration::from_millis(100);
const ALGORITHMS: [&str; 2] = ["lp", "highspeed_lp"];

/// prop-26, after any history: the phase begins with an indication and has its length, as the state tells
#[test]
fn low_priority_does_not_grow_while_it_infers() {
    for algorithm in ALGORITHMS {
        let mut phases = 0;
        for_algorithm(ccctl_catalog::algorithm(algorithm).expect("it exists"), 256, |history| {
            let mut flow = history.flow(history.instance());
            for event in &history.events {
                let before = flow.cwnd_pkts();
                history.apply(&mut flow, *event);
                let inferring = (flow.now().as_micros() as i128) < field(&flow, "delay.phase_end_us");
                if let (true, Event::Ack { .. }) = (inferring, event) {
                    prop_assert!(flow.cwnd_pkts() <= before, "{before} grew to {}", flow.cwnd_pkts());
                }
            }
            Ok(())
        });
        let mut flow = flow(algorithm, &[], 1000);
        for delay_ms in [0, 100, 100, 100, 100] {
            flow.acked(&Ack::of(1, Some(RTT + Duration::from_millis(delay_ms))));
            phases += u32::from(field(&flow, "delay.phase_end_us") > 0);
        }
        assert!(phases > 0, "{algorithm}: a queue of one RTT indicates nothing");
    }
}

/// A window of 102 packets is halved; ten packets acknowledged after the phase are ten packets of slow start, or no whole
/// packet of additive increase.
#[test]
fn an_indication_lowers_ssthresh_unless_it_is_told_not_to() {
    for algorithm in ALGORITHMS {
        for (switch, ssthresh, after) in [("on", 51, 51), ("off", 1000, 61)] {
            let known = ccctl_catalog::algorithm(algorithm).expect("it exists");
            let mut set = ParameterSet::defaults(algorithm, &known.layout().parameters);
            set.set("lower_ssthresh", switch).expect("a switch");
            let instance = Instance::new(algorithm, &set).expect("it exists");
            let mut flow = Flow::new(Arc::new(instance), 100, 1000, Duration::ZERO);
            flow.set_srtt(RTT);
            for queue_ms in [0, 100, 100] {
                flow.acked(&Ack::of(1, Some(RTT + Duration::from_millis(queue_ms))));
            }
            assert_eq!((flow.cwnd_pkts(), flow.ssthresh_pkts()), (51, ssthresh), "{algorithm}, {switch}");
            flow.advance(RTT * 4);
            flow.acked(&Ack::of(10, None));
            assert_eq!(flow.cwnd_pkts(), after, "{algorithm}, {switch}");
        }
    }
}

/// A flow of low priority in congestion avoidance, which goes by RTTs.
fn low_priority(algorithm: &str, parameters: &[(&str, &str)], cwnd_pkts: u32) -> Flow {
    let known = ccctl_catalog::algorithm(algorithm).expect("it exists");
    let mut set = ParameterSet::defaults(algorithm, &known.layout().parameters);
    for (name, value) in [("delay_source", "rtt")].iter().chain(parameters) {
        set.set(name, value).expect("a parameter");
    }
    let mut flow =
        Flow::new(Arc::new(Instance::new(algorithm, &set).expect("it exists")), cwnd_pkts, 2, Duration::ZERO);
    flow.set_srtt(RTT);
    flow
}

/// ACKs a millisecond apart, of so many packets and with so much of a queue.
fn delayed(flow: &mut Flow, acks: u32, pkts: u32, queue_ms: u64) {
    for _ in 0..acks {
        flow.advance(Duration::from_millis(1));
        flow.sampled(&Ack::of(pkts, Some(RTT + Duration::from_millis(queue_ms))));
    }
}

/// 40 ms of a delayed ACK are no queue; where every packet always had its own ACK they can be nothing else.
#[test]
fn acks_that_may_be_delayed_indicate_no_congestion() {
    for algorithm in ALGORITHMS {
        for (switch, pkts_before, yields) in [("off", 2, false), ("on", 2, true), ("off", 1, true), ("on", 1, true)] {
            let mut flow = low_priority(algorithm, &[("delayed_acks", switch)], 100);
            delayed(&mut flow, 3, pkts_before, 0);
            delayed(&mut flow, 10, 1, 40);
            assert_eq!(flow.cwnd_pkts() < 100, yields, "{algorithm}, {switch}, {pkts_before}");
        }
    }
}

/// An ACK for several packets was not waited for, and a single one's delay is no less than the path's.
#[test]
fn where_acks_are_delayed_a_queue_still_indicates_and_its_end_still_shows() {
    for algorithm in ALGORITHMS {
        let mut flow = low_priority(algorithm, &[], 100);
        delayed(&mut flow, 3, 2, 0);
        delayed(&mut flow, 10, 2, 40);
        assert_eq!(flow.cwnd_pkts(), 50, "{algorithm}");
        let queued = field(&flow, "delay.smooth_q3us");
        delayed(&mut flow, 10, 1, 0);
        assert!(field(&flow, "delay.smooth_q3us") < queued, "{algorithm}");
    }
}

/// Indications of the RTT after a reaction are those of the same queue; later ones, of the inference phase, leave one packet.
#[test]
fn it_reacts_once_a_round_trip() {
    for algorithm in ALGORITHMS {
        for (reaction_rtts, at_once) in [("1", 50), ("0", 1)] {
            let mut flow = low_priority(algorithm, &[("reaction_rtts", reaction_rtts)], 100);
            delayed(&mut flow, 1, 1, 0);
            delayed(&mut flow, 50, 1, 40);
            assert_eq!(flow.cwnd_pkts(), at_once, "{algorithm}, {reaction_rtts}");
            delayed(&mut flow, 150, 1, 40); // RTT + 40 ms later, inside the 3 of the inference phase
            assert_eq!(flow.cwnd_pkts(), 1, "{algorithm}, {reaction_rtts}");
        }
    }
}

/// J. Little, 1961: of a window W in a round trip T a queue that takes Q holds W Q / T. 10 packets, 15 ms of 115: 1.3 of them; 40
/// of 140: 2.9.
#[test]
fn a_queue_without_two_of_its_own_packets_indicates_nothing() {
    for algorithm in ALGORITHMS {
        for (own, queue_ms, yields) in [("2", 15, false), ("2", 40, true), ("3", 40, false), ("0", 15, true)] {
            let mut flow = low_priority(algorithm, &[("own_queue_pkts", own)], 10);
            delayed(&mut flow, 1, 1, 0);
            delayed(&mut flow, 100, 1, queue_ms);
            assert_eq!(flow.cwnd_pkts() < 10, yields, "{algorithm}, {own}, {queue_ms} ms");
        }
    }
}
