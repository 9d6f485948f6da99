// SPDX-License-Identifier: GPL-2.0-only
//! Users of the web in the manner of SURGE: P. Barford, M. Crovella, "Generating representative web workloads for network
//! and server performance evaluation", ACM SIGMETRICS 1998, table 1.
//!
//! A page is a number of objects, fetched one after the other with short pauses (active OFF); between pages the user reads
//! (inactive OFF). Sizes have a lognormal body and a Pareto tail. Left out: which file of a server it is, and caching.

use std::time::Duration;

use crate::random::{Probability, Random};

/// The distributions of one user; the default is the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebUser {
    /// Median of the body of sizes: e^9.357 bytes.
    pub body_median_bytes: u64,
    /// Deviation of its base-2 logarithm in thousandths: 1.318 / ln 2.
    pub body_deviation_log2_milli: u32,
    /// Least size of the tail.
    pub tail_least_bytes: u64,
    /// Shape of the tail in thousandths.
    pub tail_shape_milli: u32,
    /// Share of sizes that are of the tail.
    pub tail: Probability,
    /// Sizes end here, for the tail has no mean without.
    pub max_bytes: u64,
    /// Objects of a page: Pareto from 1 with this shape in thousandths.
    pub objects_shape_milli: u32,
    /// Between the objects of a page: Weibull with this scale,
    pub active_off_scale: Duration,
    /// and this shape in thousandths.
    pub active_off_shape_milli: u32,
    /// Between pages: Pareto from here,
    pub inactive_off_least: Duration,
    /// with this shape in thousandths.
    pub inactive_off_shape_milli: u32,
    /// A pause ends here.
    pub max_off: Duration,
}

impl Default for WebUser {
    fn default() -> Self {
        Self {
            body_median_bytes: 11_580,
            body_deviation_log2_milli: 1901,
            tail_least_bytes: 133_000,
            tail_shape_milli: 1100,
            tail: Probability::ratio(7, 100),
            max_bytes: 50_000_000,
            objects_shape_milli: 2430,
            active_off_scale: Duration::from_millis(1460),
            active_off_shape_milli: 382,
            inactive_off_least: Duration::from_secs(1),
            inactive_off_shape_milli: 1500,
            max_off: Duration::from_secs(600),
        }
    }
}

impl WebUser {
    /// Size of the next object; of a new page where no object of the last one is left.
    pub(crate) fn next_object(&self, random: &mut Random, objects_left: &mut u64) -> u64 {
        if *objects_left == 0 {
            *objects_left = random.pareto(1, self.objects_shape_milli).clamp(1, 1000);
        }
        *objects_left -= 1;
        let bytes = if random.happens(self.tail) {
            random.pareto(self.tail_least_bytes, self.tail_shape_milli)
        } else {
            random.lognormal(self.body_median_bytes, self.body_deviation_log2_milli)
        };
        bytes.clamp(1, self.max_bytes)
    }

    /// How long the user waits after an object.
    pub(crate) fn pause_ns(&self, random: &mut Random, objects_left: u64) -> u64 {
        let ns = |time: Duration| time.as_nanos() as u64;
        let pause_ns = if objects_left > 0 {
            random.weibull(ns(self.active_off_scale), self.active_off_shape_milli)
        } else {
            random.pareto(ns(self.inactive_off_least), self.inactive_off_shape_milli)
        };
        pause_ns.min(ns(self.max_off))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    /// P(size > 133 kB): 7 % of the tail, and of the body those above (ln 133000 - 9.357) / 1.318 = 1.85 deviations, 3.2 %;
    /// half of the body's are above its median.
    #[test]
    fn sizes_have_their_body_and_their_tail() {
        let (user, mut random, mut left) = (WebUser::default(), Random::new(1, Purpose::Application, 0), 0);
        let sizes: Vec<u64> = (0..100_000).map(|_| user.next_object(&mut random, &mut left)).collect();
        let above = |bytes: u64| sizes.iter().filter(|size| **size > bytes).count();
        assert!(above(133_000).abs_diff(10_000) < 600, "{}", above(133_000));
        assert!(above(11_580).abs_diff(53_500) < 800, "{}", above(11_580));
    }

    /// Between pages P(pause > 4 s) = 4^-1.5 = 1/8
    #[test]
    fn pauses_between_pages_are_heavy_tailed() {
        let (user, mut random) = (WebUser::default(), Random::new(1, Purpose::Application, 0));
        let long = (0..100_000).filter(|_| user.pause_ns(&mut random, 0) > 4_000_000_000).count();
        assert!(long.abs_diff(12_500) < 400, "{long}");
    }
}
