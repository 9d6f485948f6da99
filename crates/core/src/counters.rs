// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the daemon has done since it was started. In other processes the numbers are nobody's.

use std::sync::atomic::{AtomicU64, Ordering};

use ccctl_loader::{Migration, Moved};

/// One number.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    pub fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    /// What it is.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    const fn zero() -> Self {
        Self(AtomicU64::new(0))
    }
}

/// All numbers.
#[derive(Debug)]
pub struct Counters {
    /// Programs swapped behind a name.
    pub swaps: Counter,
    /// Swaps that failed.
    pub swap_failures: Counter,
    /// Migrations.
    pub migrations: Counter,
    /// Those that failed, or left sockets behind.
    pub migration_failures: Counter,
    /// Sockets moved.
    pub migrated_sockets: Counter,
    /// Sockets that could not be moved.
    pub unmigrated_sockets: Counter,
    /// Bad windows of the guard.
    pub guard_bad_windows: Counter,
    /// Times the guard disabled an instance.
    pub guard_trips: Counter,
    /// Times a disabled instance was enabled again.
    pub guard_rearms: Counter,
}

/// Those of this process.
pub static COUNTERS: Counters = Counters {
    swaps: Counter::zero(),
    swap_failures: Counter::zero(),
    migrations: Counter::zero(),
    migration_failures: Counter::zero(),
    migrated_sockets: Counter::zero(),
    unmigrated_sockets: Counter::zero(),
    guard_bad_windows: Counter::zero(),
    guard_trips: Counter::zero(),
    guard_rearms: Counter::zero(),
};

/// What moving sockets came to.
pub trait Outcome {
    /// Sockets moved, and sockets that could not be.
    fn moved(&self) -> (usize, usize);
}

impl Outcome for Migration {
    fn moved(&self) -> (usize, usize) {
        (self.moved, self.failed.len())
    }
}

impl Outcome for Moved {
    fn moved(&self) -> (usize, usize) {
        (self.moved, self.failed.len())
    }
}

impl Counters {
    /// Counts a swap.
    pub fn swap<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        if result.is_ok() { &self.swaps } else { &self.swap_failures }.add(1);
        result
    }

    /// Counts a migration.
    pub fn migration<T: Outcome, E>(&self, result: Result<T, E>) -> Result<T, E> {
        if let Ok(outcome) = &result {
            self.moved(outcome);
        } else {
            self.migrations.add(1);
            self.migration_failures.add(1);
        }
        result
    }

    /// Counts a migration that was carried out.
    pub fn moved(&self, outcome: &impl Outcome) {
        let (moved, failed) = outcome.moved();
        self.migrations.add(1);
        self.migration_failures.add(usize::from(failed > 0));
        self.migrated_sockets.add(moved);
        self.unmigrated_sockets.add(failed);
    }
}
