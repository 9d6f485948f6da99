// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules in force.

use ccctl_loader::{format_choices, read_rules, rule_usage, CgroupTree, Rule, RuleParameter, SocketSetting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Operation;

/// List the rules.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rules {}

/// All rules, by id.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RuleList {
    /// Each of them.
    pub rules: Vec<ListedRule>,
}

/// A rule and its use.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListedRule {
    /// The rule.
    #[serde(flatten)]
    pub rule: RuleInfo,
    /// Is there a cgroup of this path now?
    pub cgroup_exists: bool,
    /// Live sockets that have matched it, listening ones included.
    pub socket_count: usize,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleInfo {
    /// Its number, which stays the same while the rule exists.
    pub id: u32,
    /// Path of its cgroup.
    pub cgroup: String,
    /// Prefix of the peer's address; none: any peer.
    pub dst: Option<String>,
    /// Port of the service; none: any.
    pub port: Option<u16>,
    /// Mark of the socket, `0x10`, or some bits of it, `0x10/0xf0`; none: any.
    #[serde(default)]
    pub mark: Option<String>,
    /// Priority of the socket; none: any.
    #[serde(default)]
    pub priority: Option<u32>,
    /// RTT of the connection, `>100ms` or `<5ms`; none: any.
    #[serde(default)]
    pub rtt: Option<String>,
    /// The algorithm that connections get, as one types it; empty: the rule leaves it alone.
    pub targets: String,
    /// The same, parsed.
    pub choices: Vec<ChoiceInfo>,
    /// What it sets besides.
    #[serde(default)]
    pub settings: Vec<RuleSetting>,
    /// Parameters that its connections have of their own, in the order of their declaration.
    #[serde(default)]
    pub own_parameters: Vec<OwnParameter>,
}

/// A parameter that connections of a rule have of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnParameter {
    /// Name.
    pub name: String,
    /// The value as people write it.
    pub value_text: String,
}

impl From<&RuleParameter> for OwnParameter {
    fn from(parameter: &RuleParameter) -> Self {
        Self { name: parameter.name.clone(), value_text: parameter.value.clone() }
    }
}

/// What a rule sets besides the algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleSetting {
    /// Which.
    pub setting: SocketSetting,
    /// Its value, in `unit`.
    pub setting_value: u32,
    /// Unit of the value: `pkts`, `us`, `bytes/s`, `bytes`; empty of ECN.
    pub unit: String,
    /// The value as people write it.
    pub value_text: String,
}

impl RuleInfo {
    /// What it asks of a socket besides its cgroup, peer and port: `mark 0x10 priority 6 rtt >100ms`; empty: nothing.
    #[must_use]
    pub fn conditions(&self) -> String {
        let mark = self.mark.as_ref().map(|mark| format!("mark {mark}"));
        let priority = self.priority.map(|priority| format!("priority {priority}"));
        let rtt = self.rtt.as_ref().map(|rtt| format!("rtt {rtt}"));
        [mark, priority, rtt].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// All that it gives, in one line: `bpf_yeah|cubic, min_rto=50ms`.
    #[must_use]
    pub fn gives(&self) -> String {
        gives(&self.targets, &self.own_parameters, &self.settings)
    }
}

/// Targets with their parameters, and settings, in one line.
#[must_use]
pub fn gives(targets: &str, parameters: &[OwnParameter], settings: &[RuleSetting]) -> String {
    let own: Vec<String> = parameters.iter().map(|one| format!("{}={}", one.name, one.value_text)).collect();
    let targets = [targets.to_owned(), own.join(" ")].join(" ");
    let settings: Vec<String> =
        settings.iter().map(|one| format!("{}={}", one.setting.key(), one.value_text)).collect();
    let parts = [targets.trim().to_owned(), settings.join(" ")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// One alternative of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChoiceInfo {
    /// Kernel names: the first that the kernel has is given.
    pub congestion_controls: Vec<String>,
    /// Its share, relative to the other weights.
    pub weight: u32,
}

impl From<&Rule> for RuleInfo {
    fn from(rule: &Rule) -> Self {
        let choices = rule.content.choices.iter();
        let conditions = rule.selector.conditions;
        Self {
            id: rule.id,
            cgroup: rule.selector.cgroup.to_string(),
            dst: rule.selector.to.map(|prefix| prefix.to_string()),
            port: rule.selector.to_port,
            mark: conditions.mark.map(|mark| mark.to_string()),
            priority: conditions.priority,
            rtt: conditions.rtt.map(|limit| limit.to_string()),
            targets: format_choices(&rule.content.choices),
            choices: choices
                .map(|choice| ChoiceInfo { congestion_controls: choice.names.clone(), weight: choice.weight })
                .collect(),
            settings: rule.content.settings.iter().map(RuleSetting::from).collect(),
            own_parameters: rule.content.parameters.iter().map(OwnParameter::from).collect(),
        }
    }
}

impl From<(SocketSetting, u32)> for RuleSetting {
    fn from((setting, value): (SocketSetting, u32)) -> Self {
        Self { setting, setting_value: value, unit: setting.unit().to_owned(), value_text: setting.format(value) }
    }
}

impl Operation for Rules {
    type Answer = RuleList;
    const NAME: &'static str = "rules";
    const TITLE: &'static str = "List the rules, and how many sockets each has matched";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<RuleList> {
        let table = read_rules()?;
        let usage = rule_usage()?;
        let tree = CgroupTree::find().ok();
        let listed = |rule: &Rule| ListedRule {
            rule: rule.into(),
            cgroup_exists: tree.as_ref().is_some_and(|tree| tree.has(&rule.selector.cgroup)),
            socket_count: usage.get(&rule.id).copied().unwrap_or(0),
        };
        Ok(RuleList { rules: table.rules().iter().map(listed).collect() })
    }
}
