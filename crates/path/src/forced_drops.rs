// SPDX-License-Identifier: GPL-2.0-only
//! Losses on request: as many holes as a measurement asks for, at the moment that it asks.

use std::sync::atomic::{AtomicU32, Ordering};

/// Packets up to this size are bare ACKs, or nearly: a hole is made of data.
const BARE_BYTES: u16 = 200;

/// Forced drops that are still to be made. One side asks, the router makes them.
#[derive(Debug, Default)]
pub(super) struct ForcedDrops {
    left: AtomicU32,
    passed: AtomicU32,
}

impl ForcedDrops {
    /// From now on every second data packet is lost, until `count` are: so many holes in what the receiver has.
    pub(super) fn ask(&self, count: u32) {
        self.left.store(count, Ordering::Relaxed);
    }

    /// Whether the next data packet, of so many bytes, is one of them.
    pub(super) fn takes(&self, size_bytes: u16) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 || size_bytes <= BARE_BYTES {
            return false;
        }
        let is_lost = self.passed.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        if is_lost {
            self.left.store(left - 1, Ordering::Relaxed);
        }
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_data_packet_is_lost_until_all_holes_are_made() {
        let forced_drops = ForcedDrops::default();
        assert!(!forced_drops.takes(1500));
        forced_drops.ask(2);
        let fates: Vec<bool> =
            [1500, 40, 1500, 1500, 1500, 1500].into_iter().map(|bytes| forced_drops.takes(bytes)).collect();
        assert_eq!(fates, [true, false, false, true, false, false]);
    }
}
