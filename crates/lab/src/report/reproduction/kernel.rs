// SPDX-License-Identifier: GPL-2.0-only
//! The running kernel's part of the table.

use std::fmt::Write as _;

use super::cells::{holds_where_run, places_text};
use super::entry::{shipped_scenario, Results};
use super::known::{is_cause, ClaimResult, Known, Outcome, PaperValue, Side};
use crate::scenario::Scenario;
use crate::statements::{Judged, JudgedPlace, Verdict};

/// Of results recorded without windows.
const NOT_CHECKED: &str = " That no hook was left out in these runs [cannot be shown](kernel-record.md).";

/// What was run, and where.
pub(super) fn description(Results { summary, kernels, .. }: &Results) -> String {
    let kernels: Vec<String> = kernels.iter().map(|release| format!("Linux {release}")).collect();
    let points = summary.points.iter().filter(|point| point.repeats > 0).count();
    let mut text = format!(
        "{} runs at {points} of {} points, {}, ccctl {}",
        summary.runs_done,
        summary.points.len(),
        if kernels.is_empty() { "an unrecorded kernel".to_owned() } else { kernels.join(" and ") },
        summary.versions.ccctl
    );
    // Writing to a text cannot fail.
    if let Some(late) = summary.versions.settings.get("late") {
        let _ = write!(text, "; bound of lateness: {late}");
    }
    if !summary.invalid.is_empty() {
        let _ = write!(text, "; {} more came to no result, as the path was late too often", summary.invalid.len());
    }
    text + "."
}

/// A paragraph for each setting of the kernel's runs.
pub(super) fn paragraphs(known: &Known) -> Vec<String> {
    let one = |(index, side): (usize, &Side)| {
        let changes = match side.changes.as_slice() {
            [] => String::new(),
            changes => format!(" Not as in the simulator: {}.", changes.join("; ")),
        };
        // What was recorded before is not run again: the page says what can be said of it.
        let windows = if side.windows_checked { "" } else { NOT_CHECKED };
        format!("Kernel{}: {}{changes}{windows}", setting_number(known, index), side.description)
    };
    known.kernel.iter().enumerate().map(one).collect()
}

/// Which of several settings this is; nothing where there is one.
fn setting_number(known: &Known, index: usize) -> String {
    if known.kernel.len() > 1 {
        format!(" ({})", index + 1)
    } else {
        String::new()
    }
}

/// Whether the kernel has all that a scenario needs: Linux has no router of XCP.
pub(super) fn can_run(name: &str) -> bool {
    let needs_xcp =
        |scenario: Scenario| scenario.points.iter().flat_map(|point| &point.setup.groups).any(|group| group.tcp.xcp);
    !shipped_scenario(name).is_some_and(needs_xcp)
}

/// What became of a statement: by the settings that are nearest to the simulator's and decide it, else by the nearest that tell of it.
pub(super) fn nearest(known: &Known, id: &str) -> Option<ClaimResult> {
    let all = || known.kernel.iter().enumerate().filter_map(|(index, side)| Some((index, side.found.get(id)?)));
    let (index, found) = all().find(|(_, found)| found.is_decided()).or_else(|| all().next())?;
    let text = [setting_number(known, index).trim_start(), &found.text].join(" ").trim_start().to_owned();
    Some(ClaimResult { text, verdict: found.verdict })
}

/// Our value beside a paper's, of the nearest settings that have one.
pub(super) fn nearest_value(known: &Known, row: &PaperValue) -> Option<[String; 2]> {
    known.kernel.iter().find_map(|side| side.paper.get(&row.key())).cloned()
}

/// What became of a statement by the places that were run, by its id; nothing where none were, and of a cause.
pub(super) fn found(judged: &Judged) -> Option<(String, ClaimResult)> {
    let all: Vec<&JudgedPlace> = judged.checks.iter().flat_map(|check| &check.places).collect();
    let run: Vec<&JudgedPlace> = all.iter().copied().filter(|place| is_run(place)).collect();
    if run.is_empty() || is_cause(&judged.stands) {
        return None;
    }
    let mut text = places_text(&run);
    if run.len() < all.len() {
        text = format!("by {} of {} places: {text}", run.len(), all.len());
    }
    let verdict = match judged.verdict {
        Verdict::Holds => Outcome::Holds,
        Verdict::DoesNotHold => Outcome::DoesNotHold,
        Verdict::NotEnoughData if run.iter().all(|place| holds_where_run(place)) => Outcome::HoldsWhereRun,
        Verdict::NotEnoughData => Outcome::Undecided,
    };
    Some((judged.id.clone(), ClaimResult { text, verdict }))
}

fn is_run(place: &JudgedPlace) -> bool {
    place.verdict != Verdict::NotEnoughData || place.holds_so_far
}
