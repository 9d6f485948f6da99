// SPDX-License-Identifier: GPL-2.0-only
//! What `tcp_vegas.c`, `tcp_yeah.c` and `tcp_veno.c` share: base RTT, smallest RTT of the round, number of samples; ours is
//! `struct cc_rtt`. The two count samples in different states and begin anew at different events.

use crate::counterpart::{Kind, Rule};
use crate::native::{CALL_PKTS_ACKED, CALL_SET_STATE};
use crate::trial::{Ours, Trial};

const NONE: u64 = 0x7fff_ffff; // of the modules
const OPEN: u8 = 0;
const RECOVERY: u8 = 3;
const LOSS: u32 = 4;

/// A smallest RTT of the module as ours
pub fn rtt(us: u64) -> u64 {
    if us >= NONE {
        0
    } else {
        us
    }
}

/// Lets our code see the state in which it does what the module does with this flag.
pub fn set_doing(ours: &mut Ours<'_>, doing: bool) {
    ours.tp.inet_conn.set_icsk_ca_state(if doing { OPEN } else { RECOVERY });
}

/// The module adds a microsecond to each sample.
fn one_more_us(trial: &mut Trial<'_>) -> bool {
    let applies = trial.call.hook == CALL_PKTS_ACKED && trial.call.sample_rtt_us >= 0;
    if applies {
        trial.call.sample_rtt_us += 1;
    }
    applies
}

/// Ours begins a round in states in which the module only switches itself off, and learns the base anew after a timeout.
fn other_state(trial: &Trial<'_>) -> bool {
    trial.call.hook == CALL_SET_STATE
        && trial.call.argument == LOSS
        && trial.got.state[0] == 0
        && trial.equal_but(&["rtt.base_us", "rtt.round_min_us", "rtt.samples", "rtt.round_end_seq"])
}

pub const ONE_MORE_US: Rule = Rule {
    module: "adds 1 us to each RTT sample, to avoid division by 0",
    reason: "ours divides by no RTT that was not measured",
    parameter: "none: 1 us",
    kind: Kind::Input(one_more_us),
};

pub const RELEARN: Rule = Rule {
    module: "keeps its base RTT after a timeout",
    reason: "after a timeout nothing is known of the path: the base RTT is learned anew",
    parameter: "none: after a change of route a defect",
    kind: Kind::Predict(other_state),
};
