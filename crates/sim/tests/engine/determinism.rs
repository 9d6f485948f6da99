// SPDX-License-Identifier: GPL-2.0-only
//! The same scenario and seed lead to the same bytes; flows do not disturb each other beyond the links that they share.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{
    Application, Codel, FlowSpec, Instance, Limit, LinkSpec, Loss, Probability, Queue, Red, Reordering, Simulation,
    WebUser,
};

use crate::{instance, link, ms};

/// Every algorithm, every queue, every kind of randomness.
fn everything(seed: u64) -> Simulation {
    let mut simulation = Simulation::new(seed);
    let red = Red {
        min_threshold_pkts: 10,
        max_threshold_pkts: 40,
        max_probability: Probability::ratio(1, 10),
        weight_shift: 9,
        gentle: true,
        ecn: true,
        limit_pkts: 100,
    };
    let queues = [
        Queue::DropTail(Limit::Packets(80)),
        Queue::Red(red),
        Queue::Codel(Codel::default()),
        Queue::Threshold { mark_above_pkts: 20, limit: Limit::Bytes(200_000) },
    ];
    let burst = Loss::GilbertElliott {
        good_to_bad: Probability::ratio(1, 5000),
        bad_to_good: Probability::ratio(1, 4),
        loss_in_good: Probability::per_billion(20_000),
        loss_in_bad: Probability::ratio(1, 2),
    };
    let links: Vec<_> = queues
        .into_iter()
        .map(|queue| {
            let reordering = Some(Reordering { probability: Probability::ratio(1, 10_000), delay: ms(3) });
            simulation.add_link(&LinkSpec { delay: ms(2), jitter: ms(1), loss: burst, reordering, ..link(20, queue) })
        })
        .collect();
    for (index, algorithm) in ccctl_catalog::algorithms().iter().enumerate() {
        let (path, back) = (links[index % 4], links[(index + 1) % 4]);
        let mut spec = FlowSpec::bulk(instance(algorithm.name()), path);
        spec.path = vec![path, links[(index + 2) % 4]];
        spec.ack_path = vec![back];
        spec.access_delay = ms(10 + index as u64);
        spec.access_jitter = ms(1);
        spec.tcp.sack = index % 5 != 0;
        spec.tcp.ecn = index % 3 == 0;
        simulation.add_flow(&spec).expect("a valid flow");
        spec.application = Application::Web(WebUser::default());
        simulation.add_flow(&spec).expect("a valid flow");
    }
    simulation
}

/// All that can be seen.
fn seen(simulation: &Simulation) -> String {
    let mut text = String::new();
    for flow in simulation.flows() {
        let flow = simulation.flow(flow);
        let numbers = (flow.cwnd_pkts(), flow.ssthresh_pkts(), flow.srtt(), flow.received_pkts(), flow.dropped_pkts());
        writeln!(text, "{numbers:?} {:?} {:?}", flow.counters(), flow.state_bytes()).expect("a string");
    }
    for link in simulation.links() {
        writeln!(text, "{:?}", simulation.link(link).counters()).expect("a string");
    }
    writeln!(text, "{:?} {:?}", simulation.completions(), simulation.balance()).expect("a string");
    text
}

#[test]
fn the_same_seed_leads_to_the_same_bytes_in_any_number_of_steps() {
    let end = Duration::from_secs(20);
    let mut once = everything(1);
    once.run_until(end).expect("a consistent simulation");
    let mut again = everything(1);
    for step in 1..=2000 {
        again.run_until(end * step / 2000).expect("a consistent simulation");
    }
    assert!(seen(&once) == seen(&again));
    let mut other = everything(2);
    other.run_until(end).expect("a consistent simulation");
    assert!(seen(&once) != seen(&other));
    let moved = simulation_moved_enough(&once);
    assert!(moved, "{}", seen(&once));
}

fn simulation_moved_enough(simulation: &Simulation) -> bool {
    let mut counters = simulation.links().map(|link| simulation.link(link).counters());
    counters.all(|link| link.delivered_pkts > 1000 && link.lost_pkts > 0 && link.dropped_pkts() + link.marked_pkts > 0)
}

fn scalable(acks_per_pkt: &str) -> Arc<Instance> {
    let algorithm = ccctl_catalog::algorithm("scalable").expect("it exists");
    let mut set = ccctl_catalog::ParameterSet::defaults("scalable", &algorithm.layout().parameters);
    set.set("acks_per_pkt", acks_per_pkt).expect("in range");
    Arc::new(Instance::new("scalable", &set).expect("its own parameters"))
}

/// Windows of flows with these instances, each on a link of its own.
fn windows(instances: &[Arc<Instance>]) -> Vec<Vec<u32>> {
    let mut simulation = Simulation::new(1);
    for instance in instances {
        let path = simulation.add_link(&link(100, Queue::DropTail(Limit::Packets(50))));
        let mut spec = FlowSpec::bulk(Arc::clone(instance), path);
        spec.access_delay = ms(50);
        simulation.add_flow(&spec).expect("a valid flow");
    }
    let mut seen = vec![Vec::new(); instances.len()];
    let see = |simulation: &Simulation| {
        for (flow, windows) in simulation.flows().zip(&mut seen) {
            windows.push(simulation.flow(flow).cwnd_pkts());
        }
    };
    simulation.run_sampled(Duration::from_secs(20), ms(100), see).expect("a consistent simulation");
    seen
}

/// Two instances of one algorithm with different parameters do in one run what each does alone.
#[test]
fn instances_keep_their_parameters() {
    let (slow, fast) = (scalable("200"), scalable("50"));
    let together = windows(&[Arc::clone(&slow), Arc::clone(&fast)]);
    let alone = [windows(&[slow]).concat(), windows(&[fast]).concat()];
    assert_eq!(together, alone);
    assert_ne!(alone[0], alone[1]);
}

/// Each simulation has its own state, so simulations may run side by side in threads.
#[test]
fn simulations_may_run_in_threads() {
    let run = || {
        let mut simulation = everything(3);
        simulation.run_until(Duration::from_secs(3)).expect("a consistent simulation");
        seen(&simulation)
    };
    let alone = run();
    let beside: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(beside.iter().all(|seen| *seen == alone));
}
