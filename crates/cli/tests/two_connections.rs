// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first example of Spang et al., *Unbiased experiments in congested networks* (IMC 2021), in the simulator: users of one
//! link, the treated open two connections, others one. Nothing is gained when all are treated, and a split says +100 %.
//!
//! With n users and a share p treated, a treated user gets `2C / (n (1 + p))`, another `C / (n (1 + p))`.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::sync::Arc;
use std::time::Duration;

use ccctl_core::experiment::{analyse, Block, Metric, Moves, Plan, Sums};
use ccctl_inference::schedule::Arm;
use ccctl_sim::{BitRate, FlowId, FlowSpec, Instance, Limit, LinkRate, LinkSpec, Queue, Simulation};

const USERS: usize = 8;
const PAIRS: u64 = 6;
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

fn plan() -> Plan {
    Plan {
        plan_format: 1,
        name: "two".to_owned(),
        arm_a: "one".to_owned(),
        arm_b: "two".to_owned(),
        scope: "all users".to_owned(),
        cgroup: "/".to_owned(),
        metric: Metric::Goodput,
        block_ms: BLOCK.as_millis() as u64,
        burn_in_ms: BURN_IN.as_millis() as u64,
        wanted_pairs: PAIRS as usize,
        moves: Moves::Live,
        coin_seed: 1,
        cluster: String::new(),
        sigma: 0.01,
        sigma_origin: String::new(),
        detectable: 0.02,
        power: 0.8,
        guard_rail_plans: Vec::new(),
        redrawn: None,
        asked: "{}".to_owned(),
    }
}

/// A block in which all users have the arm; a user waits for the network all the time.
fn block(number: u64) -> Block {
    let is_treated = plan().schedule().unwrap().arm(number) == Arm::Treated;
    let bytes = bytes_of_users(&[if is_treated { 2 } else { 1 }; USERS], 1000 + number);
    let sums = Sums {
        acked_bytes: bytes.iter().sum::<f64>() as u64,
        network_limited_s: USERS as f64 * BLOCK.saturating_sub(BURN_IN).as_secs_f64(),
        data_segments: 1000,
        ..Sums::default()
    };
    Block {
        block: number,
        began_at: String::new(),
        congestion_control: String::new(),
        is_treated,
        problem: None,
        later: None,
        segments_on_arm: 1000,
        host_acked_bytes: sums.acked_bytes,
        sums,
    }
}

#[test]
fn a_split_says_plus_100_percent_where_the_switchback_finds_nothing() {
    let mean = |bytes: &[f64]| bytes.iter().sum::<f64>() / bytes.len() as f64;
    let none = mean(&bytes_of_users(&[1; USERS], 7));
    let split = bytes_of_users(&[2, 1, 2, 1, 2, 1, 2, 1], 7);
    let treated = mean(&split.iter().copied().step_by(2).collect::<Vec<_>>());
    let others = mean(&split.iter().copied().skip(1).step_by(2).collect::<Vec<_>>());
    // 2C/(n 1.5) by C/(n 1.5), and C/(n 1.5) by C/n
    assert!((treated / others - 2.0).abs() < 0.2, "a split says {:+.0} %", (treated / others - 1.0) * 100.0);
    assert!((others / none - 2.0 / 3.0).abs() < 0.07, "the others have {:.2} of before", others / none);

    let blocks: Vec<Block> = (0..2 * PAIRS).map(block).collect();
    let analysis = analyse(&plan(), &blocks).unwrap();
    let interval = analysis.final_interval.unwrap();
    let (lower, upper) = (interval.lower_pct.unwrap(), interval.upper_pct.unwrap());
    assert_eq!(analysis.pairs.len(), PAIRS as usize);
    // more connections lose more packets, so that the truth is not 0 to the last byte
    assert!(lower > -0.5 && upper < 0.5, "{lower} % to {upper} %");
}
