// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a socket uses what it uses.

use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use ccctl_catalog::kernel::c_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cgroup::CgroupPath;
use super::conditions::Attributes;
use super::live::RuleSocket;
use super::matching::{consider, Flow, Verdict};
use super::parameters::{describe, RuleParameter};
use super::record::{rule_report, RULE_ACCEPT, RULE_CONNECT, RULE_ESTABLISHED, RULE_LISTEN};
use super::settings::{MetSetting, SocketSetting};
use super::table::{Rule, RuleTable};
use super::{assignment, now_ns, read_rules, Assignment as _};
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::own_params::{cc_own_values, CC_OWN_SOCKETS};
use crate::sockets::{reason, EcnMode};

const LISTENING: u8 = 10; // TCP_LISTEN
/// What programs leave a connection to that is not for them (`CC_CHANGE_TO`).
const LEFT_TO: &str = "reno";

/// Which sockets are asked about.
#[derive(Debug, Clone)]
pub enum SocketQuery {
    /// The one with this `SO_COOKIE`.
    Cookie(u64),
    /// Those with this own end, and this other end if it is given.
    Addresses {
        /// Own address and port.
        source: SocketAddr,
        /// The peer's.
        destination: Option<SocketAddr>,
    },
    /// All TCP sockets of a process.
    Process(u32),
}

/// When a socket met its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// When it connected, before the SYN.
    Connect,
    /// When it was accepted.
    Accept,
    /// When it began to listen.
    Listen,
    /// It was alive already, and `--existing` found it.
    Existing,
    /// When the handshake of a connection that was made was done, and its RTT known.
    Establish,
}

/// What a socket remembers of its rule.
#[derive(Debug, Clone)]
pub struct Met {
    /// The rule.
    pub rule: u32,
    /// When.
    pub event: Event,
    /// How long ago.
    pub ago: Duration,
    /// First name of the choice that it drew; empty: its rule left the algorithm alone.
    pub wanted: String,
    /// The name that it was given; None where the kernel refused all, or the rule left the algorithm alone.
    pub given: Option<String>,
    /// Why it was not given `wanted`.
    pub error: Option<String>,
    /// What it would use without rules; empty where no rule has set an algorithm.
    pub before: String,
    /// What rules have set besides.
    pub settings: Vec<MetSetting>,
    /// Parameters that it has of its own.
    pub parameters: Vec<RuleParameter>,
    /// Where these are not what its rule says, or not read.
    on_parameters: Option<Finding>,
}

impl Met {
    fn has_asked_for_ecn(&self) -> bool {
        self.settings.iter().any(|met| met.setting == SocketSetting::Ecn && met.given == 1)
    }
}

/// What the kernel says that it uses now.
#[derive(Debug, Clone)]
pub struct Now {
    /// Kernel name.
    pub algorithm: String,
    /// `struct_ops` map of its program; None where it is built into the kernel.
    pub map_id: Option<u32>,
    /// That of the instance of this name.
    pub current_map_id: Option<u32>,
}

impl Now {
    /// Does it use a program from before a swap, or of an instance that is gone?
    #[must_use]
    pub fn is_old_program(&self) -> bool {
        self.map_id.is_some() && self.map_id != self.current_map_id
    }
}

/// What there is to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It uses what its rule gave it.
    AsTheRuleSays,
    /// No rule is for it.
    NoRule,
    /// A rule is for it, but it has not met one: it is older than the rule.
    OlderThanRule,
    /// A rule is for it, and its option memory is full: what it was given by a rule, if anything, it cannot remember.
    CannotRemember,
    /// It met a rule that is gone.
    RuleGone,
    /// It met a rule, and another one is for it now.
    OtherRuleNow,
    /// Its rule has other choices now than the one that it drew.
    ChoiceGone,
    /// It was given a later name of its choice's list, since the kernel refused the first.
    FellBack,
    /// The kernel refused all names of its choice.
    Refused,
    /// Something else has changed its algorithm since.
    ChangedSince,
    /// Its rule has other settings now than those that it was given.
    SettingsGone,
    /// The kernel refused a setting.
    SettingRefused,
    /// Something else has changed a setting since.
    SettingChangedSince,
    /// Its rule has other parameters now than those that it was given.
    ParametersGone,
    /// Its parameters are for a program that declares others than the one that it uses.
    ParametersUnread,
    /// It uses a program from before a swap or unload.
    OldProgram,
    /// Its algorithm, or the one that it was given and that left it, needs ECN, and both ends did not agree on it.
    NoEcn,
    /// Its rule asked for ECN, and the peer did not agree.
    EcnNotAgreed,
}

