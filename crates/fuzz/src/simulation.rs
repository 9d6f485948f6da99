// SPDX-License-Identifier: GPL-2.0-only
//! Bytes become a network, flows of any algorithm and what their applications do. Nothing may crash, hang, lose or make packets.

#[path = "../../sim/tests/engine/random_network.rs"]
mod random_network;

use std::sync::{Arc, LazyLock};

use ccctl_sim::Instance;

static INSTANCES: LazyLock<Vec<Arc<Instance>>> = LazyLock::new(|| {
    let names = ccctl_catalog::algorithms().iter().map(ccctl_catalog::Algorithm::name);
    names.map(|name| Arc::new(Instance::with_defaults(name).expect("it exists"))).collect()
});

/// Runs a simulation.
///
/// # Panics
/// Where it is not consistent.
pub(crate) fn run(bytes: &[u8]) {
    random_network::run(bytes, &INSTANCES);
}
