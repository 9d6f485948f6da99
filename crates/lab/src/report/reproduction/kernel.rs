//! The running kernel's part of the table.

use std::fmt::Write as _;

use super::entry::KernelEntry;
use super::found;
use crate::report::number::estimate_or_dash;
use crate::run::PaperRow;
use crate::statements::{Judged, JudgedPlace, Verdict};

/// How many statements hold, do not, are not decided, and were not run.
pub(super) fn counts(kernel: Option<&KernelEntry>, statements: usize) -> [usize; 4] {
    let Some(kernel) = kernel else { return [0, 0, 0, statements] };
    let mut counts = [0; 4];
    for judged in &kernel.summary.statements {
        let place = match judged.verdict {
            Verdict::Holds => 0,
            Verdict::DoesNotHold => 1,
            Verdict::NotEnoughData if was_run(judged) => 2,
            Verdict::NotEnoughData => 3,
        };
        counts[place] += 1;
    }
    counts
}

/// What was run, where, and how it differs from the simulator's.
pub(super) fn description(kernel: &KernelEntry) -> String {
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

/// Our numbers and the verdict, by the places that were run.
pub(super) fn cells(judged: Option<&Judged>) -> [String; 2] {
    let Some(judged) = judged.filter(|judged| was_run(judged)) else {
        return ["not run".to_owned(), "-".to_owned()];
    };
    let all: Vec<&JudgedPlace> = judged.checks.iter().flat_map(|check| &check.places).collect();
    let run: Vec<&JudgedPlace> = all.iter().copied().filter(|place| is_run(place)).collect();
    let text = if run.len() == all.len() {
        found(&run)
    } else {
        format!("by {} of {} places: {}", run.len(), all.len(), found(&run))
    };
    let verdict = match judged.verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "**does not hold**",
        Verdict::NotEnoughData => "not decided",
    };
    [text, verdict.to_owned()]
}

/// A paper's value beside the kernel's.
pub(super) fn paper_cells(row: Option<&PaperRow>) -> [String; 2] {
    let ours = row.and_then(|row| row.ours.as_ref());
    let off = row.and_then(|row| row.off_pct);
    [estimate_or_dash(ours), off.map_or_else(|| "-".to_owned(), |off| format!("{off:+.1}"))]
}

fn is_run(place: &JudgedPlace) -> bool {
    place.verdict != Verdict::NotEnoughData
}

fn was_run(judged: &Judged) -> bool {
    judged.checks.iter().flat_map(|check| &check.places).any(is_run)
}
