// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exporter of this process, while metrics are on.

use std::sync::{Arc, Mutex, PoisonError};

use super::Exporter;

static CURRENT: Mutex<Option<Arc<Exporter>>> = Mutex::new(None);

/// The exporter, where metrics are on.
pub fn current() -> Option<Arc<Exporter>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Switches metrics on or off. The exporter of before ends here, where scrapes do not wait for it.
pub fn replace(exporter: Option<Arc<Exporter>>) {
    let before = std::mem::replace(&mut *CURRENT.lock().unwrap_or_else(PoisonError::into_inner), exporter);
    drop(before);
}
