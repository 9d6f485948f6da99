// SPDX-License-Identifier: GPL-2.0-only
//! Fuzz targets: everything that reads what others wrote or sent, and the algorithms themselves. `scripts/fuzz` links all of them
//! into one program with libFuzzer; the name that the program is called by chooses the target.
//!
//! Nothing here runs in a product: the crate is built by `scripts/fuzz` and by the tests.

#![allow(unsafe_code)]

mod algorithms;
mod configuration;
mod frames;
mod objects;
mod requests;
mod rules;
mod scenario;
mod seeds;
mod series;
mod simulation;

use std::ffi::{c_char, c_int, CStr};
use std::path::Path;
use std::process::exit;
use std::sync::OnceLock;

/// What is fuzzed.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// As `scripts/fuzz` names it.
    pub name: &'static str,
    /// Runs one input; panics where something is wrong.
    pub run: fn(&[u8]),
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "algorithms", run: algorithms::run, seeds: seeds::algorithms },
    Target { name: "simulation", run: simulation::run, seeds: seeds::simulation },
    Target { name: "frames", run: frames::run, seeds: seeds::frames },
    Target { name: "configuration", run: configuration::run, seeds: seeds::configuration },
    Target { name: "objects", run: objects::run, seeds: seeds::objects },
    Target { name: "requests", run: requests::run, seeds: seeds::requests },
    Target { name: "rules", run: rules::run, seeds: seeds::rules },
    Target { name: "scenario", run: scenario::run, seeds: seeds::scenario },
    Target { name: "series", run: series::run, seeds: seeds::series },
];

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// The program runs the target that it is named after. `PROGRAM --seeds FOLDER` writes the seeds of the target; all other
/// arguments are for libFuzzer.
fn start(words: &[String]) {
    let name = words.first().and_then(|path| Path::new(path).file_name()).unwrap_or_default();
    let Some(target) = TARGETS.iter().find(|target| *target.name == *name) else {
        eprintln!("there is no fuzz target {}: scripts/fuzz --list has their names", name.display());
        exit(2);
    };
    if let [_, option, folder] = words {
        if option == "--seeds" {
            seeds::write(*target, Path::new(folder)).unwrap_or_else(|error| {
                eprintln!("{folder}: {error}");
                exit(1)
            });
            exit(0);
        }
    }
    CHOSEN.get_or_init(|| *target);
}

/// libFuzzer's first call.
///
/// # Safety
/// `count` and `words` are where `main` has its two arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerInitialize(count: *const c_int, words: *const *const *const c_char) -> c_int {
    // SAFETY: the caller's contract: so many strings that end in zero.
    let words = unsafe {
        let words = std::slice::from_raw_parts(*words, usize::try_from(*count).unwrap_or(0));
        words.iter().map(|word| CStr::from_ptr(*word).to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    start(&words);
    0
}

/// One input of libFuzzer.
///
/// # Safety
/// `data` points at `size` bytes that do not change meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> c_int {
    if let (Some(target), true) = (CHOSEN.get(), size > 0) {
        // SAFETY: the caller's contract.
        (target.run)(unsafe { std::slice::from_raw_parts(data, size) });
    }
    0
}
