// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl why`

use std::time::Duration;

use ccctl_console::{output, Exit};
use ccctl_loader::{EcnMode, Event, Finding, SocketSetting, Verdict};

use crate::arguments::Asked;
use ccctl_core::operations::{ExplainedSocket, MetRule, MetSettingInfo, Why};

use crate::client;

pub fn run(arguments: &Asked<Why>) -> anyhow::Result<Exit> {
    let explained = client::ask(&arguments.request)?;
    if arguments.output.json {
        output::json(&explained)?;
        return Ok(Exit::Done);
    }
    for (index, socket) in explained.explanations.iter().enumerate() {
        if index > 0 {
            output::line("")?;
        }
        print(socket)?;
    }
    Ok(Exit::Done)
}

fn print(socket: &ExplainedSocket) -> anyhow::Result<()> {
    let ends = match socket.destination {
        Some(destination) => format!("{} -> {destination}", socket.source),
        None => format!("{} (listens)", socket.source),
    };
    output::line(&format!("{ends}, cookie {}, {}", socket.cookie, socket.namespace))?;
    let direction = match (socket.destination, socket.passive) {
        (None, _) => "listening",
        (_, true) => "accepted",
        (_, false) => "connected",
    };
    row("cgroup", &format!("{}, {direction}", socket.cgroup))?;
    row("uses", &used(socket))?;
    if let Some(mode) = socket.ecn_mode {
        row("ecn", ecn(mode))?;
    }
    for finding in &socket.findings {
        row("because", &because(*finding, socket))?;
    }
    if let Some(met) = &socket.met {
        row("met", &met_text(met))?;
        for parameter in &met.own_parameters {
            row("own", &format!("{}={}", parameter.name, parameter.value_text))?;
        }
        for setting in &met.met_settings {
            row("set", &setting_text(setting))?;
        }
    }
    for considered in &socket.considered {
        let verdict = verdict(considered.verdict);
        row(
            &format!("rule {}", considered.id),
            &format!("{}: {}: {verdict}", considered.selector, considered.targets),
        )?;
    }
    Ok(())
}

fn row(label: &str, text: &str) -> anyhow::Result<()> {
    output::line(&format!("  {label:<9}{text}"))
}

fn used(socket: &ExplainedSocket) -> String {
    let now = &socket.now;
    match (now.map_id, now.current_map_id) {
        (None, _) => format!("{}, built into the kernel", now.congestion_control),
        (Some(map), Some(current)) if map != current => {
            format!("{}, map {map}; the instance now has map {current}", now.congestion_control)
        }
        (Some(map), Some(_)) => format!("{}, map {map}, the current one", now.congestion_control),
        (Some(map), None) => format!("{}, map {map}, of no instance that is loaded", now.congestion_control),
    }
}

fn ecn(mode: EcnMode) -> &'static str {
    match mode {
        EcnMode::Disabled => "none",
        EcnMode::Rfc3168 => "ECN (RFC 3168)",
        EcnMode::Accecn => "AccECN (RFC 9768)",
        EcnMode::Pending => "pending: the handshake has not ended",
    }
}

fn met_text(met: &MetRule) -> String {
    let ago = humantime::format_duration(Duration::from_secs(met.ago_ms / 1000));
    let event = match met.event {
        Event::Connect => "when it connected",
        Event::Accept => "when it was accepted",
        Event::Listen => "when it began to listen",
        Event::Establish => "when its handshake was done",
        Event::Existing => "as a live connection, by --existing",
    };
    if met.wanted.is_empty() {
        return format!("rule {} {event}, {ago} ago: it leaves the algorithm alone", met.rule_id);
    }
    let given = met.given.as_ref().map_or_else(|| "nothing".to_owned(), |name| format!("given {name}"));
    format!(
        "rule {} {event}, {ago} ago: wanted {}, {given}, before {}",
        met.rule_id, met.wanted, met.congestion_control_before
    )
}

/// `min_rto 52ms (wanted 50ms, before 200ms)`: what is there now first.
fn setting_text(met: &MetSettingInfo) -> String {
    let (name, wanted, before) = (met.setting.key(), &met.wanted_text, &met.before_text);
    if let Some(cause) = &met.cause {
        return format!("{name}: {wanted} was refused: {cause}; before {before}");
    }
    if met.setting == SocketSetting::Ecn {
        let asked = "ecn: the SYN asked for it";
        let left = "ecn: the SYN did not ask: its algorithm does so itself, or its route locks the algorithm";
        return if met.given_value == 1 { asked.to_owned() } else { left.to_owned() };
    }
    let wanted = if met.wanted_value == met.given_value { String::new() } else { format!("wanted {wanted}, ") };
    match (&met.now_text, met.is_changed_since) {
        (None, _) => format!("{name} {} at its beginning ({wanted}before {before})", met.given_text),
        (Some(now), false) => format!("{name} {now} ({wanted}before {before})"),
        (Some(now), true) => format!("{name} {now}, changed since ({wanted}given {}, before {before})", met.given_text),
    }
}

