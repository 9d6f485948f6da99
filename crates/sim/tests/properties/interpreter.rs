// SPDX-License-Identifier: GPL-2.0-only
//! The same bytes from both: an algorithm's object, interpreted, and its C file, compiled for this machine.

use std::sync::Arc;

use ccctl_sim::{Instance, Program};
use proptest::prelude::*;

use crate::every_history::for_algorithm;

const CASES: u32 = 48;

/// Windows, credit and state after every event of random histories, with random parameters.
#[test]
fn the_interpreter_gives_what_native_code_gives_call_by_call() {
    for algorithm in ccctl_catalog::algorithms() {
        let program = Program::of_object(algorithm).unwrap_or_else(|error| panic!("{error}"));
        for_algorithm(algorithm, CASES, |history| {
            let interpreted = Arc::new(Instance::of_program(program, &history.parameter_set()).expect("its own"));
            let mut native = history.flow(history.instance());
            let mut bytecode = history.flow(Arc::clone(&interpreted));
            for flow in [&mut native, &mut bytecode] {
                flow.seed(history.start_us);
            }
            for event in &history.events {
                history.apply(&mut native, *event);
                history.apply(&mut bytecode, *event);
                prop_assert_eq!(interpreted.fault(), None);
                prop_assert_eq!(native.seen(), bytecode.seen(), "{:?}", event);
            }
            Ok(())
        });
    }
}
