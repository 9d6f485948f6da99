// SPDX-License-Identifier: MIT OR Apache-2.0
//! The half that reads: a system call for each pair of algorithm and cgroup, whatever the number of sockets.

use std::collections::BTreeMap;

use aya::maps::{HashMap, MapData, PerCpuArray, PerCpuHashMap};
use aya::Ebpf;

use super::maps::taken;
use super::OTHER;
use ccctl_catalog::kernel::c_text;

use crate::bindings::{
    metric_histogram, series_counts, series_key, series_present, METRIC_BUCKETS, METRIC_QUEUE_BUCKETS,
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

/// Values by powers of two: bucket `b` has those up to 2^b, and above 2^(b-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// All values together.
    pub sum: u64,
    /// How many are in each bucket; the last one has all that is larger, too.
    pub buckets: [u64; METRIC_BUCKETS as usize],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { sum: 0, buckets: [0; METRIC_BUCKETS as usize] }
    }
}

impl Histogram {
    fn add(&mut self, more: &metric_histogram) {
        self.sum += more.sum;
        self.buckets.iter_mut().zip(more.buckets).for_each(|(sum, count)| *sum += count);
    }
}

/// Time in queues at each ACK, as the sender sees it: two buckets in each power of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queueing(pub [u64; METRIC_QUEUE_BUCKETS as usize]);

impl Default for Queueing {
    fn default() -> Self {
        Self([0; METRIC_QUEUE_BUCKETS as usize])
    }
}

impl Queueing {
    /// Where a bucket ends, us: values are below this.
    #[must_use]
    pub fn bound_us(bucket: usize) -> f64 {
        match bucket {
            0 | 1 => bucket as f64 + 1.0,
            _ => 2_f64.powi(bucket as i32 / 2) * (1.0 + (bucket % 2 + 1) as f64 / 2.0),
        }
    }
}

/// What was counted of one series since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)] // xdp/metrics.h, and docs/guide/metrics.md
pub struct Counts {
    pub opened: u64,
    pub closed: u64,
    pub acks: u64,
    pub sack_acks: u64,
    pub bytes_acked: u64,
    pub bytes_retransmitted: u64,
    pub retransmits_pkts: u64,
    pub ecn_pkts: u64,
    pub loss_events: u64,
    pub timeouts: u64,
    pub window_reductions: u64,
    pub data_segments: u64,
    pub network_limited_jiffies: u64,
    pub queueing_us: Queueing,
    pub life_ms: Histogram,
    pub rtt_us: Histogram,
    pub cwnd_pkts: Histogram,
}

impl Counts {
    fn add(&mut self, more: &series_counts) {
        self.opened += more.opened;
        self.closed += more.closed;
        self.acks += more.acks;
        self.sack_acks += more.sack_acks;
        self.bytes_acked += more.bytes_acked;
        self.bytes_retransmitted += more.bytes_retransmitted;
        self.retransmits_pkts += more.retransmits_pkts;
        self.ecn_pkts += more.ecn_pkts;
        self.loss_events += more.loss_events;
        self.timeouts += more.timeouts;
        self.window_reductions += more.window_reductions;
        self.data_segments += more.data_segments;
        self.network_limited_jiffies += more.network_limited_jiffies;
        self.queueing_us.0.iter_mut().zip(more.queueing_us).for_each(|(sum, count)| *sum += count);
        self.life_ms.add(&more.life_ms);
        self.rtt_us.add(&more.rtt_us);
        self.cwnd_pkts.add(&more.cwnd_pkts);
    }
}

/// Reads the counters, at any time and on any thread.
pub struct Reader {
    series: HashMap<MapData, series_key, u32>,
    counts: PerCpuArray<MapData, series_counts>,
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
            let mut counts = Counts::default();
            values.iter().for_each(|more| counts.add(more));
            if number != OVERFLOW || counts != Counts::default() {
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
