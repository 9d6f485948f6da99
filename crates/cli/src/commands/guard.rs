// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl guard`

use ccctl_console::{output, Exit};

use crate::arguments::{Guard, GuardCommand};
use ccctl_core::daemon::GuardReport;
use ccctl_core::operations::{self, GuardAnswer, Tripped};
use ccctl_loader::IntervalStats;

use crate::client;

pub fn run(arguments: &Guard) -> anyhow::Result<Exit> {
    let (request, output) = match &arguments.command {
        None => (operations::Guard { rearm: None, dry_run: false }, &arguments.output),
        Some(GuardCommand::Rearm { name, dry_run, output }) => {
            (operations::Guard { rearm: Some(name.clone()), dry_run: *dry_run }, output)
        }
    };
    let answer = client::ask(&request)?;
    if output.json || arguments.output.json {
        output::json(&answer)?;
    } else {
        print(&answer)?;
    }
    Ok(Exit::Done)
}

fn print(answer: &GuardAnswer) -> anyhow::Result<()> {
    if let Some(name) = &answer.rearmed {
        let is = if answer.dry_run { "would be" } else { "is" };
        let watched = answer.guard.is_some();
        let rest = if watched {
            "enabled and watched again"
        } else {
            "enabled again; ccctl apply gives it its rules and defaults back"
        };
        output::line(&format!("{name} {is} {rest}; connections that were moved keep the fallback algorithm"))?;
        return Ok(());
    }
    match &answer.guard {
        None => output::line("nothing is watched: no daemon runs, or its file has no [guard]")?,
        Some(guard) => print_guard(guard)?,
    }
    print_tripped(&answer.tripped)
}

fn print_guard(guard: &GuardReport) -> anyhow::Result<()> {
    let limits = &guard.limits;
    output::line(&format!(
        "an instance is disabled after {} of {} with at least {} active connections each, and one of: stalled {} %, \
         retransmissions {} %, timeouts {} %, impossible windows {} %, also {} times what {} has; only connections that got \
         their algorithm from a rule or default count",
        output::count(limits.windows as usize, "bad interval"),
        output::span(limits.every()),
        limits.min_connections,
        limits.stalled_pct,
        limits.retransmit_pct,
        limits.timeouts_pct,
        limits.impossible_pct,
        limits.times_fallback,
        limits.fallback
    ))?;
    let mut rows = Vec::new();
    if let Some(window) = &guard.fallback_window {
        rows.push(row(&limits.fallback, window, "fallback".to_owned()));
    }
    for watched in &guard.watched {
        let state = match (watched.is_judged, watched.bad_windows) {
            (false, _) => "too few connections".to_owned(),
            (true, 0) => "good".to_owned(),
            (true, bad) => format!("bad, {bad} of {}", limits.windows),
        };
        rows.push(row(&watched.name, &watched.window, state));
    }
    output::table(&["NAME", "ACTIVE", "STALLED", "SEGMENTS", "RETRANSMITTED", "TIMEOUTS", "IMPOSSIBLE", ""], rows)?;
    for name in &guard.left_out {
        output::line(&format!("{name} is left out by the file"))?;
    }
    for event in &guard.events {
        output::line(&format!("{} {}: {}", event.at, event.name, event.text))?;
    }
    Ok(())
}

fn row(name: &str, window: &IntervalStats, state: String) -> Vec<String> {
    let percent = |part: u64, whole: u64| match whole {
        0 => part.to_string(),
        whole => format!("{part} ({} %)", part.saturating_mul(100) / whole),
    };
    vec![
        name.to_owned(),
        window.active.to_string(),
        percent(window.stalled, window.active.saturating_sub(window.impossible)),
        window.data_segments.to_string(),
        percent(window.retransmits_pkts, window.data_segments),
        percent(window.timeouts, window.data_segments),
        percent(window.impossible, window.active),
        state,
    ]
}

/// Also for `ccctl status`.
pub fn print_tripped(tripped: &[Tripped]) -> anyhow::Result<()> {
    for Tripped { name, fallback, since, why } in tripped {
        output::line(&format!("{name} is disabled for {}, failed over to {fallback}: {why}", output::age(since)))?;
        output::line(&format!("          ccctl guard rearm {name} enables it again"))?;
    }
    Ok(())
}
