// SPDX-License-Identifier: GPL-2.0-only
//! An algorithm and the module that it is compared with: how states map, and what differs on purpose.

use crate::mutant::Mutant;
use crate::native::call;
use crate::trial::{Module, Ours, Trial};

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
pub struct Counterpart {
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
    /// Parameters for replays, on top of those of profile `linux`.
    pub replayed: &'static [(&'static str, &'static str)],
    /// Parameters of the second set that rules may ask for.
    pub other: &'static [(&'static str, &'static str)],
    /// Errors that the comparison has to catch.
    pub mutants: &'static [Mutant],
    /// What of the state is not replayed, and why.
    pub notes: &'static [&'static str],
}

impl Counterpart {
    /// Our hook for this one of the module's.
    pub fn answering(&self, hook: u32) -> u32 {
        self.answered_by.filter(|(theirs, _)| *theirs == hook).map_or(hook, |(_, ours)| ours)
    }

    /// Fields compared after a call of this hook.
    pub fn fields(&self, hook: u32) -> &'static [&'static str] {
        self.compared.iter().find(|(number, _)| *number == hook).map_or(&[], |(_, fields)| fields)
    }
}
