// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer of `ccctl acks`: what the ACK clock counted, as plain data.
//!
//! Not an operation of the API: it lasts as long as it is asked to, and runs in the process that asks.

use std::collections::BTreeMap;

use ccctl_telemetry::{AlgorithmCounts, Backlog, Clock, InterfaceCounts, Reading, Softnet, Times};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SACK blocks that fit into one ACK, and none.
const SACK_KINDS: usize = 5;

/// What was measured. Counts are since the start.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Acks {
    /// Since the start.
    pub elapsed_s: f64,
    /// What ends the processing of an ACK on this kernel.
    pub end: String,
    /// Times longer than this are counted as slow.
    pub slow_ns: Option<u64>,
    /// Arrivals.
    pub interfaces: Vec<Interface>,
    /// Waiting and processing, by kernel name.
    pub acks_by_congestion_control: BTreeMap<String, Algorithm>,
    /// Packets dropped, by reason.
    pub drops: Vec<Drops>,
    /// Of the whole machine, by processor.
    pub softnet: Vec<Processor>,
    /// Drops of a full backlog, counted twice.
    pub backlog_drops: BacklogDrops,
}

/// Arrivals at one interface.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// Where ACKs are stamped.
    pub attached_to: String,
    /// Places that were not to be had, and why.
    pub passed_over: Vec<String>,
    /// ACKs that arrived.
    pub acks: u64,
    /// Of those, by the number of SACK blocks.
    pub sack_blocks: [u64; SACK_KINDS],
    /// ACKs that were stamped.
    pub stamped: u64,
    /// ACKs that were to be stamped and could not be.
    pub unstamped: u64,
    /// Of the ACKs stamped by native XDP, those that reached tc ingress.
    pub reached_tc: Option<u64>,
}

/// What the sockets of one algorithm did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Algorithm {
    /// ACKs that TCP input worked on; merged ones count once.
    pub acks: u64,
    /// ACKs merged into those in socket backlogs.
    pub coalesced: u64,
    /// Duplicate ACKs.
    pub duplicate_acks: u64,
    /// ACKs without a stamp: not chosen, or from an interface without the clock.
    pub unstamped: u64,
    /// ACKs by their number of SACK blocks.
    pub sack_blocks: [u64; SACK_KINDS],
    /// From arrival to the start of TCP input.
    pub waiting: Histogram,
    /// From there to the end.
    pub processing: Histogram,
}

/// Times.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// How many.
    pub count: u64,
    /// Mean.
    pub mean_ns: Option<u64>,
    /// Median: the upper end of its bucket.
    pub median_ns: Option<u64>,
    /// 99 of 100 are no longer: the upper end of its bucket.
    pub p99_ns: Option<u64>,
    /// Longest.
    pub max_ns: u64,
    /// How many took longer than `slow_ns`.
    pub slow: u64,
    /// Those that hold something.
    pub buckets: Vec<Bucket>,
}

/// One bucket of a histogram.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// From here
    pub from_ns: u64,
    /// up to and without here.
    pub to_ns: u64,
    /// How many.
    pub count: u64,
}

/// Drops of one reason.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Drops {
    /// As the kernel names it.
    pub reason: String,
    /// In this network namespace.
    pub here: u64,
    /// In others, and where it cannot be told.
    pub elsewhere: u64,
    /// Of those here, by processor.
    pub by_cpu: Vec<u64>,
    /// Of those here, by kernel name where a socket is known.
    pub by_congestion_control: BTreeMap<String, u64>,
}

/// What `/proc/net/softnet_stat` says of a processor.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Processor {
    /// Number.
    pub cpu: u32,
    /// Packets processed.
    pub processed: u64,
    /// Packets dropped because the backlog was full.
    pub dropped: u64,
    /// Rounds that ended with work left.
    pub time_squeezed: u64,
    /// Packets steered here by other processors.
    pub received_rps: u64,
    /// Mean length of the backlog, sampled.
    pub backlog_mean_pkts: Option<f64>,
    /// Longest backlog seen.
    pub backlog_max_pkts: u64,
}

