// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the clock's own programs cost, as the kernel counts it.

use std::time::Duration;

use aya::Ebpf;

/// Runs of one program since it was loaded, counted while `kernel.bpf_stats_enabled` is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCost {
    /// Name.
    pub name: String,
    /// How often it ran.
    pub run_count: u64,
    /// How long, all together.
    pub run_time: Duration,
}

/// Of the programs of an object that are loaded.
pub(crate) fn of(object: &Ebpf) -> Vec<ProgramCost> {
    let loaded = object.programs().filter_map(|(name, program)| Some((name, program.info().ok()?)));
    let cost = |(name, info): (&str, aya::programs::ProgramInfo)| ProgramCost {
        name: name.to_owned(),
        run_count: info.run_count(),
        run_time: info.run_time(),
    };
    loaded.map(cost).collect()
}
