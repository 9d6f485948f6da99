// SPDX-License-Identifier: MIT OR Apache-2.0
//! The half that reads: a system call for each pair of algorithm and cgroup, whatever the number of sockets.

use std::collections::BTreeMap;

use aya::maps::{HashMap, MapData, PerCpuArray, PerCpuHashMap};
use aya::Ebpf;

use super::maps::taken;
use super::OTHER;
use ccctl_catalog::kernel::c_text;

use crate::bindings::{series_counts as Counts, series_key, series_present, METRIC_BUCKETS};
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
    /// Sum of their last delivery rates.
    pub delivery_bytes_per_s: u64,
    /// Ages in ms of those that were opened since the counting began, by powers of two.
    pub ages_ms: [u64; METRIC_BUCKETS as usize],
}

impl Gauges {
    pub(super) fn of(present: &series_present) -> Self {
        let series_present { connections, delivery_bytes_per_s, ages_ms } = *present;
        Self { connections, delivery_bytes_per_s, ages_ms }
    }
}

/// Where a bucket of time in queues ends, us: values are below this. There are two in each power of two.
#[must_use]
pub fn queueing_bound_us(bucket: usize) -> f64 {
    match bucket {
        0 | 1 => bucket as f64 + 1.0,
        _ => 2_f64.powi(bucket as i32 / 2) * (1.0 + (bucket % 2 + 1) as f64 / 2.0),
    }
}

/// Adds what another processor has counted: all members are numbers of 64 bits.
fn add(counts: &mut Counts, more: &Counts) {
    let more: &[u64] = bytemuck::cast_slice(std::slice::from_ref(more));
    let counts: &mut [u64] = bytemuck::cast_slice_mut(std::slice::from_mut(counts));
    counts.iter_mut().zip(more).for_each(|(sum, count)| *sum += count);
}

/// Reads the counters, at any time and on any thread.
pub struct Reader {
    series: HashMap<MapData, series_key, u32>,
    counts: PerCpuArray<MapData, Counts>,
    drops: PerCpuHashMap<MapData, u32, u64>,
    types: KernelTypes,
}

impl Reader {
    pub(super) fn of(object: &mut Ebpf) -> Result<Self> {
        Ok(Self {
            series: taken(object, "series")?,
            counts: taken(object, "counts")?,
            drops: taken(object, "drops")?,
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
            values.iter().for_each(|more| add(&mut counts, more));
            if number != OVERFLOW || bytemuck::bytes_of(&counts).iter().any(|byte| *byte != 0) {
                all.insert(series, counts);
            }
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
