// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two connections against one, in the simulator.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod two_users;

use std::sync::Arc;
use std::time::Duration;

use ccctl_sim::{BitRate, FlowId, FlowSpec, Instance, Limit, LinkRate, LinkSpec, Queue, Simulation};
use two_users::{every_second, split, Users};

const USERS: usize = 8;
const BURN_IN: Duration = Duration::from_secs(10);
const BLOCK: Duration = Duration::from_secs(70);

/// Bytes that each user got after the burn-in, where these numbers of connections share 40 Mbit/s with a buffer of one BDP.
fn bytes_of_users(connections: &[usize], seed: u64) -> Vec<f64> {
    let mut simulation = Simulation::new(seed);
    let queue = Queue::DropTail(Limit::Packets(133));
    let rate = LinkRate::Constant(BitRate::mbit_per_s(40));
    let link = simulation.add_link(&LinkSpec::new(rate, Duration::ZERO, queue));
    let reno = Arc::new(Instance::with_defaults("reno").unwrap());
    let mut add = |user: usize| {
        let mut spec = FlowSpec::bulk(reno.clone(), link);
        spec.access_delay = Duration::from_millis(40);
        spec.access_jitter = Duration::from_millis(2);
        spec.start = Duration::from_millis(50 * user as u64 + seed % 40);
        simulation.add_flow(&spec).unwrap()
    };
    let flows: Vec<Vec<FlowId>> =
        connections.iter().enumerate().map(|(user, count)| (0..*count).map(|_| add(user)).collect()).collect();
    let sums = |simulation: &Simulation| -> Vec<u64> {
        let of_user = |flows: &Vec<FlowId>| flows.iter().map(|flow| simulation.flow(*flow).acked_bytes()).sum();
        flows.iter().map(of_user).collect()
    };
    simulation.run_until(BURN_IN).unwrap();
    let before = sums(&simulation);
    simulation.run_until(BLOCK).unwrap();
    sums(&simulation).iter().zip(before).map(|(after, before)| (after - before) as f64).collect()
}

#[test]
fn a_split_says_plus_100_percent_where_the_switchback_finds_nothing() {
    let (ratio, others) = split(&bytes_of_users(&every_second(USERS), 7), &bytes_of_users(&[1; USERS], 7));
    assert!((ratio - 2.0).abs() < 0.2, "a split says {:+.0} %", (ratio - 1.0) * 100.0);
    assert!((others - 2.0 / 3.0).abs() < 0.07, "the others have {others:.2} of before");

    let users = Users { count: USERS, block: BLOCK, burn_in: BURN_IN };
    let analysis = users.switchback(|connections, block| bytes_of_users(connections, 1000 + block));
    let interval = analysis.final_interval.unwrap();
    let (lower, upper) = (interval.lower_pct.unwrap(), interval.upper_pct.unwrap());
    // more connections lose more packets, so that the truth is not 0 to the last byte
    assert!(lower > -0.5 && upper < 0.5, "{lower} % to {upper} %");
}