/// All about one socket.
#[derive(Debug)]
pub struct Explanation {
    /// `SO_COOKIE`.
    pub cookie: u64,
    /// Own end.
    pub source: SocketAddr,
    /// Other end; None for a listener.
    pub destination: Option<SocketAddr>,
    /// Network namespace.
    pub namespace: String,
    /// Its cgroup.
    pub cgroup: CgroupPath,
    /// Was it accepted, or does it listen? Without a rule met, this is known from its port having a listener.
    pub passive: bool,
    /// Rule that is for it now.
    pub rule: Option<u32>,
    /// All rules, and what became of each.
    pub considered: Vec<(Rule, Verdict)>,
    /// What it remembers.
    pub met: Option<Met>,
    /// What it uses.
    pub now: Now,
    /// What both ends agreed to on congestion marks; None for a listener.
    pub ecn_mode: Option<EcnMode>,
    /// What there is to say, the most important first.
    pub findings: Vec<Finding>,
}

/// Explains sockets.
pub fn why(query: &SocketQuery) -> Result<Vec<Explanation>> {
    let table = read_rules()?;
    let inodes = match query {
        SocketQuery::Process(pid) => socket_inodes(*pid)?,
        _ => HashSet::new(),
    };
    let is_wanted = |socket: &RuleSocket| match query {
        SocketQuery::Cookie(cookie) => socket.report.cookie == *cookie,
        SocketQuery::Process(_) => inodes.contains(&socket.report.inode),
        SocketQuery::Addresses { source, destination } => {
            same(socket.source(), *source)
                && destination.is_none_or(|destination| same(socket.destination(), destination))
        }
    };
    let sockets = assignment().sockets(&is_wanted)?;
    if sockets.is_empty() {
        return Err(none_found(query));
    }
    let instances = Instance::all()?;
    Ok(sockets.iter().map(|socket| explain(&table, socket, &instances)).collect())
}

/// An IPv4 peer of a dual-stack socket goes by either form of its address.
fn same(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

fn none_found(query: &SocketQuery) -> Error {
    let (name, hint) = match query {
        SocketQuery::Cookie(cookie) => (format!("cookie {cookie}"), "ss -tae shows cookies after sk: (in hex)"),
        SocketQuery::Process(pid) => (format!("process {pid}"), "ss -tap shows sockets with their processes"),
        SocketQuery::Addresses { source, destination } => {
            let to = destination.map(|destination| format!(" -> {destination}")).unwrap_or_default();
            (format!("{source}{to}"), "ss -ta shows sockets; --src is the local address")
        }
    };
    Error::Unknown { kind: "TCP socket of", name, hint: hint.to_owned() }
}

fn socket_inodes(pid: u32) -> Result<HashSet<u64>> {
    let folder = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(&folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::Unknown { kind: "process", name: pid.to_string(), hint: "ps -e lists them".to_owned() }
        }
        _ => Error::kernel(format!("read {folder}"), error),
    })?;
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    let inode = |link: std::path::PathBuf| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    Ok(links.filter_map(inode).collect())
}