/// The same drops from two sources.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct BacklogDrops {
    /// Drops for the reason `CPU_BACKLOG`.
    pub by_trace_point: u64,
    /// Column "dropped" of `/proc/net/softnet_stat`.
    pub by_softnet_stat: u64,
}

impl Acks {
    /// What the clock has counted.
    pub fn read(clock: &Clock, slow_ns: Option<u64>) -> anyhow::Result<Self> {
        let reading = clock.read()?;
        let (by_trace_point, by_softnet_stat) = reading.backlog_drops();
        let Reading { elapsed, interfaces, algorithms, drops, softnet } = reading;
        Ok(Self {
            elapsed_s: elapsed.as_secs_f64(),
            end: clock.end().to_string(),
            slow_ns,
            interfaces: interfaces.iter().map(Interface::of).collect(),
            acks_by_congestion_control: algorithms
                .iter()
                .map(|(name, counts)| (name.clone(), Algorithm::of(counts)))
                .collect(),
            drops: drops.into_iter().map(Drops::of).collect(),
            softnet: softnet.iter().map(Processor::of).collect(),
            backlog_drops: BacklogDrops { by_trace_point, by_softnet_stat },
        })
    }
}

fn kinds(counts: &[u64]) -> [u64; SACK_KINDS] {
    std::array::from_fn(|blocks| counts.get(blocks).copied().unwrap_or(0))
}

impl Interface {
    fn of(counts: &InterfaceCounts) -> Self {
        let attached = &counts.attached;
        Self {
            name: attached.interface.clone(),
            attached_to: attached.point.to_string(),
            passed_over: attached.passed_over.iter().map(|(point, cause)| format!("{point}: {cause}")).collect(),
            acks: counts.acks,
            sack_blocks: kinds(&counts.sack_blocks),
            stamped: counts.stamped,
            unstamped: counts.unstamped,
            reached_tc: counts.reached_tc,
        }
    }
}

impl Algorithm {
    fn of(counts: &AlgorithmCounts) -> Self {
        Self {
            acks: counts.acks,
            coalesced: counts.coalesced,
            duplicate_acks: counts.duplicate_acks,
            unstamped: counts.unstamped,
            sack_blocks: kinds(&counts.sack_blocks),
            waiting: Histogram::of(&counts.waiting),
            processing: Histogram::of(&counts.processing),
        }
    }
}

impl Histogram {
    fn of(times: &Times) -> Self {
        let ns = |time: std::time::Duration| time.as_nanos() as u64;
        let bucket = |bucket: ccctl_telemetry::Bucket| Bucket {
            from_ns: bucket.from_ns,
            to_ns: bucket.to_ns,
            count: bucket.count,
        };
        Self {
            count: times.count,
            mean_ns: times.mean().map(ns),
            median_ns: times.quantile(0.5).map(ns),
            p99_ns: times.quantile(0.99).map(ns),
            max_ns: times.max_ns,
            slow: times.slow,
            buckets: times.buckets().map(bucket).collect(),
        }
    }
}

impl Drops {
    fn of(drops: ccctl_telemetry::Drops) -> Self {
        let ccctl_telemetry::Drops { reason, here, elsewhere, by_cpu, by_algorithm } = drops;
        Self { reason, here, elsewhere, by_cpu, by_congestion_control: by_algorithm }
    }
}

impl Processor {
    fn of((softnet, backlog): &(Softnet, Backlog)) -> Self {
        Self {
            cpu: softnet.cpu,
            processed: softnet.processed,
            dropped: softnet.dropped,
            time_squeezed: softnet.time_squeezed,
            received_rps: softnet.received_rps,
            backlog_mean_pkts: (backlog.samples > 0).then(|| backlog.sum_pkts as f64 / backlog.samples as f64),
            backlog_max_pkts: backlog.max_pkts,
        }
    }
}
