// SPDX-License-Identifier: GPL-2.0-only
//! What a summary says of statements and of the papers' values, in words and numbers of the page.

use super::entry::Results;
use super::known::{ClaimResult, Outcome};
use crate::report::number::estimate;
use crate::run::PaperRow;
use crate::statements::{Judged, JudgedPlace, Verdict};

/// So many places of a statement have their numbers in the table; of more, those that matter.
const MAX_PLACES: usize = 3;

/// What was run.
pub(super) fn description(sim: &Results) -> String {
    let summary = &sim.summary;
    let (versions, points) = (&summary.versions, summary.points.len());
    let repeats = summary.runs / points.max(1);
    let (seed, backend, ccctl) = (versions.seed, &versions.backend, &versions.ccctl);
    let changes = match sim.changes.as_slice() {
        [] => String::new(),
        changes => format!(" Not as in the scenario's file: {}.", changes.join("; ")),
    };
    format!("{points} points, {repeats} repeats, seed {seed}, {backend} backend, ccctl {ccctl}.{changes}")
}

/// What became of a statement, by its id.
pub(super) fn found(judged: &Judged) -> (String, ClaimResult) {
    let places: Vec<&JudgedPlace> = judged.checks.iter().flat_map(|check| &check.places).collect();
    let verdict = match judged.verdict {
        Verdict::Holds => Outcome::Holds,
        Verdict::DoesNotHold => Outcome::DoesNotHold,
        Verdict::NotEnoughData => Outcome::Undecided,
    };
    (judged.id.clone(), ClaimResult { text: places_text(&places), verdict })
}

/// The numbers of a few places: of all, or of those that decide against it.
pub(super) fn places_text(places: &[&JudgedPlace]) -> String {
    let text = |place: &&JudgedPlace| match place.place.as_str() {
        "" => place.found.clone(),
        at => format!("{at}: {}", place.found),
    };
    if places.len() <= MAX_PLACES {
        return places.iter().map(text).collect::<Vec<_>>().join("; ");
    }
    let (holding, against): (Vec<&JudgedPlace>, Vec<&JudgedPlace>) =
        places.iter().copied().partition(|place| holds_where_run(place));
    let shown = if against.is_empty() { &places[..1] } else { &against[..against.len().min(MAX_PLACES)] };
    let which = if against.is_empty() { "such as" } else { "not" };
    let shown = shown.iter().map(text).collect::<Vec<_>>().join("; ");
    let more = against.len().saturating_sub(MAX_PLACES);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("at {} of {} places; {which} {shown}{more}", holding.len(), places.len())
}

/// All that was run of it bears it out.
pub(super) fn holds_where_run(place: &JudgedPlace) -> bool {
    place.verdict == Verdict::Holds || place.holds_so_far
}

/// Our value beside a paper's, and by how many percent it is off; nothing where it was not run.
pub(super) fn paper(row: &PaperRow) -> Option<[String; 2]> {
    let off = row.off_pct.map_or_else(|| "-".to_owned(), |off| format!("{off:+.1}"));
    Some([estimate(row.ours.as_ref()?), off])
}
