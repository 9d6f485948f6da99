// SPDX-License-Identifier: GPL-2.0-only
//! One file for each algorithm: how the module's private state is ours, and what differs on purpose.

mod bbr;
mod bic;
mod cdg;
mod cubic;
pub mod dctcp;
mod highspeed;
mod htcp;
pub mod hybla;
mod illinois;
mod lp;
mod nv;
mod rounds;
mod scalable;
pub mod vegas;
mod veno;
pub mod westwood;
mod yeah;

use crate::counterpart::{Counterpart, Kind, Rule};
use crate::native::call;
use crate::trial::Trial;

/// No call is left out.
fn all(_: &call) -> bool {
    false
}

/// All of them, in the order of the documentation.
pub const COUNTERPARTS: [&Counterpart; 16] = [
    &scalable::TWIN,
    &highspeed::TWIN,
    &bic::TWIN,
    &cubic::TWIN,
    &htcp::TWIN,
    &yeah::TWIN,
    &vegas::TWIN,
    &veno::TWIN,
    &westwood::TWIN,
    &illinois::TWIN,
    &hybla::TWIN,
    &lp::TWIN,
    &nv::TWIN,
    &cdg::TWIN,
    &dctcp::TWIN,
    &bbr::TWIN,
];

/// Linux's `tcp_cong_avoid_ai` with this divisor on a recorded socket: window and credit.
fn additive_increase(trial: &Trial<'_>, divisor: u32, acked: u32) -> (u32, u32) {
    let (mut cwnd, mut credit) = (trial.ours.tp.snd_cwnd, trial.ours.tp.snd_cwnd_cnt);
    let divisor = divisor.max(1);
    if credit >= divisor {
        credit = 0;
        cwnd += 1;
    }
    credit += acked;
    if credit >= divisor {
        cwnd += credit / divisor;
        credit %= divisor;
    }
    (cwnd.min(trial.ours.tp.snd_cwnd_clamp), credit)
}

/// Packets that slow start takes of those acked, and those left for congestion avoidance; None: not in slow start.
fn slow_start(trial: &Trial<'_>) -> Option<(u32, u32)> {
    let tp = &trial.ours.tp;
    let room = tp.snd_ssthresh.checked_sub(tp.snd_cwnd).filter(|room| *room > 0)?;
    let taken = trial.call.argument.min(room);
    Some((taken, trial.call.argument - taken))
}

/// What several modules do: slow start's leftover is dropped.
fn drop_leftover(trial: &mut Trial<'_>) -> bool {
    match slow_start(trial) {
        Some((taken, left)) if left > 0 => {
            trial.call.argument = taken;
            true
        }
        _ => false,
    }
}

const DROPPED_LEFTOVER: Rule = Rule {
    module: "drops what is left of an ACK when slow start ends within it",
    reason: "each packet acknowledged counts once (RFC 3465)",
    parameter: "none: a packet at the end of a slow start",
    kind: Kind::Input(drop_leftover),
};
