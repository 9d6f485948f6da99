// SPDX-License-Identifier: GPL-2.0-only
//! Layouts, each read out of its object once: a sweep asks for the same few at each of its points.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ccctl_catalog::{Algorithm, Layout};

static LAYOUTS: Mutex<BTreeMap<&'static str, Arc<Layout>>> = Mutex::new(BTreeMap::new());

/// Parameters and state of an algorithm.
pub(crate) fn layout(algorithm: &'static Algorithm) -> Arc<Layout> {
    let mut layouts = LAYOUTS.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(layouts.entry(algorithm.name()).or_insert_with(|| Arc::new(algorithm.layout())))
}
