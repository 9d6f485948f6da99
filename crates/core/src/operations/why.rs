// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a socket uses what it uses.

use std::net::SocketAddr;

use ccctl_console::UsageError;
use ccctl_loader::{
    why, EcnMode, Event, Explanation, Finding, MetSetting, Selector, SocketQuery, SocketSetting, Verdict,
};
use clap::{ArgGroup, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::OwnParameter;
use crate::Operation;

/// Tell why sockets use the algorithm that they use: one by its cookie, those with an address, or those of a process.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[group(skip)]
#[serde(deny_unknown_fields)]
#[command(group(ArgGroup::new("socket").required(true).args(["cookie", "src", "pid"])))]
pub struct Why {
    /// The socket with this cookie (`SO_COOKIE`), in decimal, or in hex with 0x (ss -e shows it in hex, after sk:)
    #[arg(long, value_parser = super::sockets::cookie)]
    pub cookie: Option<u64>,
    /// Sockets with this local address and port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub src: Option<SocketAddr>,
    /// Only with this peer
    #[arg(long, value_name = "ADDRESS:PORT", requires = "src")]
    pub dst: Option<SocketAddr>,
    /// All TCP sockets of this process
    #[arg(long)]
    pub pid: Option<u32>,
}

/// What there is to say of each.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// Each of the sockets.
    pub explanations: Vec<ExplainedSocket>,
}

/// All about one socket.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedSocket {
    /// `SO_COOKIE`.
    pub cookie: u64,
    /// Own end.
    pub source: SocketAddr,
    /// Other end; none for a listener.
    pub destination: Option<SocketAddr>,
    /// Network namespace.
    pub namespace: String,
    /// Path of its cgroup.
    pub cgroup: String,
    /// Was it accepted, or does it listen?
    pub passive: bool,
    /// What there is to say, the most important first.
    pub findings: Vec<Finding>,
    /// Id of the rule that is for it now.
    pub rule_id: Option<u32>,
    /// Every rule, and what became of it: first the one that won, then those that match, too.
    pub considered: Vec<ConsideredRule>,
    /// The rule that it met, and what it was given.
    pub met: Option<MetRule>,
    /// What the kernel says that it uses.
    pub now: UsedNow,
    /// What both sides agreed to on congestion marks; none for a listener.
    pub ecn_mode: Option<EcnMode>,
}

/// A rule, and what became of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConsideredRule {
    /// Its id.
    pub id: u32,
    /// For whom it is.
    pub selector: String,
    /// What it says.
    pub targets: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// What a socket remembers of its rule.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MetRule {
    /// The rule's id.
    pub rule_id: u32,
    /// When it met it.
    pub event: Event,
    /// How long ago, ms.
    pub ago_ms: u64,
    /// First name of the choice that it drew; empty: its rule left the algorithm alone.
    pub wanted: String,
    /// What it was given; none where the kernel refused all names, or the rule left the algorithm alone.
    pub given: Option<String>,
    /// Why it was not given `wanted`.
    pub cause: Option<String>,
    /// What it would use without rules; empty where no rule has set an algorithm.
    pub congestion_control_before: String,
    /// What rules have set besides.
    #[serde(default)]
    pub met_settings: Vec<MetSettingInfo>,
    /// Parameters that the connection has of its own, in the order of their declaration.
    #[serde(default)]
    pub own_parameters: Vec<OwnParameter>,
}

