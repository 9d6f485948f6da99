// SPDX-License-Identifier: GPL-2.0-only
//! Paths of several links, both ways.

use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{
    BitRate, FlowSpec, Hook, Limit, LinkRate, LinkSpec, Queue, RateTrace, Simulation, SimulationError, Stall, TcpSpec,
};

use crate::{assert_near, instance, link, ms, Dumbbell, NO_LIMIT};

fn drop_tail(megabits: u64, delay: Duration, pkts: u32) -> LinkSpec {
    LinkSpec::new(LinkRate::Constant(BitRate::mbit_per_s(megabits)), delay, Queue::DropTail(Limit::Packets(pkts)))
}

/// RTT: what the links and the flow's own delay add up to, and the time on the links.
#[test]
fn delays_add_up_along_a_path() {
    let mut simulation = Simulation::new(1);
    let there = [ms(3), ms(5), ms(7)].map(|delay| simulation.add_link(&drop_tail(12, delay, 100)));
    let back = [ms(11), ms(13)].map(|delay| simulation.add_link(&drop_tail(12, delay, 100)));
    let spec = FlowSpec {
        path: there.to_vec(),
        ack_path: back.to_vec(),
        access_delay: ms(17),
        tcp: TcpSpec { max_window_pkts: 1, ack_every_pkts: 1, ..TcpSpec::default() },
        ..FlowSpec::bulk(instance("reno"), there[0])
    };
    let flow = simulation.add_flow(&spec).unwrap();
    simulation.run_until(Duration::from_secs(10)).unwrap();
    // 1500 bytes at 12 Mbit/s: 1 ms; 52 bytes: 34.666 us
    let expected = ms(3 + 5 + 7 + 11 + 13 + 17 + 3) + Duration::from_micros(69);
    for rtt in [simulation.flow(flow).min_rtt().unwrap(), simulation.flow(flow).srtt()] {
        assert!(rtt.abs_diff(expected) <= Duration::from_micros(1), "{rtt:?}"); // clocks of 1 us
    }
}

/// While the network stands still the clocks of the ends go on: the one packet that is under way is later by that, and no other one.
#[test]
fn what_is_under_way_in_a_stall_is_later_by_it() {
    let mut simulation = Simulation::new(1);
    for [at, length, made_up] in [[5000, 9, 0], [7000, 30, 10], [8000, 2, 0], [8001, 3, 0], [9000, 40, 40]] {
        simulation.add_stall(Stall { at: ms(at), length: ms(length), made_up: ms(made_up) });
    }
    let there = simulation.add_link(&drop_tail(12, ms(39), 100));
    let spec = FlowSpec {
        tcp: TcpSpec { max_window_pkts: 1, ack_every_pkts: 1, ..TcpSpec::default() },
        ..FlowSpec::bulk(instance("reno"), there)
    };
    let flow = simulation.add_flow(&spec).unwrap();
    simulation.record(flow);
    simulation.run_until(Duration::from_secs(10)).unwrap();
    let rtts = simulation.take_calls(flow).into_iter().filter_map(|call| match call.hook {
        Hook::PktsAcked { rtt_us, .. } => Some(rtt_us),
        _ => None,
    });
    let rtts: Vec<i32> = rtts.collect();
    // 39 ms and one on the link: 250 round trips in 10 s
    assert!((249..=251).contains(&rtts.len()), "{}", rtts.len());
    let later: Vec<i32> = rtts.iter().map(|rtt_us| rtt_us - 40_000).filter(|later_us| *later_us != 0).collect();
    // The ACK that is due at 7 s comes after all of the stall; the next packet is sent 10 ms later by the network's clock, too. The
    // last stall begins 10 ms before an ACK is due, and is made up for after it.
    assert_eq!(later, [9000, 30_000, 5000, 30_000]);
}

/// S. Floyd, 1991, "parking lot": a flow over three bottlenecks loses at each of them, and has a longer RTT; it gets much
/// less than those that cross one, and more than nothing.
#[test]
fn a_flow_over_many_bottlenecks_gets_less() {
    let mut simulation = Simulation::new(1);
    let links = [(); 3].map(|()| simulation.add_link(&drop_tail(20, ms(5), 50)));
    let long = FlowSpec {
        path: links.to_vec(),
        access_delay: ms(20),
        access_jitter: ms(1),
        ..FlowSpec::bulk(instance("reno"), links[0])
    };
    let long = simulation.add_flow(&long).unwrap();
    let crossing = links.map(|link| {
        let spec = FlowSpec { access_delay: ms(20), access_jitter: ms(1), ..FlowSpec::bulk(instance("reno"), link) };
        simulation.add_flow(&spec).unwrap()
    });
    simulation.run_until(Duration::from_secs(300)).unwrap();
    let received = |flow| simulation.flow(flow).received_bytes() as f64 * 8.0 / 300.0;
    let share = received(long) / 20e6;
    assert!((0.05..0.4).contains(&share), "{share}");
    for flow in crossing {
        assert!(received(flow) / 20e6 + share > 0.93, "the links are full");
    }
}

