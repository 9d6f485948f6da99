// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first example of Spang et al., *Unbiased experiments in congested networks* (IMC 2021): users of one link, the treated
//! open two connections, others one. Nothing is gained when all are treated, and a split says +100 %.
//!
//! With n users and a share p treated, a treated user gets `2C / (n (1 + p))`, another `C / (n (1 + p))`.

use std::time::Duration;

use ccctl_core::experiment::{analyse, Analysis, Block, Metric, Moves, Plan, Sums};
use ccctl_inference::schedule::Arm;

const PAIRS: u64 = 6;

/// Who shares a link, and for how long.
pub struct Users {
    /// How many; half of them are treated in the split.
    pub count: usize,
    /// Length of a block.
    pub block: Duration,
    /// Of it, what does not count.
    pub burn_in: Duration,
}

impl Users {
    fn plan(&self) -> Plan {
        Plan {
            plan_format: 1,
            name: "two".to_owned(),
            arm_a: "one".to_owned(),
            arm_b: "two".to_owned(),
            scope: "all users".to_owned(),
            cgroup: "/".to_owned(),
            dst: None,
            port: None,
            metric: Metric::Goodput,
            block_ms: self.block.as_millis() as u64,
            burn_in_ms: self.burn_in.as_millis() as u64,
            wanted_pairs: PAIRS as usize,
            moves: Moves::Live,
            hold_out_pct: None,
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

    /// A block in which all users have the arm; a user waits for the network all the time. `bytes` is what each user got after
    /// the burn-in, with so many connections each, in the block of this number.
    fn block(&self, number: u64, bytes: &mut impl FnMut(&[usize], u64) -> Vec<f64>) -> Block {
        let is_treated = self.plan().schedule().unwrap().arm(number) == Arm::Treated;
        let bytes = bytes(&vec![if is_treated { 2 } else { 1 }; self.count], number);
        let sums = Sums {
            acked_bytes: bytes.iter().sum::<f64>() as u64,
            network_limited_s: self.count as f64 * self.block.saturating_sub(self.burn_in).as_secs_f64(),
            data_segments: 1000,
            ..Sums::default()
        };
        Block {
            block: number,
            is_treated,
            segments_on_arm: 1000,
            host_acked_bytes: sums.acked_bytes,
            sums,
            ..Block::default()
        }
    }

    /// The switchback: all users have one arm in a block.
    pub fn switchback(&self, mut bytes: impl FnMut(&[usize], u64) -> Vec<f64>) -> Analysis {
        let blocks: Vec<Block> = (0..2 * PAIRS).map(|number| self.block(number, &mut bytes)).collect();
        let analysis = analyse(&self.plan(), &blocks).unwrap();
        assert_eq!(analysis.pairs.len(), PAIRS as usize);
        analysis
    }
}

/// What a split shows: goodput of a treated user by that of another, and that of another by what it has where nobody is
/// treated. By the closed form 2 and 2/3.
pub fn split(split: &[f64], none: &[f64]) -> (f64, f64) {
    let mean = |bytes: &[f64]| bytes.iter().sum::<f64>() / bytes.len() as f64;
    let treated = mean(&split.iter().copied().step_by(2).collect::<Vec<_>>());
    let others = mean(&split.iter().copied().skip(1).step_by(2).collect::<Vec<_>>());
    (treated / others, others / mean(none))
}

/// Connections of each user where every second one is treated, beginning with the first.
pub fn every_second(count: usize) -> Vec<usize> {
    (0..count).map(|user| if user.is_multiple_of(2) { 2 } else { 1 }).collect()
}
