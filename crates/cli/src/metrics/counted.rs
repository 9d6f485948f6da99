// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sockets have done so far, by cgroup and algorithm, for experiments.

use std::collections::BTreeMap;
use std::time::Duration;

use ccctl_core::experiment::Sums;
use ccctl_inference::histogram::Histogram;
use ccctl_loader::jiffy;
use ccctl_telemetry::OTHER;

use super::exporter::{lock, Exporter};

/// Of connections, to be told how long they live.
const LEAST_LIVES: u64 = 20;

/// All that was counted since the beginning.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// By the path of the cgroup that a rule names, and by algorithm.
    pub cgroups: BTreeMap<String, BTreeMap<String, Sums>>,
    /// Of all sockets of the host.
    pub host: Sums,
}

impl Counted {
    /// Of all algorithms of a cgroup together.
    pub fn all_of(&self, cgroup: &str) -> Sums {
        let mut all = Sums::default();
        self.cgroups.get(cgroup).into_iter().flat_map(BTreeMap::values).for_each(|sums| all.add(sums));
        all
    }

    /// Segments that an algorithm has sent in a cgroup.
    pub fn segments_of(&self, cgroup: &str, algorithm: &str) -> u64 {
        let of = self.cgroups.get(cgroup).and_then(|algorithms| algorithms.get(algorithm));
        of.map_or(0, |sums| sums.data_segments)
    }
}

impl Exporter {
    /// What was counted so far. With `looks`, sockets that are silent now are included.
    pub fn count(&self, looks: bool) -> anyhow::Result<Counted> {
        if looks {
            self.look_now()?;
        }
        let reader = lock(&self.shared.reader).clone();
        let reader = reader.ok_or_else(|| anyhow::anyhow!("the programs that count are not loaded"))?;
        let tick_s = jiffy().as_secs_f64();
        let mut counted = Counted::default();
        let all = reader.read()?;
        let snapshot = lock(&self.shared.snapshot);
        for (series, counts) in all {
            let sums = Sums::of(&counts, tick_s);
            counted.host.add(&sums);
            if let Some(cgroup) = snapshot.cgroup(series.cgroup).filter(|cgroup| *cgroup != OTHER) {
                counted.cgroups.entry(cgroup.to_owned()).or_default().entry(series.instance).or_default().add(&sums);
            }
        }
        Ok(counted)
    }

    /// P90 of the lives of a cgroup's connections, as far as they have got: closed ones, and those that are open.
    pub fn life_p90(&self, cgroup: &str) -> Option<Duration> {
        let reader = lock(&self.shared.reader).clone()?;
        let all = reader.read().ok()?;
        let snapshot = lock(&self.shared.snapshot);
        let is_own = |number: u32| snapshot.cgroup(number) == Some(cgroup);
        let closed = all.iter().filter(|(series, _)| is_own(series.cgroup)).map(|(_, counts)| counts.life_ms.buckets);
        let open =
            snapshot.present.iter().filter(|(series, _)| is_own(series.cgroup)).map(|(_, gauges)| gauges.ages_ms);
        let lives = closed.chain(open).reduce(|sum, more| std::array::from_fn(|bucket| sum[bucket] + more[bucket]))?;
        if lives.iter().sum::<u64>() < LEAST_LIVES {
            return None;
        }
        let bounds = (0..lives.len() as i32).map(|bucket| 2_f64.powi(bucket)).collect();
        let p90_ms = Histogram::new(bounds, lives.to_vec()).and_then(|lives| lives.quantile(0.9)).ok()?;
        Some(Duration::from_secs_f64(p90_ms / 1000.0))
    }
}
