// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times as the kernel side counts them: 4 buckets in each power of two.

use std::time::Duration;

use crate::bindings::{ack_times, ACK_BUCKETS, ACK_BUCKETS_PER_OCTAVE};

const PER_OCTAVE: u32 = ACK_BUCKETS_PER_OCTAVE;

/// One bucket: times from `from_ns` up to and without `to_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Shortest time in it.
    pub from_ns: u64,
    /// The next bucket's shortest time.
    pub to_ns: u64,
    /// How many.
    pub count: u64,
}

/// How long something took, each time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// How often.
    pub count: u64,
    /// All together.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// How many took longer than the limit that was set: exact, not from the buckets.
    pub slow: u64,
    buckets: Vec<u64>,
}

impl Times {
    /// Adds what one processor counted.
    pub(crate) fn add(&mut self, times: &ack_times) {
        self.count += times.count;
        self.sum_ns += times.sum_ns;
        self.max_ns = self.max_ns.max(times.max_ns);
        self.slow += times.slow;
        self.buckets.resize(ACK_BUCKETS as usize, 0);
        for (sum, count) in self.buckets.iter_mut().zip(times.buckets) {
            *sum += count;
        }
    }

    /// The buckets that hold something.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(number, count)| Bucket {
            from_ns: lower_bound_ns(number as u32),
            to_ns: lower_bound_ns(number as u32 + 1),
            count: *count,
        })
    }

    /// Mean.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.sum_ns / self.count))
    }

    /// The time that `share` of all (0 to 1) do not exceed: the upper end of its bucket, so at most a quarter too long.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += bucket.count;
            if seen >= wanted {
                return Some(Duration::from_nanos(bucket.to_ns.min(self.max_ns.max(1))));
            }
        }
        None
    }
}

/// The inverse of `bucket_of` in `xdp/clock.bpf.c`.
fn lower_bound_ns(bucket: u32) -> u64 {
    if bucket < PER_OCTAVE {
        return u64::from(bucket);
    }
    let log = bucket / PER_OCTAVE + 1;
    u64::from(PER_OCTAVE + bucket % PER_OCTAVE) << (log - 2)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// As the definition has it: 4 equal parts of each power of two, single ns below 4.
    #[test]
    fn bounds_divide_each_octave_in_four() {
        let bounds: Vec<u64> = (0..16).map(lower_bound_ns).collect();
        assert_eq!(bounds, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28]);
        assert_eq!(lower_bound_ns(ACK_BUCKETS - 1), 7 << 34);
    }

    #[test]
    fn quantiles_are_upper_ends() {
        let mut counts = ack_times { count: 4, sum_ns: 40, max_ns: 21, ..ack_times::default() };
        counts.buckets[8] = 3; // 8 to 10
        counts.buckets[13] = 1; // 20 to 24
        let mut times = Times::default();
        times.add(&counts);
        assert_eq!(times.quantile(0.5).unwrap().as_nanos(), 10);
        assert_eq!(times.quantile(1.0).unwrap().as_nanos(), 21);
        assert_eq!(times.mean().unwrap().as_nanos(), 10);
    }
}
