// SPDX-License-Identifier: GPL-2.0-only
//! The same bytes from both: an algorithm's object, interpreted, and its C file, compiled for this machine.

use ccctl_sim::checks::interpreter_agrees;
use ccctl_sim::Program;

use crate::every_history::for_algorithm;

const CASES: u32 = 48;

/// Windows, credit and state after every event of random histories, with random parameters.
#[test]
fn the_interpreter_gives_what_native_code_gives_call_by_call() {
    for algorithm in ccctl_catalog::algorithms() {
        let program = Program::of_object(algorithm).unwrap_or_else(|error| panic!("{error}"));
        for_algorithm(algorithm, CASES, |history| interpreter_agrees(program, history));
    }
}
