// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sockets have done so far, by cgroup and algorithm, for experiments.

use std::collections::BTreeMap;
use std::time::Duration;

use ccctl_core::experiment::{Completions, FlowSums, Sums};
use ccctl_inference::histogram::Histogram;
use ccctl_loader::jiffy;
use ccctl_telemetry::ClusterCounts;

use super::exporter::{lock, Exporter};

/// Of connections, to be told how long they live.
const LEAST_LIVES: u64 = 20;

/// All that was counted since the beginning. Names are those of [`ccctl_core::experiment::counted_as`].
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// By name, and by algorithm.
    pub cgroups: BTreeMap<String, BTreeMap<String, Sums>>,
    /// Of all sockets of the host.
    pub host: Sums,
    /// Of experiments, by name and algorithm.
    pub completions: BTreeMap<(String, String), Completions>,
    /// Of those with a hold-out, by name, algorithm and cluster of peers.
    pub clusters: BTreeMap<(String, String), BTreeMap<u32, FlowSums>>,
}

impl Counted {
    /// Of all algorithms of a cgroup together.
    pub fn all_of(&self, cgroup: &str) -> Sums {
        let mut all = Sums::default();
        self.cgroups.get(cgroup).into_iter().flat_map(BTreeMap::values).for_each(|sums| all.add(sums));
        all
    }

    /// Of one algorithm of a cgroup.
    pub fn of(&self, cgroup: &str, algorithm: &str) -> Sums {
        let of = self.cgroups.get(cgroup).and_then(|algorithms| algorithms.get(algorithm));
        of.cloned().unwrap_or_default()
    }

    /// Connections by size and time, of one algorithm of a cgroup.
    pub fn completions_of(&self, cgroup: &str, algorithm: &str) -> Completions {
        self.completions.get(&(cgroup.to_owned(), algorithm.to_owned())).cloned().unwrap_or_default()
    }

    /// What each cluster has done with one algorithm of a cgroup since `before`; None where the counting began anew.
    pub fn clusters_since(&self, before: &Self, cgroup: &str, algorithm: &str) -> Option<BTreeMap<u32, FlowSums>> {
        let key = (cgroup.to_owned(), algorithm.to_owned());
        let Some(now) = self.clusters.get(&key) else { return Some(BTreeMap::new()) };
        let first = |cluster: &u32| before.clusters.get(&key).and_then(|clusters| clusters.get(cluster)).copied();
        let since =
            |(cluster, sums): (&u32, &FlowSums)| Some((*cluster, sums.since(&first(cluster).unwrap_or_default())?));
        now.iter().map(since).collect()
    }
}

fn flow_sums(counts: &ClusterCounts, tick_s: f64) -> FlowSums {
    FlowSums {
        acked_bytes: counts.bytes_acked,
        retransmitted_bytes: counts.bytes_retransmitted,
        data_segments: counts.data_segments,
        timeouts: counts.timeouts,
        network_limited_s: counts.network_limited_jiffies as f64 * tick_s,
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
            if let Some(name) = snapshot.name(series.cgroup) {
                counted.cgroups.entry(name.to_owned()).or_default().entry(series.instance).or_default().add(&sums);
            }
        }
        if looks {
            for (series, counts) in reader.completions()? {
                let name = snapshot.name(series.cgroup).map(|name| (name.to_owned(), series.instance));
                counted.completions.extend(name.map(|name| (name, Completions::of(&counts))));
            }
            for ((series, cluster), counts) in reader.clusters()? {
                let Some(name) = snapshot.name(series.cgroup) else { continue };
                let clusters = counted.clusters.entry((name.to_owned(), series.instance)).or_default();
                clusters.insert(cluster, flow_sums(&counts, tick_s));
            }
        }
        Ok(counted)
    }

    /// Has connections of an experiment's scope counted by size, those that are opened from now on or, without `from_now`,
    /// none yet; and with `has_clusters` by cluster of peers. Nothing while no rule names the scope.
    pub fn count_for_experiment(&self, name: &str, from_now: bool, has_clusters: bool) -> anyhow::Result<()> {
        let Some(reader) = lock(&self.shared.reader).clone() else { return Ok(()) };
        let Some(number) = lock(&self.shared.snapshot).number(name) else { return Ok(()) };
        let since = from_now.then(ccctl_telemetry::monotonic_now).transpose()?;
        Ok(reader.count_for_experiment(number, since, has_clusters)?)
    }

    /// Ends that for all scopes but these.
    pub fn count_only_for(&self, names: &[String]) -> anyhow::Result<()> {
        let Some(reader) = lock(&self.shared.reader).clone() else { return Ok(()) };
        let snapshot = lock(&self.shared.snapshot);
        let numbers: Vec<u32> = names.iter().filter_map(|name| snapshot.number(name)).collect();
        Ok(reader.count_only_for(&numbers)?)
    }

    /// P90 of the lives of a cgroup's connections, as far as they have got: closed ones, and those that are open.
    pub fn life_p90(&self, cgroup: &str) -> Option<Duration> {
        let reader = lock(&self.shared.reader).clone()?;
        let all = reader.read().ok()?;
        let snapshot = lock(&self.shared.snapshot);
        let is_own = |number: u32| snapshot.name(number) == Some(cgroup);
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
