// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ccctl canary`. Its exit code is 3 where it did not pass.

use std::os::fd::AsFd as _;
use std::time::Duration;

use ccctl_console::output::{self, Tone};
use ccctl_console::{Exit, Stop};
use ccctl_core::operations::canary::{Canary, CanaryAnswer, CanaryInterval, Outcome};
use ccctl_loader::IntervalStats;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::Signal;

use crate::arguments::Asked;

pub fn run(arguments: &Asked<Canary>) -> anyhow::Result<Exit> {
    let stop = Stop::listen_to(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])?;
    let as_json = arguments.output.json;
    let answer = arguments.request.run(
        |time| wait(&stop, time),
        |interval| if as_json { Ok(()) } else { print_interval(&arguments.request.name, interval) },
    )?;
    if as_json {
        output::json(&answer)?;
    } else {
        print(&answer)?;
    }
    Ok(match answer.outcome {
        Outcome::Passed | Outcome::Preview => Exit::Done,
        Outcome::Aborted | Outcome::Undecided | Outcome::Stopped => Exit::Refused,
    })
}

fn wait(stop: &Stop, time: Duration) -> anyhow::Result<bool> {
    let mut waiting = [PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
    poll(&mut waiting, PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX))?;
    stop.is_wanted()
}

fn print_interval(name: &str, interval: &CanaryInterval) -> anyhow::Result<()> {
    let CanaryInterval { at, candidate_window, instance_window, is_judged, complaints } = interval;
    let verdict = match (is_judged, complaints.is_empty()) {
        (false, _) => "too little to judge".to_owned(),
        (true, true) => "good".to_owned(),
        (true, false) => complaints.join("; "),
    };
    let text = format!("candidate {}; {name} {}", described(candidate_window), described(instance_window));
    output::line(&format!("{at}  {text}: {verdict}"))
}

fn described(window: &IntervalStats) -> String {
    let IntervalStats { active, data_segments, retransmits_pkts, .. } = window;
    let retransmitted = match data_segments {
        0 => "nothing sent".to_owned(),
        sent => format!("{:.2} % of {sent} segments retransmitted", *retransmits_pkts as f64 * 100.0 / *sent as f64),
    };
    format!("{active} active, {retransmitted}")
}

fn print(answer: &CanaryAnswer) -> anyhow::Result<()> {
    let CanaryAnswer { name, candidate, algorithm, share_pct, rule_count, why, migrated, .. } = answer;
    let rules = output::count(*rule_count, "rule");
    let back = format!("{name} is as it was, {} moved back to it", output::count(*migrated, "connection"));
    let (word, tone, text) = match answer.outcome {
        Outcome::Preview => {
            let text =
                format!(": load {algorithm} as {candidate}, and give it {share_pct} % of what {rules} of {name} get");
            ("would", Tone::Good, text)
        }
        Outcome::Passed if answer.is_promoted => {
            let moved = output::count(*migrated, "connection");
            ("passed", Tone::Good, format!(": {name} runs {algorithm} now, {moved} of the canary moved to it"))
        }
        Outcome::Passed => {
            ("passed", Tone::Good, format!(": {back}; ccctl swap {name} --with {algorithm} promotes it"))
        }
        Outcome::Aborted => ("aborted", Tone::Bad, format!(": {why}; {back}")),
        Outcome::Undecided => ("undecided", Tone::Warning, format!(": {why}; {back}")),
        Outcome::Stopped => ("stopped", Tone::Warning, format!(": {why}; {back}")),
    };
    output::toned_line(word, tone, &text)
}
