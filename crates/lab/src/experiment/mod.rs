// SPDX-License-Identifier: GPL-2.0-only
//! Experiments: what is run at each point of a scenario's sweep, read out of the scenario's file.

mod document;
pub mod file;
mod layouts;
pub(crate) mod memory;
pub mod point_spec;
pub mod quantity;
pub(crate) mod resolve;
mod source_text;
mod sweep;

pub(crate) use document::Document;
pub(crate) use layouts::layout;
pub use point_spec::PointSpec;
pub use source_text::ScenarioError;
pub(crate) use source_text::{did_you_mean, SourceText};
pub(crate) use sweep::{region, Sweep};
pub use sweep::{Axis, Position, Region};

/// A scenario's file is at most this long.
pub const SCENARIO_BYTES_MAX: u64 = 1 << 20;

/// And the trace of a link: a million opportunities to send.
pub(crate) const TRACE_BYTES_MAX: u64 = 1 << 23;

/// One point of a sweep.
#[derive(Debug, Clone)]
pub struct Point {
    /// Its number in the whole sweep, from 0.
    pub index: usize,
    /// Where it lies on each axis.
    pub position: Position,
    /// What is run.
    pub setup: PointSpec,
}

/// "algorithm = cubic, buffer = 20 % BDP"; empty without a sweep.
pub(crate) fn label(axes: &[Axis], position: &[usize]) -> String {
    let words = axes.iter().zip(position).map(|(axis, at)| format!("{} = {}", axis.name, axis.values[*at]));
    words.collect::<Vec<_>>().join(", ")
}
