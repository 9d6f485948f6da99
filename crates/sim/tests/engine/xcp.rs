// SPDX-License-Identifier: GPL-2.0-only
//! XCP's senders and routers together, against what the paper derives (Katabi, Handley, Rohrs, SIGCOMM 2002).

use std::time::Duration;

use ccctl_sim::{FlowSpec, Limit, LinkCounters, Queue, Simulation, SimulationError};

use crate::{assert_near, instance, link, ms, Dumbbell, PKT_BITS};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A sender whose losses Reno answers, an ACK for each packet as in ns-2.
fn xcp(flow: &mut FlowSpec) {
    flow.tcp.xcp = true;
    flow.tcp.ack_every_pkts = 1;
}

/// Mbit/s, one way, and the buffer of one BDP that the paper uses.
fn router(megabits: u64, rtt: Duration) -> ccctl_sim::LinkSpec {
    let bdp_pkts = megabits as f64 * 1e6 * rtt.as_secs_f64() / PKT_BITS;
    link(megabits, Queue::Xcp(Limit::Packets(bdp_pkts as u32)))
}

/// Mean queue between two readings, by what its packets waited.
fn mean_queue_pkts(before: LinkCounters, after: LinkCounters, time: Duration) -> f64 {
    (after.waited_pkt_ns - before.waited_pkt_ns) as f64 / time.as_nanos() as f64
}

/// Section 3.5.3: multiplicative increase takes what is spare at any capacity, here 8333 packets per RTT. Equation 16 without a queue is
/// u' = -alpha / d u(t - d) for the unused rate u: after 30 RTTs of 100 ms hardly any is left. Then the link is full, no queue
/// stands, and no packet was dropped.
#[test]
fn one_flow_takes_a_large_pipe_in_thirty_round_trips() {
    let mut dumbbell = Dumbbell::new(&router(1000, ms(100))).with("reno", ms(100), xcp);
    dumbbell.run_until(seconds(3));
    let before = dumbbell.link();
    assert!(dumbbell.utilisation_until(seconds(4)) > 0.99);
    let least = dumbbell.sample(ms(1), seconds(14), Dumbbell::queue_pkts).into_iter().min();
    let after = dumbbell.link();
    let sent = (after.delivered_bytes - before.delivered_bytes) as f64 * 8.0;
    assert_near(sent, 1e9 * 11.0, 0.01, "bits of 11 s");
    assert_eq!(least, Some(0));
    assert!(mean_queue_pkts(before, after, seconds(11)) < 8.333, "more than 0.1 % of the BDP");
    assert_eq!((after.dropped_pkts(), dumbbell.flow(0).counters().retransmitted_pkts), (0, 0));
}

/// Section 5.2: no bias against long RTTs. Windows are as 1 to 4, rates equal.
#[test]
fn flows_of_any_rtt_get_the_same_rate() {
    let mut dumbbell = Dumbbell::new(&router(100, ms(100))).with("reno", ms(40), xcp).with("reno", ms(160), |flow| {
        xcp(flow);
        flow.start = seconds(5);
    });
    dumbbell.run_until(seconds(30));
    let before = [0, 1].map(|flow| dumbbell.flow(flow).received_pkts());
    let utilisation = dumbbell.utilisation_until(seconds(60));
    let [short, long] = [0, 1].map(|flow| (dumbbell.flow(flow).received_pkts() - before[flow]) as f64);
    assert_near(short / long, 1.0, 0.05, "short over long");
    assert!(utilisation > 0.97, "{utilisation}");
    assert_eq!(dumbbell.link().dropped_pkts(), 0);
}

