// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking rules out.

use ccctl_console::UsageError;
use ccctl_loader::{read_rules, remove_all, unassign, Error, Moved};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::RuleInfo;
use crate::request;
use crate::rule_target::RuleTarget;
use crate::Operation;

/// Take a rule out: by its id, by what it is for, or all.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unassign {
    /// Id of the rule.
    pub id: Option<u32>,
    /// All of them.
    #[serde(default)]
    pub all: bool,
    /// Path of the rule's cgroup, or name of a systemd unit.
    pub cgroup: Option<String>,
    /// Name of a systemd unit.
    pub unit: Option<String>,
    /// A process whose cgroup is meant.
    pub pid: Option<u32>,
    /// The rule's prefix.
    pub to: Option<String>,
    /// The rule's port.
    pub to_port: Option<u16>,
    /// Live connections that met the rule get what they match now, or what they had before.
    #[serde(default)]
    pub existing: bool,
}

/// What was taken out.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Unassigned {
    /// The rules, as they were.
    pub removed: Vec<RuleInfo>,
    /// What was done to live sockets, where that was asked for.
    pub existing: Option<Moved>,
}

impl Operation for Unassign {
    type Answer = Unassigned;
    const NAME: &'static str = "unassign";
    const TITLE: &'static str = "Take a rule out";

    fn changes(&self) -> bool {
        true
    }

    fn run(&self) -> anyhow::Result<Unassigned> {
        let by_selector = [self.cgroup.is_some(), self.unit.is_some(), self.pid.is_some()].contains(&true);
        let ways = [self.id.is_some(), self.all, by_selector].iter().filter(|way| **way).count();
        if ways != 1 || (!by_selector && (self.to.is_some() || self.to_port.is_some())) {
            return Err(
                UsageError::new("which rule?", "--id ID, --cgroup PATH with its --to and --to-port, or --all").into()
            );
        }
        let lock = request::lock()?;
        let (removed, moved) = if self.all {
            let (rules, moved) = remove_all(&lock, self.existing)?;
            (rules, moved)
        } else {
            let id = self.id.map_or_else(|| self.id_of_selector(), Ok)?;
            let (rule, moved) = unassign(&lock, id, self.existing)?;
            (vec![rule], moved)
        };
        let removed = removed.iter().map(RuleInfo::from).collect();
        Ok(Unassigned { removed, existing: self.existing.then_some(moved) })
    }
}

impl Unassign {
    fn id_of_selector(&self) -> anyhow::Result<u32> {
        let (cgroup, unit, to) = (self.cgroup.as_deref(), self.unit.as_deref(), self.to.as_deref());
        let selector = RuleTarget { cgroup, unit, pid: self.pid, to, to_port: self.to_port }.selector(true)?;
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
