// SPDX-License-Identifier: GPL-2.0-only
//! What is measured: `docs/reference/scenarios.md` defines each measure.

mod definition;
mod estimate;
mod evaluate;
pub mod fairness;
mod names;
mod reference;

pub use definition::{conversion, definition, range, About, Definition, DEFINITIONS};
pub use estimate::{student_t_975, Estimate, INTERVAL_REPEATS};
pub use evaluate::Evaluation;
pub use names::Names;
pub use reference::{Reference, Subject};
