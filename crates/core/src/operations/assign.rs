// SPDX-License-Identifier: MIT OR Apache-2.0
//! Setting a rule.

use ccctl_console::UsageError;
use ccctl_loader::{
    assign, parse_targets, preview_assign, AssignRequest, CgroupTree, Choice, Conditions, Moved, RuleContent,
    RuleParameters, SocketSetting, SocketSettings,
};
use clap::builder::{StringValueParser, TypedValueParser};
use clap::{ArgGroup, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::{OwnParameter, RuleInfo, RuleSetting};
use crate::counters::COUNTERS;
use crate::fence::Fence;
use crate::local_algorithms;
use crate::request;
use crate::rule_target::RuleTarget;
use crate::settings::{OwnSettings, Setting};
use crate::Operation;

/// Choose the algorithms and settings of the connections of a cgroup: named by one of `cgroup`, `unit` and `pid`.
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
    /// Only sockets with this mark (`SO_MARK`), or with these bits of it: 0x10 or 0x10/0xf0
    #[arg(long, value_name = "VALUE[/MASK]", value_parser = typed())]
    pub mark: Option<Setting>,
    /// Only sockets with this priority (`SO_PRIORITY`)
    #[arg(long, value_name = "N")]
    pub priority: Option<u32>,
    /// Only connections with an RTT above or below this: '>100ms' or '<5ms'; they get the rule when their handshake is done
    #[arg(long, value_name = "LIMIT")]
    pub rtt: Option<String>,
    /// Their algorithm: NAME, NAME|NAME... (the first that the kernel has), or NAME=WEIGHT,NAME=WEIGHT... (drawn for each
    /// connection); without, the rule sets what options name, and leaves the algorithm alone
    pub targets: Option<String>,
    /// Parameters of the algorithm for these connections alone: those that `show` lists as per connection
    #[serde(default)]
    #[command(flatten)]
    pub parameters: OwnSettings,
    /// Window with which they begin to send, in packets: 20; of new connections only
    #[arg(long, value_name = "PACKETS", value_parser = typed(), help_heading = SETTINGS)]
    pub initial_window: Option<Setting>,
    /// Shortest retransmission timeout, up to 200ms
    #[arg(long, value_name = "TIME", value_parser = typed(), help_heading = SETTINGS)]
    pub min_rto: Option<Setting>,
    /// Highest rate at which each is paced: 100mbit
    #[arg(long, value_name = "RATE", value_parser = typed(), help_heading = SETTINGS)]
    pub max_pacing_rate: Option<Setting>,
    /// Unsent bytes from which on the socket takes no more (`TCP_NOTSENT_LOWAT`): 128k
    #[arg(long, value_name = "SIZE", value_parser = typed(), help_heading = SETTINGS)]
    pub notsent_lowat: Option<Setting>,
    /// Longest time by which an ACK is delayed, up to 200ms
    #[arg(long, value_name = "TIME", value_parser = typed(), help_heading = SETTINGS)]
    pub max_delayed_ack: Option<Setting>,
    /// Ask for ECN in the SYN of connections that are made: on
    #[arg(long, value_name = "on", value_parser = typed(), help_heading = SETTINGS)]
    pub ecn: Option<Setting>,
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

const SETTINGS: &str = "Settings";

/// As a setting is typed; what it means is known to the setting.
pub(super) fn typed() -> impl TypedValueParser<Value = Setting> {
    StringValueParser::new().map(Setting::Text)
}

/// What was set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Assigned {
    /// The rule, as the kernel has it.
    pub rule: RuleInfo,
    /// What the rule for the same sockets gave before; it has kept its id.
    pub targets_before: Option<String>,
    /// What it set besides.
    #[serde(default)]
    pub settings_before: Vec<RuleSetting>,
    /// Parameters that it gave its connections.
    #[serde(default)]
    pub own_parameters_before: Vec<OwnParameter>,
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
    const TITLE: &'static str = "Choose the algorithms and settings of a cgroup's connections";

    fn changes(&self) -> bool {
        true
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn run(&self) -> anyhow::Result<Assigned> {
        let (cgroup, unit, dst) = (self.cgroup.as_deref(), self.unit.as_deref(), self.dst.as_deref());
        let conditions = Conditions::parse(self.mark.as_ref(), self.priority, self.rtt.as_deref())?;
        let target = RuleTarget { cgroup, unit, pid: self.pid, dst, port: self.port, conditions };
        let selector = target.selector(self.absent_ok)?;
        let cgroup_exists = CgroupTree::find()?.has(&selector.cgroup);
        local_algorithms::refresh();
        let settings = self.settings()?;
        conditions.require_in_time(&settings)?;
        let choices = match &self.targets {
            Some(targets) => parse_targets(targets, &[])?,
            None if settings.is_empty() => {
                let remedy = "name an algorithm, or a setting such as --min-rto 50ms, or both";
                return Err(UsageError::new("the rule would set nothing", remedy).into());
            }
            None => Vec::new(),
        };
        let names = choices.iter().flat_map(|choice| &choice.names);
        Fence::of_named(names)?.require_destination(&choices, selector.to)?;
        let parameters = self.parameters(&choices)?;
        let content = RuleContent { choices, settings, parameters };
        let wanted = AssignRequest { selector, content: &content, existing: self.existing };
        let assigned = if self.dry_run { preview_assign(&wanted)? } else { assign(&request::lock()?, &wanted)? };
        if self.existing && !self.dry_run {
            COUNTERS.moved(&assigned.moved);
        }
        let rule = RuleInfo::from(&assigned.rule);
        let before = assigned.before.as_ref().map(RuleInfo::from);
        Ok(Assigned {
            changed: before.as_ref() != Some(&rule),
            rule,
            targets_before: before.as_ref().map(|before| before.targets.clone()),
            own_parameters_before: before.as_ref().map(|before| before.own_parameters.clone()).unwrap_or_default(),
            settings_before: before.map(|before| before.settings).unwrap_or_default(),
            cgroup_exists,
            absent: assigned.absent,
            existing: self.existing.then_some(assigned.moved),
            dry_run: self.dry_run,
        })
    }
}

impl Assign {
    fn parameters(&self, choices: &[Choice]) -> anyhow::Result<RuleParameters> {
        let written = self.parameters.0.iter().map(|(key, value)| (key.as_str(), value.to_string()));
        let parameters = RuleParameters::parse(written, choices, &[])?;
        parameters.require_read()?;
        Ok(parameters)
    }

    fn settings(&self) -> anyhow::Result<SocketSettings> {
        Ok(SocketSettings::parse([
            (SocketSetting::InitialWindow, self.initial_window.as_ref()),
            (SocketSetting::MinRto, self.min_rto.as_ref()),
            (SocketSetting::MaxPacingRate, self.max_pacing_rate.as_ref()),
            (SocketSetting::NotsentLowat, self.notsent_lowat.as_ref()),
            (SocketSetting::MaxDelayedAck, self.max_delayed_ack.as_ref()),
            (SocketSetting::Ecn, self.ecn.as_ref()),
        ])?)
    }
}
