//! The running kernel's part of the table.

use std::fmt::Write as _;

use super::cells::{holds_where_run, places_text};
use super::entry::Results;
use super::record::{Found, Outcome};
use crate::statements::{Judged, JudgedPlace, Verdict};

/// What was run, where, and how it differs from the simulator's.
pub(super) fn description(kernel: &Results) -> String {
    let summary = &kernel.summary;
    let points = summary.points.iter().filter(|point| point.repeats > 0).count();
    let mut text = format!(
        "Kernel: {} runs at {points} of {} points, {}, ccctl {}",
        summary.runs_done,
        summary.points.len(),
        summary.versions.host.as_deref().unwrap_or("a kernel that was not noted"),
        summary.versions.ccctl
    );
    // Writing to a text cannot fail.
    if let Some(late) = summary.versions.settings.get("late") {
        let _ = write!(text, "; bound of lateness: {late}");
    }
    if !summary.invalid.is_empty() {
        let _ = write!(text, "; {} more came to no result, as the path was late too often", summary.invalid.len());
    }
    if !kernel.changes.is_empty() {
        let _ = write!(text, ". Not as in the simulator: {}", kernel.changes.join("; "));
    }
    text + "."
}

/// What became of a statement by the places that were run, by its id; nothing where none were.
pub(super) fn found(judged: &Judged) -> Option<(String, Found)> {
    let all: Vec<&JudgedPlace> = judged.checks.iter().flat_map(|check| &check.places).collect();
    let run: Vec<&JudgedPlace> = all.iter().copied().filter(|place| is_run(place)).collect();
    if run.is_empty() {
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
    Some((judged.id.clone(), Found { text, verdict }))
}

fn is_run(place: &JudgedPlace) -> bool {
    place.verdict != Verdict::NotEnoughData || place.holds_so_far
}
