//! Fuzz target: bytes become a network, flows of any algorithm and what their applications do. Nothing may crash, hang, lose or
//! make packets. `scripts/fuzz` links it with libFuzzer and with the C code under sanitizers.

#![allow(unsafe_code)]

mod scenario;

use std::sync::{Arc, LazyLock};

use ccctl_sim::Instance;

static INSTANCES: LazyLock<Vec<Arc<Instance>>> = LazyLock::new(|| {
    let names = ccctl_catalog::algorithms().iter().map(ccctl_catalog::Algorithm::name);
    names.map(|name| Arc::new(Instance::with_defaults(name).expect("it exists"))).collect()
});

/// One input of libFuzzer.
///
/// # Panics
/// Where the simulation is not consistent.
///
/// # Safety
/// `data` points at `size` bytes, which nobody changes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    if size > 0 {
        // SAFETY: the caller's contract.
        scenario::run(unsafe { std::slice::from_raw_parts(data, size) }, &INSTANCES);
    }
    0
}
