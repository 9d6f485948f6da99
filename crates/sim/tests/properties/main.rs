// SPDX-License-Identifier: GPL-2.0-only
//! What holds for every algorithm, whatever happens and whatever its parameters: `ccctl_sim::checks`, on random histories of all
//! that the catalogue has. The properties of single laws are in `laws.rs` and, of those that go
//! by delay, in `delay_laws.rs` and `low_priority.rs`. Numbers (prop-0, ...) are those of the vectors.
//!
//! prop-2, no intermediate overflows, is held by these tests under the sanitizers: `scripts/test-sanitized`. There every
//! unsigned wrap in the C code is a failure, but for functions marked `CC_WRAPS`.

mod delay_laws;
mod every_history;
mod interpreter;
mod laws;
mod linux_counting;
mod low_priority;

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::Algorithm;
use ccctl_sim::checks::{kept_of_the_syn, PROPERTIES};
use ccctl_sim::{Ack, Flow, Instance};

use every_history::for_every_algorithm;

const CASES: u32 = 256;

/// A test per property, so that one that fails has a name.
macro_rules! holds {
    ($($test:ident: $name:literal, $cases:expr;)*) => {$(
        #[test]
        fn $test() {
            let property = PROPERTIES.iter().find(|property| property.name == $name).expect("a property");
            for_every_algorithm($cases, property.holds);
        }
    )*
        const TESTED: &[&str] = &[$($name),*];
    };
}

holds! {
    windows_stay_in_their_bounds: "window-bounds", CASES;
    unused_windows_do_not_grow: "unused-window", CASES;
    one_round_has_one_reduction: "one-reduction", CASES;
    an_undone_loss_gives_the_window_back: "undo", CASES;
    flows_do_not_disturb_each_other: "own-state", CASES / 2;
    a_start_after_a_pause_is_the_same_to_every_kernel: "start-after-pause", CASES / 4;
}

#[test]
fn every_property_has_a_test() {
    let all: Vec<&str> = PROPERTIES.iter().map(|property| property.name).collect();
    assert_eq!(all, TESTED);
}

/// Linux's algorithms begin with nothing, too, but for Hybla, whose growth is set by the RTT of the handshake (`tcp_hybla.c`,
/// `hybla_init`).
#[test]
fn what_the_ack_of_the_syn_has_told_is_forgotten_by_init() {
    for algorithm in ccctl_catalog::algorithms().iter().map(Algorithm::name) {
        assert_eq!(kept_of_the_syn(algorithm).is_some(), algorithm == "hybla", "{algorithm}");
    }
    let mut flow = Flow::open_connection(Arc::new(Instance::with_defaults("hybla").expect("it exists")));
    flow.advance(Duration::from_millis(20));
    flow.acked(&Ack::of(1, Some(Duration::from_millis(20))));
    flow.established();
    assert_eq!(flow.state("min_rtt_us"), Some(20_000));
}

/// The native build and the BPF object are made of one source: their defaults agree.
#[test]
fn native_defaults_are_those_of_the_catalogue() {
    for algorithm in ccctl_catalog::algorithms() {
        let instance = Instance::with_defaults(algorithm.name()).expect("it exists");
        let declared: Vec<u32> = instance.layout().parameters.iter().map(|parameter| parameter.default).collect();
        assert_eq!(instance.native_defaults(), declared, "{}", algorithm.name());
    }
}
