// SPDX-License-Identifier: GPL-2.0-only
//! What holds for every algorithm, whatever happens and whatever its parameters, checked on random histories. Numbers
//! (prop-0, ...) are those of the vectors.
//!
//! prop-2, no intermediate overflows, holds where these run under the sanitizers: there every unsigned wrap in the C code is a
//! failure, but for functions marked `CC_WRAPS`.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ccctl_catalog::kernel::CC_CWND_MAX_PKTS;
use ccctl_catalog::{is_impossible_window, Algorithm};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseResult, TestError, TestRng, TestRunner};

use super::history::{any_history, Event, History};
use crate::native::STATE_BYTES;
use crate::{Ack, Flow, Instance, Program};

const OPEN: u8 = 0;
/// ACKs of a round in which the window is reduced.
const ACKS_IN_REDUCTION: u32 = 4;

/// `prop_assert!` without the place in this file, which means nothing to users.
macro_rules! ensure {
    ($holds:expr, $($text:tt)*) => {
        if !$holds {
            return Err(TestCaseError::fail(format!($($text)*)));
        }
    };
}

/// Something that holds after every history.
pub struct Property {
    /// In a few words.
    pub name: &'static str,
    /// What holds.
    pub statement: &'static str,
    /// Fails where it does not.
    pub holds: fn(&History) -> TestCaseResult,
}

/// All of them.
pub const PROPERTIES: &[Property] = &[
    Property {
        name: "window-bounds",
        statement: "the window is 1 to 2^20 packets, and ssthresh 2 to 2^20 or infinite, after every event",
        holds: windows_stay_in_their_bounds,
    },
    Property {
        name: "unused-window",
        statement: "a window that was not filled does not grow",
        holds: an_unused_window_does_not_grow,
    },
    Property {
        name: "one-reduction",
        statement: "a loss, a congestion mark and a timeout of one round trip lower ssthresh once",
        holds: one_round_has_one_reduction,
    },
    Property {
        name: "undo",
        statement: "a reduction that is undone gives the window back",
        holds: an_undone_loss_gives_the_window_back,
    },
    Property {
        name: "own-state",
        statement: "two connections in turns end as each does alone",
        holds: flows_do_not_disturb_each_other,
    },
    Property {
        name: "start-after-pause",
        statement: "a start after a pause is the same to kernels before and since Linux 7.1",
        holds: a_start_after_a_pause_is_the_same_to_every_kernel,
    },
];

/// All that can be seen of a flow: cwnd, ssthresh, credit, state.
pub type Seen = (u32, u32, u32, [u8; STATE_BYTES]);

impl Flow {
    /// All that can be seen of it.
    #[must_use]
    pub fn seen(&self) -> Seen {
        (self.cwnd_pkts(), self.ssthresh_pkts(), self.cwnd_cnt_pkts(), self.state_bytes())
    }
}

/// A history after which a property does not hold: the shortest that was found.
#[derive(Debug, Clone)]
pub struct Broken {
    /// What was seen instead.
    pub reason: String,
    /// After what.
    pub history: Option<History>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        self.history.as_ref().map_or(Ok(()), |history| write!(f, "; shortest history: {history}"))
    }
}

/// Looks for a history of the algorithm after which `holds` fails, in so many cases. The same seed gives the same histories;
/// without one, they are others each time.
pub fn broken(
    algorithm: &'static Algorithm,
    cases: u32,
    seed: Option<u64>,
    holds: impl Fn(&History) -> TestCaseResult,
) -> Option<Broken> {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let shortest = RefCell::new(None);
    let mut runner = match seed {
        Some(seed) => TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed_bytes(seed))),
        None => TestRunner::new(config),
    };
    let result = runner.run(&any_history(algorithm), |history| {
        let result = holds(&history);
        if matches!(result, Err(TestCaseError::Fail(_))) {
            shortest.replace(Some(history));
        }
        result
    });
    match result {
        Ok(()) => None,
        Err(TestError::Fail(reason, history)) => {
            Some(Broken { reason: reason.message().to_owned(), history: Some(history) })
        }
        Err(TestError::Abort(reason)) => Some(Broken { reason: reason.message().to_owned(), history: shortest.take() }),
    }
}

/// As many as the generator asks for.
fn seed_bytes(seed: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}

/// prop-0
fn windows_stay_in_their_bounds(history: &History) -> TestCaseResult {
    let mut flow = history.flow(history.instance());
    for event in &history.events {
        history.apply(&mut flow, *event);
        ensure!((1..=CC_CWND_MAX_PKTS).contains(&flow.cwnd_pkts()), "{event}: cwnd {}", flow.cwnd_pkts());
        let ssthresh_pkts = flow.ssthresh_pkts();
        ensure!(ssthresh_pkts >= 2 && !is_impossible_window(ssthresh_pkts), "{event}: ssthresh {ssthresh_pkts}");
    }
    Ok(())
}

/// prop-1. An algorithm that sets its window at each ACK limits what it sends by a rate.
fn an_unused_window_does_not_grow(history: &History) -> TestCaseResult {
    let mut flow = history.flow(history.instance());
    for event in &history.events {
        let before = flow.cwnd_pkts();
        history.apply(&mut flow, *event);
        let unused = matches!(event, Event::Ack { cwnd_limited: false, .. });
        if unused && !flow.controls_cwnd() && !grows_unused(history) {
            ensure!(flow.cwnd_pkts() <= before, "{before} grew to {}, unused", flow.cwnd_pkts());
        }
    }
    Ok(())
}

/// Linux's Vegas grows in slow start whether the window was filled or not, and so does ours where it is to be as Linux.
fn grows_unused(history: &History) -> bool {
    history.algorithm == "vegas" && history.parameter_set().get("linux_counting").is_some_and(|value| value != 0)
}

