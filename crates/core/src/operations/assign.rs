// SPDX-License-Identifier: MIT OR Apache-2.0
//! Setting a rule.

use ccctl_loader::{assign, parse_targets, preview_assign, AssignRequest, CgroupTree, Moved};
use clap::{ArgGroup, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::RuleInfo;
use crate::counters::COUNTERS;
use crate::fence::Fence;
use crate::local_algorithms;
use crate::request;
use crate::rule_target::RuleTarget;
use crate::Operation;

/// Choose the algorithms of the connections of a cgroup: named by one of `cgroup`, `unit` and `pid`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
#[command(group(ArgGroup::new("place").required(true).args(["cgroup", "unit", "pid"])))]
pub struct Assign {
    /// Path of the cgroup from the root of the tree, or name of a systemd unit
    #[arg(long, value_name = "PATH|UNIT")]
    pub cgroup: Option<String>,
    /// The cgroup of this systemd unit
    #[arg(long)]
    pub unit: Option<String>,
    /// The cgroup that contains this process
    #[arg(long)]
    pub pid: Option<u32>,
    /// Only connections with peers in this prefix
    #[arg(long, value_name = "CIDR")]
    pub dst: Option<String>,
    /// Only this service port: remote port for outgoing connections, local port for accepted ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Their algorithm: NAME, NAME|NAME... (the first that the kernel has), or NAME=WEIGHT,NAME=WEIGHT... (drawn for each
    /// connection)
    pub targets: String,
    /// Also move live connections
    #[serde(default)]
    #[arg(long)]
    pub existing: bool,
    /// Accept a cgroup that does not exist yet
    #[serde(default)]
    #[arg(long)]
    pub absent_ok: bool,
    /// Only print what would change
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
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
    /// What was done to live sockets, where that was asked for; of a dry run `found` is at most so many.
    pub existing: Option<Moved>,
    /// Was it only printed, and nothing changed?
    #[serde(default)]
    pub dry_run: bool,
}

impl Operation for Assign {
    type Answer = Assigned;
    const NAME: &'static str = "assign";
    const TITLE: &'static str = "Choose the algorithms of a cgroup's connections";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<Assigned> {
        let (cgroup, unit, dst) = (self.cgroup.as_deref(), self.unit.as_deref(), self.dst.as_deref());
        let selector = RuleTarget { cgroup, unit, pid: self.pid, dst, port: self.port }.selector(self.absent_ok)?;
        let cgroup_exists = CgroupTree::find()?.has(&selector.cgroup);
        local_algorithms::refresh();
        let choices = parse_targets(&self.targets, &[])?;
        let names = choices.iter().flat_map(|choice| &choice.names);
        Fence::of_named(names)?.require_destination(&choices, selector.to)?;
        let wanted = AssignRequest { selector, choices: &choices, existing: self.existing };
        let assigned = if self.dry_run { preview_assign(&wanted)? } else { assign(&request::lock()?, &wanted)? };
        if self.existing && !self.dry_run {
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
            dry_run: self.dry_run,
        })
    }
}
