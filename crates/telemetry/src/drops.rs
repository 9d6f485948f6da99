// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that the kernel dropped, by reason.

use std::collections::BTreeMap;

use aya::maps::{MapData, PerCpuHashMap};

use ccctl_catalog::kernel::c_text;

use crate::bindings::drop_key;
use crate::error::{Error, Result};
use crate::kernel_types::KernelTypes;

pub(crate) const CPU_BACKLOG: &str = "CPU_BACKLOG";

/// Drops of one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drops {
    /// Name of the reason as the kernel has it, without `SKB_DROP_REASON_`; a number where the kernel names none.
    pub reason: String,
    /// In this network namespace.
    pub here: u64,
    /// In others, and those of which it cannot be told.
    pub elsewhere: u64,
    /// Of those here, by processor.
    pub by_cpu: Vec<u64>,
    /// Of those here, by the algorithm of the socket, where one is known.
    pub by_algorithm: BTreeMap<String, u64>,
}

/// Reads the map; most frequent first.
pub(crate) fn read(map: &PerCpuHashMap<&MapData, drop_key, u64>, types: &KernelTypes) -> Result<Vec<Drops>> {
    let mut reasons: BTreeMap<u32, Drops> = BTreeMap::new();
    for entry in map {
        let (key, counts) = entry.map_err(Error::map("drops"))?;
        let drops = reasons.entry(key.reason).or_insert_with(|| Drops {
            reason: name(types, key.reason),
            by_cpu: vec![0; counts.len()],
            ..Drops::default()
        });
        let sum: u64 = counts.iter().sum();
        if key.elsewhere != 0 {
            drops.elsewhere += sum;
            continue;
        }
        drops.here += sum;
        for (cpu, count) in drops.by_cpu.iter_mut().zip(counts.iter()) {
            *cpu += count;
        }
        let algorithm = c_text(&key.algorithm);
        if !algorithm.is_empty() {
            *drops.by_algorithm.entry(algorithm).or_default() += sum;
        }
    }
    let mut sorted: Vec<Drops> = reasons.into_values().collect();
    sorted.sort_by(|a, b| b.here.cmp(&a.here).then_with(|| a.reason.cmp(&b.reason)));
    Ok(sorted)
}

/// Reasons with high bits belong to a subsystem (mac80211, Open vSwitch) whose names are in its module's BTF.
fn name(types: &KernelTypes, reason: u32) -> String {
    types
        .drop_reasons
        .get(&reason)
        .cloned()
        .unwrap_or_else(|| format!("subsystem {} reason {}", reason >> 16, reason & 0xffff))
}