/// The flow after the history, with nothing to be repaired.
fn settled(history: &History) -> Flow {
    let mut flow = history.flow(history.instance());
    for event in &history.events {
        history.apply(&mut flow, *event);
    }
    if flow.ca_state() != OPEN {
        flow.undone();
    }
    flow
}

/// The core asks for ssthresh once: what else an algorithm is told of the same round lowers it no further. One that sets its
/// window at each ACK has no use for ssthresh. The loss comes first: after a mark it may lower it again, as in Linux's DCTCP.
fn one_round_has_one_reduction(history: &History) -> TestCaseResult {
    let mut flow = settled(history);
    if flow.controls_cwnd() {
        return Ok(());
    }
    flow.lost();
    let asked = flow.ssthresh_pkts();
    let ack = Event::Ack { pkts: 1, delay_us: 0, sampled: true, cwnd_limited: true, ends_round: false };
    for event in [Event::Marked, Event::TimedOut] {
        for _ in 0..ACKS_IN_REDUCTION {
            history.apply(&mut flow, ack);
        }
        history.apply(&mut flow, event);
        ensure!(flow.ssthresh_pkts() >= asked, "{event}: ssthresh {asked} fell to {}", flow.ssthresh_pkts());
    }
    Ok(())
}

/// prop-3, after any history
fn an_undone_loss_gives_the_window_back(history: &History) -> TestCaseResult {
    let mut flow = settled(history);
    let before = flow.cwnd_pkts();
    flow.lost();
    flow.set_cwnd(before.min(flow.ssthresh_pkts()));
    flow.undone();
    ensure!(flow.cwnd_pkts() == before, "undone loss: {} packets, before it {before}", flow.cwnd_pkts());
    flow.timed_out();
    flow.undone();
    ensure!(flow.cwnd_pkts() == before, "undone timeout: {} packets, before it {before}", flow.cwnd_pkts());
    Ok(())
}

/// Parameters and tables are a flow's own: two flows of an algorithm that take turns in one thread end as each does in
/// a thread of its own, where no other has left anything.
fn flows_do_not_disturb_each_other(history: &History) -> TestCaseResult {
    let defaults = history.declared.iter().map(|parameter| parameter.default).collect();
    let other = History { parameters: defaults, ..history.clone() };
    let alone = [history, &other].map(|history| in_a_thread(|| seen_in_turns(&[history])));
    let together = in_a_thread(|| seen_in_turns(&[history, &other]));
    ensure!(alone.concat() == together, "connections share a value that is not in their sockets");
    Ok(())
}

/// Runs histories of the same events, event by event in turns.
fn seen_in_turns(histories: &[&History]) -> Vec<Seen> {
    let mut flows: Vec<Flow> = histories.iter().map(|history| history.flow(history.instance())).collect();
    for event in &histories[0].events {
        for (history, flow) in histories.iter().zip(&mut flows) {
            history.apply(flow, *event);
        }
    }
    flows.iter().map(Flow::seen).collect()
}

fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Kernel 7.1 calls a hook where the kernels before it send an event.
fn a_start_after_a_pause_is_the_same_to_every_kernel(history: &History) -> TestCaseResult {
    let (mut by_hook, mut by_event) = (history.flow(history.instance()), history.flow(history.instance()));
    for event in &history.events {
        history.apply(&mut by_hook, *event);
        if let Event::Idle { time_us } = event {
            by_event.advance(Duration::from_micros(*time_us));
            by_event.tx_started_event();
        } else {
            history.apply(&mut by_event, *event);
        }
        ensure!(by_hook.seen() == by_event.seen(), "{event}: cwnd_event_tx_start is not what cwnd_event does");
    }
    Ok(())
}

/// The same bytes from both: an algorithm's object, interpreted by `program`, and the program that runs have under its name.
/// Windows, credit and state are compared after every event.
pub fn interpreter_agrees(program: &'static Program, history: &History) -> TestCaseResult {
    let instance = Instance::of_program(program, &history.parameter_set());
    let interpreted = Arc::new(instance.map_err(|error| TestCaseError::fail(error.to_string()))?);
    let mut native = history.flow(history.instance());
    let mut bytecode = history.flow(Arc::clone(&interpreted));
    for flow in [&mut native, &mut bytecode] {
        flow.seed(history.start_us);
    }
    for event in &history.events {
        history.apply(&mut native, *event);
        history.apply(&mut bytecode, *event);
        if let Some(fault) = interpreted.fault() {
            return Err(TestCaseError::fail(fault));
        }
        let (native, bytecode) = (native.seen(), bytecode.seen());
        let windows = |seen: Seen| format!("cwnd {}, ssthresh {}, credit {}", seen.0, seen.1, seen.2);
        ensure!(native == bytecode, "{event}: natively {}, interpreted {}", windows(native), windows(bytecode));
    }
    Ok(())
}

/// What the ACK of the SYN has told is forgotten by `init`: a SYN is smaller than packets with data, its RTT is no base RTT of
/// theirs, and no round of it counts. Bytes of the state that `init` leaves otherwise than on a socket that is new.
#[must_use]
pub fn kept_of_the_syn(algorithm: &str) -> Option<String> {
    let syn_rtt = Duration::from_millis(20);
    let instance = Instance::with_defaults(algorithm).ok()?;
    let mut flow = Flow::open_connection(Arc::new(instance));
    flow.advance(syn_rtt);
    flow.acked(&Ack::of(1, Some(syn_rtt)));
    flow.set_cwnd(10);
    flow.established();
    let state = flow.state_bytes();
    flow.restart();
    (state != flow.state_bytes()).then(|| "init keeps what the ACK of the SYN has set: use CC_NEW_STATE".to_owned())
}
