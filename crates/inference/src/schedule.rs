// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which arm a moment has: a function of the seed and of the clock, and of nothing else.
//!
//! Blocks are counted from the Unix epoch, so hosts with the same plan and the same clock switch together without
//! talking to each other, and a daemon that was restarted goes on with the same coins. Two neighbours (an even block
//! and the odd one after it) are a pair; the coin of the pair says which of the two is treated.

use std::time::Duration;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::Refusal;

/// Which side of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arm {
    /// What the experiment is about.
    Treated,
    /// What it is compared with.
    Control,
}

/// What decides the arms of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    seed: Vec<u8>,
    name: String,
    cluster: String,
    block: Duration,
    burn_in: Duration,
}

/// Where a moment lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the block since the epoch.
    pub block: u64,
    /// Number of the pair since the epoch.
    pub pair: u64,
    /// The arm of the block.
    pub arm: Arm,
    /// Is the burn-in over, so that what is counted from here belongs to the arm?
    pub counts: bool,
    /// When the block ends, since the epoch.
    pub ends: Duration,
}

impl Schedule {
    /// Blocks of length `block`, of which the first `burn_in` is thrown away. Hosts with one `cluster` share their
    /// coins; the seed, of any length, is the key of them.
    pub fn new(seed: &[u8], name: &str, cluster: &str, block: Duration, burn_in: Duration) -> Result<Self, Refusal> {
        if block.is_zero() || burn_in >= block {
            return Err(Refusal::Degenerate("the burn-in is as long as the block: nothing is left to measure"));
        }
        Ok(Self { seed: seed.to_vec(), name: name.into(), cluster: cluster.into(), block, burn_in })
    }

    /// Is the first block of this pair the treated one?
    ///
    /// The lowest bit of the first byte of `HMAC-SHA256(seed, message)` (RFC 2104). The message is the length of the
    /// name, the name, the length of the cluster, the cluster and the number of the pair's first block; lengths and
    /// number have eight bytes, the highest first.
    ///
    /// # Panics
    ///
    /// Never: HMAC takes keys of any length.
    #[must_use]
    pub fn first_is_treated(&self, pair: u64) -> bool {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.seed).expect("HMAC takes keys of any length");
        for word in [&self.name, &self.cluster] {
            code.update(&(word.len() as u64).to_be_bytes());
            code.update(word.as_bytes());
        }
        code.update(&pair.wrapping_mul(2).to_be_bytes());
        code.finalize().into_bytes()[0] & 1 == 1
    }

    /// The arm of a block.
    #[must_use]
    pub fn arm(&self, block: u64) -> Arm {
        if self.first_is_treated(block / 2) == block.is_multiple_of(2) {
            Arm::Treated
        } else {
            Arm::Control
        }
    }

    /// Where a moment since the epoch lies.
    #[must_use]
    pub fn place(&self, moment: Duration) -> Place {
        let block_ns = self.block.as_nanos();
        let block = (moment.as_nanos() / block_ns) as u64;
        let elapsed_ns = moment.as_nanos() % block_ns;
        Place {
            block,
            pair: block / 2,
            arm: self.arm(block),
            counts: elapsed_ns >= self.burn_in.as_nanos(),
            ends: self.start(block) + self.block,
        }
    }

    /// The first pair that begins at this moment or later: an experiment that is started in the middle of a pair
    /// waits for the next.
    #[must_use]
    pub fn first_pair(&self, moment: Duration) -> u64 {
        moment.as_nanos().div_ceil(2 * self.block.as_nanos()) as u64
    }

    /// When a block begins, since the epoch.
    #[must_use]
    pub fn start(&self, block: u64) -> Duration {
        let start_ns = self.block.as_nanos() * u128::from(block);
        Duration::new((start_ns / 1_000_000_000) as u64, (start_ns % 1_000_000_000) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arm, Schedule};
    use std::time::Duration;

    fn ten_minutes(name: &str, cluster: &str) -> Schedule {
        Schedule::new(b"seed", name, cluster, Duration::from_secs(600), Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn a_pair_has_both_arms() {
        let schedule = ten_minutes("web", "a");
        for pair in 0..1000 {
            assert_ne!(schedule.arm(2 * pair), schedule.arm(2 * pair + 1));
        }
    }

    #[test]
    fn a_moment_has_its_block_and_burn_in() {
        let schedule = ten_minutes("web", "a");
        let early = schedule.place(Duration::from_millis(1_800_059_999));
        let later = schedule.place(Duration::from_secs(1_800_060));
        assert_eq!((early.block, early.pair, early.counts), (3000, 1500, false));
        assert_eq!((later.block, later.counts, later.ends), (3000, true, Duration::from_secs(1_800_600)));
        assert_eq!(later.arm == Arm::Treated, schedule.first_is_treated(1500));
    }

    #[test]
    fn an_experiment_waits_for_a_whole_pair() {
        let schedule = ten_minutes("web", "a");
        assert_eq!(schedule.first_pair(Duration::from_secs(1_800_000)), 1500);
        assert_eq!(schedule.first_pair(Duration::from_millis(1_800_001)), 2);
        assert_eq!(schedule.first_pair(Duration::from_nanos(1_800_000_000_000_001)), 1501);
    }

    #[test]
    fn coins_of_other_names_and_clusters_are_other_coins() {
        let coins = |name, cluster| -> Vec<bool> {
            (0..64).map(|pair| ten_minutes(name, cluster).first_is_treated(pair)).collect()
        };
        assert_eq!(coins("web", "a"), coins("web", "a"));
        assert_ne!(coins("web", "a"), coins("web", "b"));
        assert_ne!(coins("we", "ba"), coins("web", "a"));
    }

    #[test]
    fn a_block_that_is_all_burn_in_is_refused() {
        let minute = Duration::from_secs(60);
        assert!(Schedule::new(b"seed", "web", "a", minute, minute).is_err());
    }
}