/// ACKs that wait behind the data of the other direction: both directions work, and neither is at its best (L. Zhang et al.,
/// SIGCOMM 1991).
#[test]
fn traffic_in_both_directions_shares_queues() {
    let mut simulation = Simulation::new(1);
    let (there, back) =
        (simulation.add_link(&drop_tail(10, ms(10), 60)), simulation.add_link(&drop_tail(10, ms(10), 60)));
    let pair = [(there, back), (back, there)].map(|(data, ack)| {
        let spec = FlowSpec { ack_path: vec![ack], access_delay: ms(10), ..FlowSpec::bulk(instance("cubic"), data) };
        simulation.add_flow(&spec).unwrap()
    });
    simulation.run_until(Duration::from_secs(60)).unwrap();
    for flow in pair {
        let view = simulation.flow(flow);
        let share = view.received_bytes() as f64 * 8.0 / 60.0 / 10e6;
        assert!((0.6..0.97).contains(&share), "{share}");
        assert!(view.srtt() > ms(40), "{:?}", view.srtt());
    }
}

/// The mean rate of a trace is what a flow with a large window gets out of it.
#[test]
fn a_trace_sets_the_rate() {
    let times: Vec<String> = (0..1000_u32).filter(|ms| ms % 10 < 3 || ms % 100 < 40).map(|ms| ms.to_string()).collect();
    let trace = Arc::new(RateTrace::parse(&(times.join("\n") + "\n1000")).unwrap());
    let mean = trace.mean().as_bits_per_s() as f64;
    let spec = LinkSpec::new(LinkRate::Trace(trace), Duration::ZERO, Queue::DropTail(NO_LIMIT));
    let mut dumbbell = Dumbbell::new(&spec).with("reno", ms(20), |flow| flow.tcp.max_window_pkts = 2000);
    dumbbell.run_until(Duration::from_secs(5));
    let before = dumbbell.flow(0).received_pkts();
    dumbbell.run_until(Duration::from_secs(25));
    assert_near((dumbbell.flow(0).received_pkts() - before) as f64 * 12_000.0 / 20.0, mean, 0.002, "rate");
}

/// Jitter delays packets by half of it on average and keeps them in order.
#[test]
fn jitter_does_not_reorder() {
    let spec = LinkSpec { jitter: ms(4), ..link(1, Queue::DropTail(NO_LIMIT)) };
    let mut dumbbell = Dumbbell::new(&spec).with("reno", ms(20), |flow| flow.tcp.max_window_pkts = 1);
    dumbbell.run_until(Duration::from_secs(200));
    assert_eq!(dumbbell.flow(0).counters().retransmitted_pkts, 0);
    let rtts = 200.0 / dumbbell.flow(0).received_pkts() as f64 * 1000.0;
    // 12 ms on the link, 20 ms of delay, 2 ms of jitter; each packet waits 40 ms for its ACK, and the first ones do not
    assert_near(rtts, 12.0 + 20.0 + 2.0 + 40.0, 0.03, "ms a packet");
}

/// dummynet moves packets when its timer ticks. One packet at a time: sent at a tick, it takes 1 ms, leaves at the next tick, 4 ms
/// later, and meets 3 ms of the link and 17 of its own.
#[test]
fn packets_leave_at_ticks() {
    let spec = LinkSpec { tick: ms(4), ..drop_tail(12, ms(3), 100) };
    let mut dumbbell = Dumbbell::new(&spec).with("reno", ms(17), |flow| {
        flow.tcp = TcpSpec { max_window_pkts: 1, ack_every_pkts: 1, ..TcpSpec::default() };
    });
    dumbbell.run_until(Duration::from_secs(10));
    for rtt in [dumbbell.flow(0).min_rtt().unwrap(), dumbbell.flow(0).srtt()] {
        assert!(rtt.abs_diff(ms(24)) <= Duration::from_micros(1), "{rtt:?}");
    }
    // All of a packet's time until its tick is time in the queue.
    let link = dumbbell.link();
    assert_eq!(link.waited_pkt_ns, u128::from(link.arrived_pkts) * 4_000_000);
}

/// A timer makes bursts of what a link sends between two ticks, and takes nothing of its rate.
#[test]
fn ticks_keep_the_rate() {
    let spec = LinkSpec { tick: ms(1), ..drop_tail(100, ms(5), 500) };
    let mut dumbbell = Dumbbell::new(&spec).with("reno", ms(15), |_| {});
    dumbbell.run_until(Duration::from_secs(5));
    let utilisation = dumbbell.utilisation_until(Duration::from_secs(25));
    assert!((0.995..=1.0005).contains(&utilisation), "{utilisation}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut simulation = Simulation::new(1);
    let link = simulation.add_link(&drop_tail(1, ms(1), 1));
    let other = Simulation::new(1).add_link(&drop_tail(1, ms(1), 1));
    let bulk = |change: fn(&mut FlowSpec)| {
        let mut spec = FlowSpec::bulk(instance("reno"), link);
        change(&mut spec);
        spec
    };
    assert_eq!(other, link);
    let mut refused = |spec: &FlowSpec| simulation.add_flow(spec).expect_err("it makes no sense");
    assert_eq!(refused(&bulk(|spec| spec.path.clear())), SimulationError::Path { flow: 0 });
    assert!(matches!(refused(&bulk(|spec| spec.tcp.mss_bytes = 0)), SimulationError::Tcp { .. }));
    assert!(matches!(refused(&bulk(|spec| spec.tcp.max_window_pkts = 1 << 21)), SimulationError::Tcp { .. }));
    let elsewhere = Simulation::new(1);
    assert_eq!(elsewhere.links().count(), 0);
}