fn explain(table: &RuleTable, socket: &RuleSocket, instances: &[Instance]) -> Explanation {
    let report = &socket.report;
    let (source, destination) = (socket.source(), socket.destination());
    let listens = report.state == LISTENING;
    let passive = report.passive != 0;
    let flow = Flow {
        cgroup: socket.cgroup.clone(),
        peer: (!listens).then(|| destination.ip()),
        service_port: if passive { source.port() } else { destination.port() },
        attributes: Attributes {
            mark: report.mark,
            priority: report.priority,
            rtt_us: (report.has_rtt != 0).then_some(report.rtt_us),
        },
    };
    let algorithm = c_text(&report.algorithm);
    let instance = instances.iter().find(|instance| instance.name == algorithm);
    let current_map_id = instance.map(|instance| instance.map_id);
    let now = Now { map_id: Some(report.map_id).filter(|id| *id != 0), current_map_id, algorithm };
    let own = (report.has_parameters != 0).then_some(&report.parameters);
    let mut met = (report.has_assignment != 0).then(|| met(report, own.zip(instance)));
    if let Some(met) = met.as_mut().filter(|_| !listens) {
        met.on_parameters = finding_of_parameters(table.rule(met.rule), met, own, &now.algorithm);
    }
    let rule = table.rule(report.matching);
    let ecn_mode = (!listens).then(|| EcnMode::of_kernel(report.ecn_flags as u8));
    let mut findings = findings(table, rule, met.as_ref(), report.is_full != 0, &now);
    if ecn_mode == Some(EcnMode::Disabled) {
        let left = met.as_ref().is_some_and(|met| has_left(met, &now, instances));
        without_ecn(&mut findings, left, report.needs_ecn != 0, met.as_ref());
    }
    Explanation {
        cookie: report.cookie,
        source,
        destination: (!listens).then_some(destination),
        namespace: socket.namespace.clone(),
        cgroup: socket.cgroup.clone(),
        passive,
        rule: rule.map(|rule| rule.id),
        considered: consider(table, &flow).into_iter().map(|(rule, verdict)| (rule.clone(), verdict)).collect(),
        findings,
        ecn_mode,
        met,
        now,
    }
}

/// What it was given needs ECN, and what it uses now is what such an algorithm leaves a connection without ECN to.
fn has_left(met: &Met, now: &Now, instances: &[Instance]) -> bool {
    let given = instances.iter().find(|instance| Some(&instance.name) == met.given.as_ref());
    now.algorithm == LEFT_TO && given.is_some_and(|given| given.needs_ecn)
}

/// An algorithm that has left the connection is why another one is there since.
fn without_ecn(findings: &mut Vec<Finding>, left: bool, needs_ecn: bool, met: Option<&Met>) {
    let changed = findings.iter_mut().find(|finding| **finding == Finding::ChangedSince);
    match changed.filter(|_| left) {
        Some(changed) => *changed = Finding::NoEcn,
        None if needs_ecn => findings.push(Finding::NoEcn),
        None if met.is_some_and(Met::has_asked_for_ecn) => findings.push(Finding::EcnNotAgreed),
        None => {}
    }
}

fn met(report: &rule_report, own: Option<(&cc_own_values, &Instance)>) -> Met {
    let assignment = &report.assignment;
    let settings = if report.has_settings == 0 { 0 } else { report.settings.has };
    let [wanted, given, before] = assignment.names();
    Met {
        rule: assignment.rule_id,
        event: match assignment.event {
            RULE_CONNECT => Event::Connect,
            RULE_ACCEPT => Event::Accept,
            RULE_LISTEN => Event::Listen,
            RULE_ESTABLISHED => Event::Establish,
            _ => Event::Existing,
        },
        ago: Duration::from_nanos(now_ns().saturating_sub(assignment.at_ns)),
        error: (assignment.error != 0).then(|| refusal(assignment.error)),
        wanted,
        given: Some(given).filter(|name| !name.is_empty()),
        before,
        settings: MetSetting::of_note(settings, &report.settings.setting, &report.setting_now).collect(),
        parameters: own.map(|(values, instance)| describe(values, instance)).unwrap_or_default(),
        on_parameters: None,
    }
}

fn refusal(error: i32) -> String {
    match nix::errno::Errno::from_raw(-error) {
        nix::errno::Errno::ENOENT => "the kernel had no algorithm with this name".to_owned(),
        nix::errno::Errno::EPERM => "its route names an algorithm (ip route ... congctl lock)".to_owned(),
        nix::errno::Errno::E2BIG => {
            format!("{CC_OWN_SOCKETS} connections have parameters: there is no room for its own")
        }
        _ => reason(error),
    }
}

