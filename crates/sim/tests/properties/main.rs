// SPDX-License-Identifier: GPL-2.0-only
//! What holds for every algorithm, whatever happens and whatever its parameters: checked on random histories of all that
//! the catalogue has. The properties of single laws are in `laws.rs` and, of those that go
//! by delay, in `delay_laws.rs` and `low_priority.rs`. Numbers (prop-0, ...) are those of the vectors.
//!
//! prop-2, no intermediate overflows, is held by these tests under the sanitizers: `scripts/test-sanitized`. There every
//! unsigned wrap in the C code is a failure, but for functions marked `CC_WRAPS`.

mod delay_laws;
mod history;
mod interpreter;
mod laws;
mod linux_counting;
mod low_priority;

use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::kernel::CC_CWND_MAX_PKTS;
use ccctl_catalog::Algorithm;
use ccctl_sim::native::STATE_BYTES;
use ccctl_sim::{Ack, Flow, Instance};
use proptest::prelude::*;

use history::{for_every_algorithm, Event, History};

const CASES: u32 = 256;
const OPEN: u8 = 0;

/// All that can be seen of a flow: cwnd, ssthresh, credit, state.
type Seen = (u32, u32, u32, [u8; STATE_BYTES]);

fn seen(flow: &Flow) -> Seen {
    (flow.cwnd_pkts(), flow.ssthresh_pkts(), flow.cwnd_cnt_pkts(), flow.state_bytes())
}

/// prop-0, and prop-1 on the way
#[test]
fn windows_stay_in_their_bounds_and_unused_ones_do_not_grow() {
    for_every_algorithm(CASES, |history| {
        let mut flow = history.flow(history.instance());
        for event in &history.events {
            let before = flow.cwnd_pkts();
            history.apply(&mut flow, *event);
            prop_assert!((1..=CC_CWND_MAX_PKTS).contains(&flow.cwnd_pkts()), "{event:?}: cwnd {}", flow.cwnd_pkts());
            prop_assert!(flow.ssthresh_pkts() >= 2, "{event:?}: ssthresh {}", flow.ssthresh_pkts());
            let unused = matches!(event, Event::Ack { cwnd_limited: false, .. });
            if unused && !flow.controls_cwnd() && !grows_unused(history) {
                prop_assert!(flow.cwnd_pkts() <= before, "{before} grew to {}, unused", flow.cwnd_pkts());
            }
        }
        Ok(())
    });
}

/// Linux's Vegas grows in slow start whether the window was filled or not, and so does ours where it is to be as Linux
/// (`linux_counting::vegas_of_linux_grows_in_slow_start_also_where_the_window_is_not_filled`).
fn grows_unused(history: &History) -> bool {
    let layout = ccctl_catalog::algorithm("vegas").expect("it exists").layout();
    let place = layout.parameters.iter().position(|parameter| parameter.name == "linux_counting").expect("it exists");
    history.algorithm == "vegas" && history.parameters[place] != 0
}

/// prop-3, after any history
#[test]
fn an_undone_loss_gives_the_window_back() {
    for_every_algorithm(CASES, |history| {
        let mut flow = history.flow(history.instance());
        for event in &history.events {
            history.apply(&mut flow, *event);
        }
        if flow.ca_state() != OPEN {
            flow.undone();
        }
        let before = flow.cwnd_pkts();
        flow.lost();
        flow.set_cwnd(before.min(flow.ssthresh_pkts()));
        flow.undone();
        prop_assert_eq!(flow.cwnd_pkts(), before);
        flow.timed_out();
        flow.undone();
        prop_assert_eq!(flow.cwnd_pkts(), before);
        Ok(())
    });
}

/// Parameters and tables are a flow's own: two flows of an algorithm that take turns in one thread end as each does in
/// a thread of its own, where no other has left anything.
#[test]
fn flows_do_not_disturb_each_other() {
    for_every_algorithm(CASES / 2, |history| {
        let other = History { parameters: default_parameters(history.algorithm), ..history.clone() };
        let alone = [history, &other].map(|history| in_a_thread(|| seen_in_turns(&[history])));
        let together = in_a_thread(|| seen_in_turns(&[history, &other]));
        prop_assert_eq!(alone.concat(), together);
        Ok(())
    });
}

/// Runs histories of the same events, event by event in turns.
fn seen_in_turns(histories: &[&History]) -> Vec<Seen> {
    let mut flows: Vec<Flow> = histories.iter().map(|history| history.flow(history.instance())).collect();
    for event in &histories[0].events {
        for (history, flow) in histories.iter().zip(&mut flows) {
            history.apply(flow, *event);
        }
    }
    flows.iter().map(seen).collect()
}

fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().expect("no panic"))
}

fn default_parameters(algorithm: &str) -> Vec<u32> {
    let declared = ccctl_catalog::algorithm(algorithm).expect("it exists").layout().parameters;
    declared.iter().map(|parameter| parameter.default).collect()
}

/// Kernel 7.1 calls a hook where the kernels before it send an event.
#[test]
fn a_start_after_a_pause_is_the_same_to_every_kernel() {
    for_every_algorithm(CASES / 4, |history| {
        let (mut by_hook, mut by_event) = (history.flow(history.instance()), history.flow(history.instance()));
        for event in &history.events {
            history.apply(&mut by_hook, *event);
            if let Event::Idle { time_us } = event {
                by_event.advance(Duration::from_micros(*time_us));
                by_event.tx_started_event();
            } else {
                history.apply(&mut by_event, *event);
            }
            prop_assert_eq!(seen(&by_hook), seen(&by_event));
        }
        Ok(())
    });
}

/// A SYN is smaller than packets with data: its RTT is no base RTT of theirs, and no round of it counts. Linux's algorithms
/// begin with nothing, too, but for Hybla, whose growth is set by the RTT of the handshake (`tcp_hybla.c`, `hybla_init`).
#[test]
fn what_the_ack_of_the_syn_has_told_is_forgotten_by_init() {
    let syn_rtt = Duration::from_millis(20);
    for algorithm in ccctl_catalog::algorithms().iter().map(Algorithm::name) {
        let mut flow = Flow::open_connection(Arc::new(Instance::with_defaults(algorithm).expect("it exists")));
        flow.advance(syn_rtt);
        flow.acked(&Ack::of(1, Some(syn_rtt)));
        flow.set_cwnd(10);
        flow.established();
        if algorithm == "hybla" {
            assert_eq!(flow.state("min_rtt_us"), Some(20_000));
            continue;
        }
        let state = flow.state_bytes();
        flow.restart();
        assert_eq!(state, flow.state_bytes(), "{algorithm}");
    }
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
