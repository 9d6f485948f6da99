// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the kernel differs from a configuration, step by step, and the execution of these steps.

mod difference;
mod execute;
mod failover;
mod rules;
mod step;
mod teardown;

pub use execute::execute;
pub use failover::sort_trips;
pub use step::Step;
pub use teardown::{teardown, TornDown};

use crate::configuration::Configuration;

/// What a configuration asks of a host that has no instance, rule or owner record: a step for each instance and rule. Neither is
/// read from the kernel.
#[must_use]
pub fn for_empty(configuration: &Configuration) -> Vec<Step> {
    let mut steps = difference::for_empty(configuration);
    steps.extend(rules::for_empty(configuration));
    steps
}
