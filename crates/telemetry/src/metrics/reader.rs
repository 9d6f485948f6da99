// SPDX-License-Identifier: MIT OR Apache-2.0
//! The half that reads: a system call for each pair of algorithm and cgroup, whatever the number of sockets.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aya::maps::{HashMap, MapData, PerCpuArray, PerCpuHashMap};
use aya::Ebpf;

use super::maps::taken;
use super::OTHER;
use ccctl_catalog::kernel::c_text;

use crate::bindings::{
    cluster_counts, cluster_key, completion_counts, metric_experiment, series_counts as Counts, series_key,
    series_present, METRIC_BUCKETS, METRIC_ECN_MODES,
};
use crate::error::{Error, Result};
use crate::kernel_types::KernelTypes;

/// The series of what found no room: [`OTHER`] in both labels.
pub(super) const OVERFLOW: u32 = 0;

/// Algorithm and cgroup.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MetricKey {
    /// Kernel name of the algorithm.
    pub instance: String,
    /// Number of the cgroup, as it was given; 0: any other.
    pub cgroup: u32,
}

/// How many connections there are, and what they carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Sockets that are no listeners, and not in the states of requests and of waiting after the end.
    pub connections: u64,
    /// Of these, by what both ends agreed to on congestion marks: nothing, RFC 3168, Accurate ECN, and those in whose handshake
    /// both are still possible.
    pub ecn_modes: [u64; METRIC_ECN_MODES as usize],
    /// Sum of their last delivery rates.
    pub delivery_bytes_per_s: u64,
    /// Ages in ms of those that were opened since the counting began, by powers of two.
    pub ages_ms: [u64; METRIC_BUCKETS as usize],
}

impl Gauges {
    /// Adds connections and their rates, not their ages.
    pub fn add(&mut self, more: &Self) {
        self.connections += more.connections;
        self.delivery_bytes_per_s += more.delivery_bytes_per_s;
        self.ecn_modes.iter_mut().zip(more.ecn_modes).for_each(|(sum, count)| *sum += count);
    }

    pub(super) fn of(present: &series_present) -> Self {
        let series_present { connections, ecn_modes, delivery_bytes_per_s, ages_ms } = *present;
        Self { connections, ecn_modes, delivery_bytes_per_s, ages_ms }
    }
}

/// Where a bucket of times in queues and of completion times ends, us: values are below this. There are two in each power of
/// two.
#[must_use]
pub fn fine_bound_us(bucket: usize) -> f64 {
    match bucket {
        0 | 1 => bucket as f64 + 1.0,
        _ => 2_f64.powi(bucket as i32 / 2) * (1.0 + (bucket % 2 + 1) as f64 / 2.0),
    }
}

impl Counts {
    /// Adds what was counted elsewhere: all members are numbers of 64 bits.
    pub fn add(&mut self, more: &Self) {
        let more: &[u64] = bytemuck::cast_slice(std::slice::from_ref(more));
        let counts: &mut [u64] = bytemuck::cast_slice_mut(std::slice::from_mut(self));
        counts.iter_mut().zip(more).for_each(|(sum, count)| *sum += count);
    }
}