/// Figure 10: five flows with an RTT of 40 ms come to 45 Mbit/s two seconds apart. Two seconds later all share alike, and the
/// link stays full.
#[test]
fn newcomers_get_their_share_within_two_seconds() {
    let mut dumbbell = Dumbbell::new(&router(45, ms(40)));
    for flow in 0..5 {
        dumbbell = dumbbell.with("reno", ms(40), |spec| {
            xcp(spec);
            spec.start = seconds(2 * flow);
        });
    }
    dumbbell.run_until(seconds(1));
    for flows in 1..=5_u64 {
        dumbbell.run_until(seconds(2 * flows - 1));
        let before: Vec<u64> = (0..5).map(|flow| dumbbell.flow(flow).received_pkts()).collect();
        let utilisation = dumbbell.utilisation_until(seconds(2 * flows));
        let rates = (0..flows as usize).map(|flow| (dumbbell.flow(flow).received_pkts() - before[flow]) as f64);
        let expected = 45e6 / PKT_BITS / flows as f64;
        for (flow, rate) in rates.enumerate() {
            assert_near(rate, expected, 0.2, &format!("packets of flow {flow} of {flows}"));
        }
        assert!(utilisation > 0.95, "{utilisation} with {flows} flows");
    }
    assert_eq!(dumbbell.link().dropped_pkts(), 0);
}

/// Section 3.1: the packet has the feedback of the bottleneck in the end, wherever on the path that is.
#[test]
fn the_narrowest_link_decides() {
    for megabits in [[100, 40], [40, 100]] {
        let mut simulation = Simulation::new(1);
        let links = megabits.map(|megabits| simulation.add_link(&router(megabits, ms(50))));
        let mut flow = FlowSpec::bulk(instance("reno"), links[0]);
        (flow.path, flow.access_delay) = (links.to_vec(), ms(50));
        xcp(&mut flow);
        let flow = simulation.add_flow(&flow).expect("valid");
        simulation.run_until(seconds(5)).expect("consistent");
        let before = simulation.flow(flow).received_pkts();
        simulation.run_until(seconds(15)).expect("consistent");
        let rate = (simulation.flow(flow).received_pkts() - before) as f64 * PKT_BITS / 10.0;
        assert_near(rate, 40e6, 0.02, "bit/s");
        for link in links {
            let counters = simulation.link(link).counters();
            assert_eq!(counters.dropped_pkts(), 0);
            assert!(simulation.link(link).queue_pkts() < 10);
        }
    }
}

/// Section 3.3: losses are answered as TCP answers them. Each halves the window; what it gave up is spare, and given back within some
/// RTTs, so that the link is used far better than by Reno, which needs 1.22 / sqrt(p) = 39 packets of 333 for the same losses.
#[test]
fn a_loss_halves_the_window_and_the_spare_rate_is_given_back() {
    let loss = ccctl_sim::Loss::Bernoulli(ccctl_sim::Probability::ratio(1, 1000));
    let spec = ccctl_sim::LinkSpec { loss, ..router(100, ms(40)) };
    let mut dumbbell = Dumbbell::new(&spec).with("reno", ms(40), xcp);
    dumbbell.run_until(seconds(2));
    let recoveries = dumbbell.flow(0).counters().recoveries;
    let utilisation = dumbbell.utilisation_until(seconds(62));
    let counters = dumbbell.flow(0).counters();
    assert!(counters.recoveries - recoveries > 100, "{counters:?}");
    assert!(utilisation > 3.0 * 39.0 / 333.0 && utilisation < 0.95, "{utilisation}");
    assert_eq!(dumbbell.link().dropped_pkts(), 0);
}

/// The header is worth nothing where no router reads it, or where the algorithm takes no notice of the window that it gives.
#[test]
fn paths_and_algorithms_that_cannot_have_it_are_refused() {
    let mut simulation = Simulation::new(1);
    let plain = simulation.add_link(&link(10, Queue::DropTail(Limit::Packets(10))));
    let with_router = simulation.add_link(&router(10, ms(10)));
    for (algorithm, link, expected) in
        [("reno", plain, "XCP's router"), ("bbr", with_router, "so does the algorithm"), ("reno", with_router, "")]
    {
        let mut flow = FlowSpec::bulk(instance(algorithm), link);
        xcp(&mut flow);
        match simulation.add_flow(&flow) {
            Err(SimulationError::Tcp { what, .. }) => {
                assert!(!expected.is_empty() && what.contains(expected), "{what}");
            }
            Err(error) => panic!("{error}"),
            Ok(_) => assert_eq!(expected, ""),
        }
    }
}
