// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which rule wins, from the rules themselves: what `ccctl why` tells, and what the compiled maps are tested against.

use std::cmp::Reverse;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cgroup::CgroupPath;
use super::conditions::{Attributes, ConditionsRank, Unmet};
use super::table::{Rule, RuleTable, Selector};

/// What rules look at.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Cgroup of the socket.
    pub cgroup: CgroupPath,
    /// The other end; a listener has none.
    pub peer: Option<IpAddr>,
    /// The peer's port of a connection made, the own port of one accepted.
    pub service_port: u16,
    /// What conditions look at.
    pub attributes: Attributes,
}

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It applies.
    Won,
    /// It is for another cgroup.
    OtherCgroup,
    /// It is for other peers.
    OtherPeer,
    /// It is for another port.
    OtherPort,
    /// It is for another mark.
    OtherMark,
    /// It is for another priority.
    OtherPriority,
    /// It is for another RTT, or the RTT is not known yet.
    OtherRtt,
    /// It matches, and one for a cgroup nearer to the socket does too.
    WiderCgroup,
    /// It matches, and one of the same cgroup with a longer prefix does too.
    WiderPrefix,
    /// It matches, and one of the same cgroup and prefix that names the port does too.
    AnyPort,
    /// It matches, and one of the same cgroup, prefix and port with more conditions does too, or with as many that are narrower
    /// or older.
    WeakerConditions,
}

/// Greater is more specific: the cgroup, the prefix, the port, the conditions, and of equal ones the older.
type Rank = (usize, Option<u8>, bool, ConditionsRank, Reverse<u32>);

impl Rule {
    /// What keeps it from matching.
    fn mismatch(&self, flow: &Flow) -> Option<Verdict> {
        let selector = &self.selector;
        if !selector.cgroup.covers(&flow.cgroup) {
            return Some(Verdict::OtherCgroup);
        }
        if selector.to.is_some_and(|to| !flow.peer.is_some_and(|peer| to.contains(peer))) {
            return Some(Verdict::OtherPeer);
        }
        if selector.to_port.is_some_and(|port| port != flow.service_port) {
            return Some(Verdict::OtherPort);
        }
        selector.conditions.unmet(&flow.attributes).map(|unmet| match unmet {
            Unmet::Mark => Verdict::OtherMark,
            Unmet::Priority => Verdict::OtherPriority,
            Unmet::Rtt => Verdict::OtherRtt,
        })
    }

    fn rank(&self) -> Rank {
        let Selector { cgroup, to, to_port, conditions } = &self.selector;
        let depth = cgroup.components().count();
        (depth, to.map(|to| to.bits()), to_port.is_some(), conditions.rank(), Reverse(self.id))
    }
}

/// All rules with what became of each: the winner first, then those that it outranks, then those that do not match.
#[must_use]
pub fn consider<'a>(table: &'a RuleTable, flow: &Flow) -> Vec<(&'a Rule, Verdict)> {
    let (mut matching, others): (Vec<&Rule>, Vec<&Rule>) =
        table.rules().iter().partition(|rule| rule.mismatch(flow).is_none());
    matching.sort_by_key(|rule| Reverse(rule.rank()));
    let winner = matching.first().map(|rule| rule.rank());
    let outcome = |rule: &Rule| match (winner, rule.rank()) {
        (Some(best), own) if best == own => Verdict::Won,
        (Some(best), own) if best.0 != own.0 => Verdict::WiderCgroup,
        (Some(best), own) if best.1 != own.1 => Verdict::WiderPrefix,
        (Some(best), own) if best.2 != own.2 => Verdict::AnyPort,
        _ => Verdict::WeakerConditions,
    };
    let matching = matching.into_iter().map(|rule| (rule, outcome(rule)));
    let others = others.into_iter().filter_map(|rule| Some((rule, rule.mismatch(flow)?)));
    matching.chain(others).collect()
}