/// Reads the counters, at any time and on any thread.
pub struct Reader {
    series: HashMap<MapData, series_key, u32>,
    counts: PerCpuArray<MapData, Counts>,
    drops: PerCpuHashMap<MapData, u32, u64>,
    completions: HashMap<MapData, u32, completion_counts>,
    clusters: Mutex<HashMap<MapData, cluster_key, cluster_counts>>,
    experiments: Mutex<HashMap<MapData, u32, metric_experiment>>,
    types: KernelTypes,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reader {
    pub(super) fn of(object: &mut Ebpf) -> Result<Self> {
        Ok(Self {
            series: taken(object, "series")?,
            counts: taken(object, "counts")?,
            drops: taken(object, "drops")?,
            completions: taken(object, "completions")?,
            clusters: Mutex::new(taken(object, "clusters")?),
            experiments: Mutex::new(taken(object, "experiments")?),
            types: KernelTypes::read()?,
        })
    }

    /// Those that there are, with their numbers.
    pub(super) fn series(&self) -> Result<Vec<(u32, MetricKey)>> {
        let mut found = vec![(OVERFLOW, MetricKey { instance: OTHER.to_owned(), cgroup: 0 })];
        for entry in &self.series {
            let (key, number) = entry.map_err(Error::map("series"))?;
            found.push((number, MetricKey { instance: c_text(&key.instance), cgroup: key.cgroup }));
        }
        Ok(found)
    }

    /// What was counted so far.
    pub fn read(&self) -> Result<BTreeMap<MetricKey, Counts>> {
        let mut all = BTreeMap::new();
        for (number, series) in self.series()? {
            let values = self.counts.get(&number, 0).map_err(Error::map("counts"))?;
            let mut counts: Counts = bytemuck::Zeroable::zeroed();
            values.iter().for_each(|more| counts.add(more));
            if number != OVERFLOW || bytemuck::bytes_of(&counts).iter().any(|byte| *byte != 0) {
                all.insert(series, counts);
            }
        }
        Ok(all)
    }

    /// Has connections of this cgroup or scope counted by size, those that are opened after `since`, a time of
    /// `CLOCK_MONOTONIC`; None: not yet. With `has_clusters`, all are counted by cluster, too.
    pub fn count_for_experiment(&self, number: u32, since: Option<Duration>, has_clusters: bool) -> Result<()> {
        let since_ns = since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        let wanted = metric_experiment { since_ns, has_clusters: has_clusters.into(), unused: 0 };
        lock(&self.experiments).insert(number, wanted, 0).map_err(Error::map("experiments"))
    }

    /// Ends that for all numbers but these, and forgets clusters where none is left.
    pub fn count_only_for(&self, numbers: &[u32]) -> Result<()> {
        let mut experiments = lock(&self.experiments);
        let found: Vec<u32> = experiments.keys().flatten().collect();
        for number in found.iter().filter(|number| !numbers.contains(number)) {
            experiments.remove(number).map_err(Error::map("experiments"))?;
        }
        if found.is_empty() || !numbers.is_empty() {
            return Ok(());
        }
        let mut clusters = lock(&self.clusters);
        let keys: Vec<cluster_key> = clusters.keys().flatten().collect();
        keys.iter().try_for_each(|key| clusters.remove(key)).map_err(Error::map("clusters"))
    }

    /// Completion times by number of the series.
    pub fn completions(&self) -> Result<BTreeMap<MetricKey, completion_counts>> {
        let names: BTreeMap<u32, MetricKey> = self.series()?.into_iter().collect();
        let mut all = BTreeMap::new();
        for entry in &self.completions {
            let (number, counts) = entry.map_err(Error::map("completions"))?;
            all.extend(names.get(&number).map(|key| (key.clone(), counts)));
        }
        Ok(all)
    }

    /// What each cluster of peers has of a series.
    pub fn clusters(&self) -> Result<BTreeMap<(MetricKey, u32), cluster_counts>> {
        let names: BTreeMap<u32, MetricKey> = self.series()?.into_iter().collect();
        let mut all = BTreeMap::new();
        for entry in lock(&self.clusters).iter() {
            let (key, counts) = entry.map_err(Error::map("clusters"))?;
            all.extend(names.get(&key.series).map(|series| ((series.clone(), key.cluster), counts)));
        }
        Ok(all)
    }

    /// Packets dropped since the start, by the kernel's name of the reason and by processor.
    pub fn drops(&self) -> Result<BTreeMap<String, Vec<u64>>> {
        let mut all = BTreeMap::new();
        for entry in &self.drops {
            let (reason, values) = entry.map_err(Error::map("drops"))?;
            let name = self.types.drop_reasons.get(&reason).cloned();
            all.insert(name.unwrap_or_else(|| format!("{reason:#x}")), values.iter().copied().collect());
        }
        Ok(all)
    }
}
