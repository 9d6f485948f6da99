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
    /// Users' algorithms: name and file.
    pub own: &'a [Own],
    /// Which runs, and what is changed.
    pub part: &'a Part,
}

/// A user's algorithm.
#[derive(Debug, Clone)]
pub struct Own {
    /// By which scenarios call it.
    pub name: String,
    /// As the command line names it.
    pub file: String,
}

/// Tasks one after the other.
pub type Queue<'a> = Vec<Task<'a>>;

/// Queues at the same time: the scenarios, and each that is run beside them.
pub fn queues<'a>(run: &'a Run, own: &'a [Own]) -> Vec<Queue<'a>> {
    let first = run.scenarios.iter().map(|name| Task { name, axes: &[], own, part: &run.part }).collect();
    let beside = run.beside.iter().map(|it| vec![Task { name: &it.scenario, axes: &[], own, part: &it.part }]);
    std::iter::once(first).chain(beside).collect()
}

/// The only queue.
pub fn queues_of_sweep<'a>(sweep: &'a Sweep, own: &'a [Own]) -> Vec<Queue<'a>> {
    vec![vec![Task { name: &sweep.scenario, axes: &sweep.axis, own, part: &sweep.part }]]
}