fn findings(table: &RuleTable, rule: Option<&Rule>, met: Option<&Met>, is_full: bool, now: &Now) -> Vec<Finding> {
    let mut found = Vec::new();
    match (rule, met) {
        (None, None) => found.push(Finding::NoRule),
        (Some(_), None) if is_full => found.push(Finding::CannotRemember),
        (Some(_), None) => found.push(Finding::OlderThanRule),
        (rule, Some(met)) => found.extend(findings_of_met(table, rule, met, now)),
    }
    if now.is_old_program() {
        found.push(Finding::OldProgram);
    }
    found
}

fn findings_of_met(table: &RuleTable, rule: Option<&Rule>, met: &Met, now: &Now) -> Vec<Finding> {
    let mut found = Vec::new();
    let own = table.rule(met.rule);
    if own.is_none() {
        found.push(Finding::RuleGone);
    } else if rule.map(|rule| rule.id) != Some(met.rule) {
        found.push(Finding::OtherRuleNow);
    } else if own.is_some_and(|own| !own.has_choice(&met.wanted)) {
        found.push(Finding::ChoiceGone);
    }
    found.extend(findings_of_algorithm(met, now));
    found.extend(findings_of_settings(own, met));
    found.extend(met.on_parameters);
    let is_given = met.given.as_ref().is_none_or(|given| *given == met.wanted);
    if found.is_empty() && is_given {
        found.push(Finding::AsTheRuleSays);
    }
    found
}

fn findings_of_algorithm(met: &Met, now: &Now) -> Vec<Finding> {
    if met.wanted.is_empty() {
        return Vec::new();
    }
    let is_changed = met.given.as_ref().unwrap_or(&met.before) != &now.algorithm;
    let is_other = match &met.given {
        None => Some(Finding::Refused),
        Some(given) => (*given != met.wanted).then_some(Finding::FellBack),
    };
    is_changed.then_some(Finding::ChangedSince).into_iter().chain(is_other).collect()
}

/// Of settings that only begin with a connection, a rule may have others by now without any harm.
fn findings_of_settings(own: Option<&Rule>, met: &Met) -> Vec<Finding> {
    let is_said = |met: &MetSetting| {
        !met.setting.is_for_live()
            || own.is_none_or(|own| own.content.settings.iter().any(|said| said == (met.setting, met.wanted)))
    };
    let is_met = |(setting, _): (SocketSetting, u32)| {
        !setting.is_for_live() || met.settings.iter().any(|met| met.setting == setting)
    };
    let is_current = met.settings.iter().all(is_said) && own.is_none_or(|own| own.content.settings.iter().all(is_met));
    let has = |is: fn(&MetSetting) -> bool| met.settings.iter().any(is);
    let found = [
        (!is_current, Finding::SettingsGone),
        (has(MetSetting::is_refused), Finding::SettingRefused),
        (has(MetSetting::is_changed_since), Finding::SettingChangedSince),
    ];
    found.into_iter().filter_map(|(is, finding)| is.then_some(finding)).collect()
}

/// Those of a rule are for the connections that were given its first name.
fn finding_of_parameters(
    own: Option<&Rule>,
    met: &Met,
    values: Option<&cc_own_values>,
    algorithm: &str,
) -> Option<Finding> {
    let said = own.map(|own| &own.content.parameters).filter(|said| met.given.as_ref() == Some(&said.instance()));
    let is_as_said = match (said, values) {
        (Some(said), Some(values)) => said.are(values),
        (None, Some(_)) => own.is_none(),
        (Some(said), None) => said.is_empty(),
        (None, None) => true,
    };
    let is_for_it = values.is_some_and(|values| c_text(&values.instance.name) == algorithm);
    let is_unread = is_for_it && met.parameters.is_empty();
    let found = [(!is_as_said, Finding::ParametersGone), (is_unread, Finding::ParametersUnread)];
    found.into_iter().find_map(|(is, finding)| is.then_some(finding))
}