/// What came of one setting. Values are in `unit`; what ends in `_text` is as people write it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MetSettingInfo {
    /// Which.
    pub setting: SocketSetting,
    /// Unit of the values: `pkts`, `us`, `bytes/s`, `bytes`; empty of ECN.
    pub unit: String,
    /// What its rule said, in `unit`.
    pub wanted_value: u32,
    /// The same as text.
    pub wanted_text: String,
    /// What the socket would have without rules; 4294967295 of a pacing rate: no limit; 0 of `notsent_lowat`: that of its
    /// namespace.
    pub before_value: u32,
    /// The same as text.
    pub before_text: String,
    /// What the kernel made of it: it rounds times up to its ticks. Of ECN 1 where the SYN asked for it.
    pub given_value: u32,
    /// The same as text.
    pub given_text: String,
    /// What the kernel has now; none of what only a handshake can do.
    pub now_value: Option<u32>,
    /// The same as text.
    pub now_text: Option<String>,
    /// Has something else changed it since?
    pub is_changed_since: bool,
    /// Why the kernel refused it.
    pub cause: Option<String>,
}

impl From<MetSetting> for MetSettingInfo {
    fn from(met: MetSetting) -> Self {
        let text = |value| met.setting.format(value);
        Self {
            setting: met.setting,
            unit: met.setting.unit().to_owned(),
            wanted_value: met.wanted,
            wanted_text: text(met.wanted),
            before_value: met.before,
            before_text: text(met.before),
            given_value: met.given,
            given_text: text(met.given),
            now_value: met.now,
            now_text: met.now.map(text),
            is_changed_since: met.is_changed_since(),
            cause: met.refusal(),
        }
    }
}

/// What a socket uses.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UsedNow {
    /// Kernel name, as in `net.ipv4.tcp_congestion_control`.
    pub congestion_control: String,
    /// `struct_ops` map of its program; none for what is built into the kernel.
    pub map_id: Option<u32>,
    /// That of the instance of this name.
    pub current_map_id: Option<u32>,
    /// Is its program another one than the instance's, from before a swap or unload?
    pub is_on_old_program: bool,
}

impl Operation for Why {
    type Answer = Explained;
    const NAME: &'static str = "why";
    const TITLE: &'static str = "Explain why a socket uses its algorithm";

    fn changes(&self) -> bool {
        false
    }

    fn run(&self) -> anyhow::Result<Explained> {
        let query = match (self.cookie, self.src, self.pid) {
            (Some(cookie), None, None) if self.dst.is_none() => SocketQuery::Cookie(cookie),
            (None, Some(source), None) => SocketQuery::Addresses { source, destination: self.dst },
            (None, None, Some(pid)) if self.dst.is_none() => SocketQuery::Process(pid),
            _ => {
                return Err(UsageError::new("which socket?", "use --cookie C, --src A:P [--dst A:P], or --pid P").into())
            }
        };
        Ok(Explained { explanations: why(&query)?.into_iter().map(ExplainedSocket::from).collect() })
    }
}

impl From<Explanation> for ExplainedSocket {
    fn from(found: Explanation) -> Self {
        let considered = found.considered.into_iter().map(|(rule, verdict)| ConsideredRule {
            id: rule.id,
            selector: Selector::to_string(&rule.selector),
            targets: rule.content.to_string(),
            verdict,
        });
        let met = found.met.map(|met| MetRule {
            rule_id: met.rule,
            event: met.event,
            ago_ms: u64::try_from(met.ago.as_millis()).unwrap_or(u64::MAX),
            wanted: met.wanted,
            given: met.given,
            cause: met.error,
            congestion_control_before: met.before,
            met_settings: met.settings.into_iter().map(MetSettingInfo::from).collect(),
            own_parameters: met.parameters.iter().map(OwnParameter::from).collect(),
        });
        Self {
            cookie: found.cookie,
            source: found.source,
            destination: found.destination,
            namespace: found.namespace,
            cgroup: found.cgroup.to_string(),
            passive: found.passive,
            findings: found.findings,
            rule_id: found.rule,
            considered: considered.collect(),
            met,
            now: UsedNow {
                is_on_old_program: found.now.is_old_program(),
                congestion_control: found.now.algorithm,
                map_id: found.now.map_id,
                current_map_id: found.now.current_map_id,
            },
            ecn_mode: found.ecn_mode,
        }
    }
}
