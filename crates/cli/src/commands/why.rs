//! `ccctl why`

use std::time::Duration;

use ccctl_loader::{Event, Finding, Verdict};

use crate::arguments::Why;
use crate::engine::{self, ExplainedSocket, MetRule};
use crate::exit::Exit;
use crate::output;

pub fn run(arguments: &Why) -> anyhow::Result<Exit> {
    let which = &arguments.which;
    let explained =
        engine::ask(&engine::Why { cookie: which.cookie, src: which.src, dst: arguments.dst, pid: which.pid })?;
    if arguments.output.json {
        output::json(&explained)?;
        return Ok(Exit::Done);
    }
    for (index, socket) in explained.sockets.iter().enumerate() {
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
    for finding in &socket.findings {
        row("because", &because(*finding, socket))?;
    }
    if let Some(met) = &socket.met {
        row("met", &met_text(met))?;
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
        (None, _) => format!("{}, built into the kernel", now.algorithm),
        (Some(map), Some(current)) if map != current => {
            format!("{}, map {map}; the instance has map {current} now", now.algorithm)
        }
        (Some(map), Some(_)) => format!("{}, map {map}, the instance's own", now.algorithm),
        (Some(map), None) => format!("{}, map {map}, of no instance that is loaded", now.algorithm),
    }
}

fn met_text(met: &MetRule) -> String {
    let ago = humantime::format_duration(Duration::from_secs(met.ago_ms / 1000));
    let event = match met.event {
        Event::Connect => "when it connected",
        Event::Accept => "when it was accepted",
        Event::Listen => "when it began to listen",
        Event::Existing => "alive, by --existing",
    };
    let given = met.given.as_ref().map_or_else(|| "nothing".to_owned(), |name| format!("given {name}"));
    format!("rule {} {event}, {ago} ago: wanted {}, {given}, before {}", met.rule, met.wanted, met.before)
}

fn because(finding: Finding, socket: &ExplainedSocket) -> String {
    let now = &socket.now.algorithm;
    let rule = socket.rule.unwrap_or_default();
    let met = socket.met.as_ref();
    let met_rule = met.map_or(0, |met| met.rule);
    let error = met.and_then(|met| met.error.clone()).unwrap_or_default();
    let wanted = met.map(|met| met.wanted.clone()).unwrap_or_default();
    match finding {
        Finding::AsTheRuleSays => format!("rule {rule} gave it {now}"),
        Finding::NoRule => format!("no rule is for it: {now} is its own choice or its namespace's default"),
        Finding::OlderThanRule => {
            format!("rule {rule} is for it, but it is older than the rule: ccctl assign ... --existing moves it")
        }
        Finding::CannotRemember => format!(
            "rule {rule} is for it, but its option memory is full (net.core.optmem_max): whether a rule gave it {now}, it \
             cannot remember"
        ),
        Finding::RuleGone => format!("it met rule {met_rule}, which is gone; what it was given stays"),
        Finding::OtherRuleNow if socket.rule.is_none() => format!("it met rule {met_rule}, which is not for it now"),
        Finding::OtherRuleNow => format!("it met rule {met_rule}; rule {rule} is for it only since then"),
        Finding::ChoiceGone => format!("rule {rule} said {wanted} when they met, and has changed since"),
        Finding::FellBack => format!("it fell back from {wanted}: {error}"),
        Finding::Refused => format!("rule {rule} could give it nothing: {wanted}: {error}"),
        Finding::ChangedSince => {
            "its algorithm was changed since: by the application, by ccctl migrate, or by its route".to_owned()
        }
        Finding::OldProgram => {
            format!("its program is from before a swap or unload: ccctl migrate --from {now} --to {now}")
        }
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Won => "is for it",
        Verdict::OtherCgroup => "for another cgroup",
        Verdict::OtherPeer => "for other peers",
        Verdict::OtherPort => "for another port",
        Verdict::WiderCgroup => "matches, but a rule of a nearer cgroup does, too",
        Verdict::WiderPrefix => "matches, but a rule with a longer prefix does, too",
        Verdict::AnyPort => "matches, but a rule that names the port does, too",
    }
}