fn because(finding: Finding, socket: &ExplainedSocket) -> String {
    let now = &socket.now.congestion_control;
    let rule = socket.rule_id.unwrap_or_default();
    let met = socket.met.as_ref();
    let met_rule = met.map_or(0, |met| met.rule_id);
    let error = met.and_then(|met| met.cause.clone()).unwrap_or_default();
    let wanted = met.map(|met| met.wanted.clone()).unwrap_or_default();
    match finding {
        Finding::AsTheRuleSays if wanted.is_empty() => {
            format!("rule {rule} gave it its settings; {now} was selected by the application or is the default")
        }
        Finding::AsTheRuleSays => format!("rule {rule} gave it {now}"),
        Finding::NoRule => format!("no rule matches: {now} was selected by the application or is the default"),
        Finding::OlderThanRule => {
            format!("rule {rule} matches, but the connection predates the rule: ccctl assign ... --existing moves it")
        }
        Finding::CannotRemember => format!(
            "rule {rule} matches, but the socket's option memory is full (net.core.optmem_max): it has no record of \
             whether a rule gave it {now}"
        ),
        Finding::RuleGone => format!("it matched rule {met_rule}, which was removed; it keeps what it was given"),
        Finding::OtherRuleNow if socket.rule_id.is_none() => {
            format!("it matched rule {met_rule}, which no longer matches")
        }
        Finding::OtherRuleNow => format!("it matched rule {met_rule}; rule {rule} has matched only since then"),
        Finding::ChoiceGone if wanted.is_empty() => {
            format!("rule {rule} named no algorithm when the socket matched it, and has changed since")
        }
        Finding::ChoiceGone => format!("rule {rule} had {wanted} when the socket matched it, and has changed since"),
        Finding::FellBack => format!("it fell back from {wanted}: {error}"),
        Finding::Refused => format!("rule {rule} could not set an algorithm: {wanted}: {error}"),
        Finding::ChangedSince => {
            "its algorithm was changed since: by the application, by ccctl migrate, or by its route".to_owned()
        }
        Finding::SettingsGone => {
            format!(
                "rule {met_rule} has other settings now: ccctl assign ... --existing gives them to live connections"
            )
        }
        Finding::SettingRefused => "the kernel refused a setting".to_owned(),
        Finding::SettingChangedSince => "a setting was changed since, by the application".to_owned(),
        Finding::ParametersGone => {
            format!(
                "rule {met_rule} has other parameters now: ccctl assign ... --existing gives them to live connections"
            )
        }
        Finding::ParametersUnread => {
            format!("the parameters of its rule are for another build of {now}: set the rule again")
        }
        Finding::OldProgram => {
            format!("its program is from before a swap or unload: ccctl migrate --instance {now} --to {now}")
        }
        Finding::EcnNotAgreed => "the SYN asked for ECN, and the peer did not agree".to_owned(),
        Finding::NoEcn => no_ecn_text(now, met.and_then(|met| met.given.as_deref())),
    }
}

fn no_ecn_text(now: &str, given: Option<&str>) -> String {
    let (needing, left) = match given {
        Some(given) if given != now => (given, format!(", and left the connection to {now}")),
        _ => (now, ", and the connection has none".to_owned()),
    };
    format!("{needing} needs ECN{left}: the peer did not agree to ECN, or the handshake was before the connection had {needing}")
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Won => "matches",
        Verdict::OtherCgroup => "for another cgroup",
        Verdict::OtherPeer => "for other peers",
        Verdict::OtherPort => "for another port",
        Verdict::OtherMark => "for another mark",
        Verdict::OtherPriority => "for another priority",
        Verdict::OtherRtt => "for another RTT",
        Verdict::WiderCgroup => "matches, but a rule of a nearer cgroup does, too",
        Verdict::WiderPrefix => "matches, but a rule with a longer prefix does, too",
        Verdict::AnyPort => "matches, but a rule that names the port does, too",
        Verdict::WeakerConditions => "matches, but a rule with more or narrower conditions does, too, or an older one",
    }
}
