// SPDX-License-Identifier: GPL-2.0-only
//! What a command line asks for: scenarios, each with its part of the options.

use crate::arguments::{Part, Run, Sweep};

/// A scenario, and what is run of it.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// A shipped scenario's name, or a file's.
    pub name: &'a str,
    /// What it is swept over besides its own axes.
    pub axes: &'a [String],
    /// Which runs, and what is changed.
    pub part: &'a Part,
}

/// Tasks one after the other.
pub type Queue<'a> = Vec<Task<'a>>;

/// Queues at the same time: the scenarios, and each that is run beside them.
pub fn queues(run: &Run) -> Vec<Queue<'_>> {
    let first = run.scenarios.iter().map(|name| Task { name, axes: &[], part: &run.part }).collect();
    let beside = run.beside.iter().map(|it| vec![Task { name: &it.scenario, axes: &[], part: &it.part }]);
    std::iter::once(first).chain(beside).collect()
}

/// The only queue.
pub fn queues_of_sweep(sweep: &Sweep) -> Vec<Queue<'_>> {
    vec![vec![Task { name: &sweep.scenario, axes: &sweep.axis, part: &sweep.part }]]
}
