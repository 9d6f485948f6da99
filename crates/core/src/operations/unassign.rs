// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking rules out.

use ccctl_console::UsageError;
use ccctl_loader::{preview_unassign, read_rules, remove_all, unassign, Conditions, Error, Moved};
use clap::{ArgGroup, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assign::typed;
use super::rules::RuleInfo;
use crate::request;
use crate::rule_target::RuleTarget;
use crate::settings::Setting;
use crate::Operation;

/// Take a rule out: by its id, by what it is for, or all.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
#[command(group(ArgGroup::new("rule").required(true).args(["id", "all", "cgroup", "unit", "pid"])))]
pub struct Unassign {
    /// The rule with this id
    #[arg(long)]
    pub id: Option<u32>,
    /// All rules
    #[serde(default)]
    #[arg(long)]
    pub all: bool,
    /// The rule for this cgroup: its path, or the name of a systemd unit
    #[arg(long, value_name = "PATH|UNIT")]
    pub cgroup: Option<String>,
    /// The rule for the cgroup of this systemd unit
    #[arg(long)]
    pub unit: Option<String>,
    /// The rule for the cgroup that contains this process
    #[arg(long)]
    pub pid: Option<u32>,
    /// The rule's prefix
    #[arg(long, value_name = "CIDR", conflicts_with_all = ["id", "all"])]
    pub dst: Option<String>,
    /// The rule's port
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with_all = ["id", "all"])]
    pub port: Option<u16>,
    /// The rule's mark
    #[arg(long, value_name = "VALUE[/MASK]", value_parser = typed(), conflicts_with_all = ["id", "all"])]
    pub mark: Option<Setting>,
    /// The rule's priority
    #[arg(long, value_name = "N", conflicts_with_all = ["id", "all"])]
    pub priority: Option<u32>,
    /// The rule's RTT
    #[arg(long, value_name = "LIMIT", conflicts_with_all = ["id", "all"])]
    pub rtt: Option<String>,
    /// Also move live connections that the rule has matched: to what they match now, or to what they had before
    #[serde(default)]
    #[arg(long)]
    pub existing: bool,
    /// Only print what would change
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
}

/// What was removed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Unassigned {
    /// The rules, as they were.
    pub removed: Vec<RuleInfo>,
    /// What was done to live sockets, if that was requested.
    pub existing: Option<Moved>,
    /// Was it only printed, and nothing changed?
    #[serde(default)]
    pub dry_run: bool,
}

impl Operation for Unassign {
    type Answer = Unassigned;
    const NAME: &'static str = "unassign";
    const TITLE: &'static str = "Remove a rule";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<Unassigned> {
        let by_selector = [self.cgroup.is_some(), self.unit.is_some(), self.pid.is_some()].contains(&true);
        let conditions = [self.mark.is_some(), self.priority.is_some(), self.rtt.is_some()];
        let narrows = [&[self.dst.is_some(), self.port.is_some()][..], &conditions].concat();
        let ways = [self.id.is_some(), self.all, by_selector].iter().filter(|way| **way).count();
        if ways != 1 || (!by_selector && narrows.contains(&true)) {
            return Err(UsageError::new(
                "which rule?",
                "use --id ID, --cgroup PATH with its --dst, --port and other selectors, or --all",
            )
            .into());
        }
        let id = if self.all { None } else { Some(self.id.map_or_else(|| self.id_of_selector(), Ok)?) };
        let (removed, moved) = match id {
            _ if self.dry_run => preview_unassign(id)?,
            None => remove_all(&request::lock()?, self.existing)?,
            Some(id) => {
                let (rule, moved) = unassign(&request::lock()?, id, self.existing)?;
                (vec![rule], moved)
            }
        };
        let removed = removed.iter().map(RuleInfo::from).collect();
        Ok(Unassigned { removed, existing: self.existing.then_some(moved), dry_run: self.dry_run })
    }
}

impl Unassign {
    fn id_of_selector(&self) -> anyhow::Result<u32> {
        let (cgroup, unit, dst) = (self.cgroup.as_deref(), self.unit.as_deref(), self.dst.as_deref());
        let conditions = Conditions::parse(self.mark.as_ref(), self.priority, self.rtt.as_deref())?;
        let target = RuleTarget { cgroup, unit, pid: self.pid, dst, port: self.port, conditions };
        let selector = target.selector(true)?;
        let table = read_rules()?;
        if let Some(rule) = table.rule_for(&selector) {
            return Ok(rule.id);
        }
        let similar = table.rules().iter().find(|rule| rule.selector.cgroup == selector.cgroup);
        let hint = match similar {
            Some(rule) => format!("there is rule {} for {}", rule.id, rule.selector),
            None => "ccctl rules lists them".to_owned(),
        };
        Err(Error::Unknown { kind: "rule for", name: selector.to_string(), hint }.into())
    }
}
