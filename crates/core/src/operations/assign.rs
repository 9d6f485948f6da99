// SPDX-License-Identifier: MIT OR Apache-2.0
//! Setting a rule.

use ccctl_loader::{assign, AssignRequest, CgroupTree, Moved};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::RuleInfo;
use crate::counters::COUNTERS;
use crate::request;
use crate::rule_target::RuleTarget;
use crate::Operation;

/// Choose the algorithms of the connections of a cgroup: named by one of `cgroup`, `unit` and `pid`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assign {
    /// Path of the cgroup, or name of a systemd unit.
    pub cgroup: Option<String>,
    /// Name of a systemd unit.
    pub unit: Option<String>,
    /// A process whose cgroup is meant.
    pub pid: Option<u32>,
    /// Only connections with peers in this prefix.
    pub to: Option<String>,
    /// Only of this service: the peer's port of connections made, the own port of connections accepted.
    pub to_port: Option<u16>,
    /// What they get: `yeah`, `yeah|cubic` (the first that the kernel has), `yeah=10,cubic=90` (by weight).
    pub targets: String,
    /// Also those that are alive.
    #[serde(default)]
    pub existing: bool,
    /// The cgroup may be missing now.
    #[serde(default)]
    pub absent_ok: bool,
}

/// What was set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Assigned {
    /// The rule, as the kernel has it.
    pub rule: RuleInfo,
    /// What the rule for the same sockets said before; it has kept its id.
    pub targets_before: Option<String>,
    /// Does the rule say anything that it did not say before?
    pub changed: bool,
    /// Is there a cgroup of this path now?
    pub cgroup_exists: bool,
    /// Names that the kernel does not have now.
    pub absent: Vec<String>,
    /// What was done to live sockets, where that was asked for.
    pub existing: Option<Moved>,
}

impl Operation for Assign {
    type Answer = Assigned;
    const NAME: &'static str = "assign";
    const TITLE: &'static str = "Choose the algorithms of a cgroup's connections";

    fn changes(&self) -> bool {
        true
    }

    fn run(&self) -> anyhow::Result<Assigned> {
        let (cgroup, unit, to) = (self.cgroup.as_deref(), self.unit.as_deref(), self.to.as_deref());
        let selector =
            RuleTarget { cgroup, unit, pid: self.pid, to, to_port: self.to_port }.selector(self.absent_ok)?;
        let cgroup_exists = CgroupTree::find()?.has(&selector.cgroup);
        let wanted = AssignRequest { selector, targets: &self.targets, existing: self.existing };
        let assigned = assign(&request::lock()?, &wanted)?;
        if self.existing {
            COUNTERS.moved(&assigned.moved);
        }
        let rule = RuleInfo::from(&assigned.rule);
        let targets_before = assigned.before.map(|rule| RuleInfo::from(&rule).targets);
        Ok(Assigned {
            changed: targets_before.as_ref() != Some(&rule.targets),
            rule,
            targets_before,
            cgroup_exists,
            absent: assigned.absent,
            existing: self.existing.then_some(assigned.moved),
        })
    }
}
