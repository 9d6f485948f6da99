//! One file for each algorithm: how the module's private state is ours, and what differs on purpose.

mod bbr;
mod bic;
mod cdg;
mod cubic;
mod dctcp;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod lp;
mod nv;
mod rounds;
mod scalable;
mod vegas;
mod veno;
mod westwood;
mod yeah;

use crate::native::call;
use crate::replay::{Module, Ours, Trial};

/// How a rule explains a difference.
pub enum Kind {
    /// Changes what our hook is given to what the module acts on, if the difference applies to this call. Then our code has
    /// to give the module's answer exactly.
    Input(fn(&mut Trial<'_>) -> bool),
    /// Says whether the module's answer is the one that the difference predicts out of what our code does.
    Predict(fn(&Trial<'_>) -> bool),
}

/// How a reason for having no parameter begins.
pub const NO_PARAMETER: &str = "none: ";

/// A difference that is meant.
pub struct Rule {
    /// What the module does.
    pub module: &'static str,
    /// Why ours does otherwise.
    pub reason: &'static str,
    /// How to have the module's behaviour, or [`NO_PARAMETER`] and why nobody wants it.
    pub parameter: &'static str,
    /// How it explains a call.
    pub kind: Kind,
}

/// An algorithm and the module that it is held against.
pub struct Twin {
    /// Name of both.
    pub name: &'static str,
    /// Sets our state to the module's.
    pub map: fn(&Module<'_>, &mut Ours<'_>),
    /// What must hold of each of our answers, besides being the module's.
    pub law: Option<fn(&Trial<'_>) -> bool>,
    /// Changes arguments that the two take from different places.
    pub feed: Option<fn(&mut Trial<'_>)>,
    /// Fields of our state that are compared after a call of this hook.
    pub compared: &'static [(u32, &'static [&'static str])],
    /// The credit of additive increase is in our state and not in the socket.
    pub own_credit: bool,
    /// Calls that have no answer to compare, in addition to those of hooks that we do not have.
    pub skip: fn(&call) -> bool,
    /// A hook of the module that another one of ours answers.
    pub answered_by: Option<(u32, u32)>,
    /// Intended differences, those tried first that explain most.
    pub rules: &'static [Rule],
    /// Parameters of the second set that rules may ask for.
    pub other: &'static [(&'static str, &'static str)],
    /// What of the state is not replayed, and why.
    pub notes: &'static [&'static str],
}

impl Twin {
    /// Our hook for this one of the module's.
    pub fn answering(&self, hook: u32) -> u32 {
        self.answered_by.filter(|(theirs, _)| *theirs == hook).map_or(hook, |(_, ours)| ours)
    }

    /// Fields compared after a call of this hook.
    pub fn fields(&self, hook: u32) -> &'static [&'static str] {
        self.compared.iter().find(|(number, _)| *number == hook).map_or(&[], |(_, fields)| fields)
    }
}

/// No call is left out.
fn all(_: &call) -> bool {
    false
}

/// All of them, in the order of the documentation.
pub const TWINS: [&Twin; 16] = [
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
    module: "drops what an ACK has left over when slow start ends within it",
    reason: "each packet acknowledged counts once (RFC 3465)",
    parameter: "none: a packet at the end of a slow start",
    kind: Kind::Input(drop_leftover),
};
