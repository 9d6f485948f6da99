//! The table of what papers state and what came out here, as Markdown.

mod changes;
mod entry;
mod kernel;
mod notes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::number::{estimate_or_dash, number, unit};
use crate::run::{PaperRow, RunError, Summary};
use crate::scenario::Scenario;
use crate::shipped::shipped;
use crate::statements::{Judged, JudgedPlace, Verdict};
use entry::Entry;
pub use notes::{read_notes, Note, NotesError};

/// So many places of a statement have their numbers in the table; of more, those that matter.
const MAX_PLACES: usize = 3;

/// The ids of all statements of the shipped scenarios.
#[must_use]
pub fn statement_ids() -> BTreeSet<String> {
    let scenarios = shipped().into_iter().filter_map(|it| Scenario::of_text(Path::new(it.name), it.text, &[]).ok());
    scenarios.flat_map(|scenario| scenario.statements.into_iter().map(|statement| statement.id)).collect()
}

/// The whole page: the simulator's results, and the running kernel's beside them where there are folders of both.
pub fn reproduction(folders: &[PathBuf], notes: &BTreeMap<String, Note>) -> Result<String, RunError> {
    Ok(page(&entry::entries(folders)?, notes))
}

fn page(entries: &[Entry], notes: &BTreeMap<String, Note>) -> String {
    let has_kernel = entries.iter().any(|entry| entry.kernel.is_some());
    let mut out = String::from(
        "# Reproduction of published results\n\n\
         Written by `scripts/reproduce`; do not edit. Every statement of the papers that can be checked, our numbers, and \
         whether they bear it out. Scenarios follow the papers as closely as their texts allow; nothing is tuned for a \
         single statement. Numbers are means over repeats ± standard error; in the tables of the papers' values ± is half \
         of the 95 % confidence interval.\n\n",
    );
    write_counts(entries, has_kernel, &mut out);
    out.push_str(
        "The simulator gives the same numbers on every machine: `scripts/reproduce` runs everything and writes this page \
         again, `ccctl lab run NAME` repeats one row and draws its page, and `ccctl lab show NAME` prints what is run.\n",
    );
    if has_kernel {
        out.push_str(
            "\nThe running kernel's column is made by `scripts/reproduce --backend netns` out of the points in \
             `configs/reproduction-netns.txt`: those that two processors carry faithfully. Runs that the path calls invalid are in \
             no number. A statement is not decided where points that it needs are missing, and not run where all are.\n",
        );
    }
    for entry in entries {
        write_scenario(entry, has_kernel, notes, &mut out);
    }
    out
}

fn count(summary: &Summary, verdict: Verdict) -> usize {
    summary.statements.iter().filter(|judged| judged.verdict == verdict).count()
}

fn write_counts(entries: &[Entry], has_kernel: bool, out: &mut String) {
    let (heads, line) = if has_kernel {
        (" kernel: hold | do not hold | not decided | not run | runs |", " ---: | ---: | ---: | ---: | ---: |")
    } else {
        ("", "")
    };
    let _ = writeln!(out, "| scenario | statements | hold | do not hold | not enough data | runs |{heads}");
    let _ = writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |{line}");
    let mut totals = [0; 10];
    for entry in entries {
        let numbers = row_of_counts(entry);
        let summary = &entry.sim;
        let runs = if summary.runs_done == summary.runs {
            summary.runs.to_string()
        } else {
            format!("{} of {}", summary.runs_done, summary.runs)
        };
        let name = &summary.versions.scenario;
        let mut cells: Vec<String> = numbers.iter().map(usize::to_string).collect();
        cells[4] = runs;
        cells.truncate(if has_kernel { 10 } else { 5 });
        let _ = writeln!(out, "| [{name}](#{name}) | {} |", cells.join(" | "));
        for (total, value) in totals.iter_mut().zip(numbers) {
            *total += value;
        }
    }
    let totals = &totals[..if has_kernel { 10 } else { 5 }];
    let bold: Vec<String> = totals.iter().map(|total| format!("**{total}**")).collect();
    let _ = writeln!(out, "| **all** | {} |\n", bold.join(" | "));
}

/// Statements, the simulator's verdicts and runs, the kernel's verdicts and runs.
fn row_of_counts(entry: &Entry) -> [usize; 10] {
    let summary = &entry.sim;
    let all = summary.statements.len();
    let verdicts = [Verdict::Holds, Verdict::DoesNotHold, Verdict::NotEnoughData];
    let [hold, not, unknown] = verdicts.map(|verdict| count(summary, verdict));
    let [kernel_hold, kernel_not, undecided, not_run] = kernel::counts(entry.kernel.as_ref(), all);
    let kernel_runs = entry.kernel.as_ref().map_or(0, |kernel| kernel.summary.runs_done);
    [all, hold, not, unknown, summary.runs_done, kernel_hold, kernel_not, undecided, not_run, kernel_runs]
}

fn write_scenario(entry: &Entry, has_kernel: bool, notes: &BTreeMap<String, Note>, out: &mut String) {
    let summary = &entry.sim;
    let versions = &summary.versions;
    let _ = writeln!(out, "\n## {}\n\n{}. {}\n", versions.scenario, summary.title, summary.source);
    if !summary.notes.is_empty() {
        let _ = writeln!(out, "{}\n", summary.notes.trim());
    }
    let repeats = summary.runs / summary.points.len().max(1);
    let _ = writeln!(
        out,
        "{} points, {repeats} repeats, seed {}, {} backend, ccctl {}.\n",
        summary.points.len(),
        versions.seed,
        versions.backend,
        versions.ccctl
    );
    if let Some(kernel) = &entry.kernel {
        let _ = writeln!(out, "{}\n", kernel::description(kernel));
    }
    write_statements(entry, has_kernel, out);
    for judged in &summary.statements {
        let of_kernel = entry.kernel.as_ref().and_then(|kernel| kernel.judged(&judged.id));
        write_note(judged, of_kernel, notes.get(&judged.id), out);
    }
    write_paper(entry, out);
}

fn write_statements(entry: &Entry, has_kernel: bool, out: &mut String) {
    if entry.sim.statements.is_empty() {
        return;
    }
    let (heads, line) = if has_kernel { (" kernel | verdict |", " --- | --- |") } else { ("", "") };
    let _ = writeln!(out, "| id | statement | where | here | verdict |{heads}");
    let _ = writeln!(out, "| --- | --- | --- | --- | --- |{line}");
    for judged in &entry.sim.statements {
        let places: Vec<&JudgedPlace> = judged.checks.iter().flat_map(|check| &check.places).collect();
        let mut cells = vec![judged.id.clone(), judged.text.clone(), judged.stands.clone(), found(&places)];
        cells.push(verdict(judged).to_owned());
        if has_kernel {
            cells.extend(kernel::cells(entry.kernel.as_ref().and_then(|kernel| kernel.judged(&judged.id))));
        }
        let cells: Vec<String> = cells.iter().map(|cell| cell_text(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

fn verdict(judged: &Judged) -> &'static str {
    match judged.verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "**does not hold**",
        Verdict::NotEnoughData => "not enough data",
    }
}

/// The numbers of a few places: of all, or of those that decide against it.
fn found(places: &[&JudgedPlace]) -> String {
    let text = |place: &&JudgedPlace| match place.place.as_str() {
        "" => place.found.clone(),
        at => format!("{at}: {}", place.found),
    };
    if places.len() <= MAX_PLACES {
        return places.iter().map(text).collect::<Vec<_>>().join("; ");
    }
    let holding = places.iter().filter(|place| place.verdict == Verdict::Holds).count();
    let against: Vec<&JudgedPlace> = places.iter().copied().filter(|place| place.verdict != Verdict::Holds).collect();
    let shown = if against.is_empty() { &places[..1] } else { &against[..against.len().min(MAX_PLACES)] };
    let which = if against.is_empty() { "such as" } else { "not" };
    let shown = shown.iter().map(text).collect::<Vec<_>>().join("; ");
    let more = against.len().saturating_sub(MAX_PLACES);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("at {holding} of {} places; {which} {shown}{more}", places.len())
}

/// Bars would end a cell.
fn cell_text(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn write_note(judged: &Judged, on_kernel: Option<&Judged>, note: Option<&Note>, out: &mut String) {
    let id = &judged.id;
    let text = match (note.filter(|note| !note.tried.is_empty()), judged.verdict) {
        (Some(note), _) => format!("Tried: {} {}", sentence(&note.tried), sentence(&note.why)),
        (None, Verdict::DoesNotHold) => "Not explained yet.".to_owned(),
        (None, _) => String::new(),
    };
    if !text.is_empty() {
        let _ = writeln!(out, "**{id}** {}. {text}\n", says(judged.verdict));
    }
    let Some(on_kernel) = on_kernel else { return };
    let differs = on_kernel.verdict != Verdict::NotEnoughData && on_kernel.verdict != judged.verdict;
    let text = match note.filter(|note| !note.kernel.is_empty()) {
        Some(note) => sentence(&note.kernel),
        None if differs => "Not explained yet.".to_owned(),
        None => return,
    };
    let _ = writeln!(out, "**{id}** on the kernel {}. {text}\n", says(on_kernel.verdict));
}

fn says(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::DoesNotHold => "does not hold",
        Verdict::Holds => "holds",
        Verdict::NotEnoughData => "cannot be judged",
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with('.') {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

fn write_paper(entry: &Entry, out: &mut String) {
    let (summary, kernel) = (&entry.sim, entry.kernel.as_ref());
    if summary.paper.is_empty() {
        return;
    }
    let (heads, line) = if kernel.is_some() { (" kernel | off, % |", " ---: | ---: |") } else { ("", "") };
    let _ = writeln!(out, "| measure | place | where | unit | paper | here | off, % |{heads}");
    let _ = writeln!(out, "| --- | --- | --- | --- | ---: | ---: | ---: |{line}");
    for row in &summary.paper {
        let mut cells = paper_cells(summary, row).to_vec();
        if let Some(kernel) = kernel {
            cells.extend(kernel::paper_cells(kernel.paper(row)));
        }
        let cells: Vec<String> = cells.iter().map(|cell| cell_text(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

fn paper_cells(summary: &Summary, row: &PaperRow) -> [String; 7] {
    let place = summary.axes.iter().filter_map(|axis| Some(format!("{} = {}", axis.name, row.place.get(&axis.name)?)));
    let error = row.error.map_or_else(String::new, |error| format!(" ± {}", number(error)));
    [
        format!("`{}`", row.measure),
        place.collect::<Vec<_>>().join(", "),
        row.stands.clone(),
        unit(&row.unit).to_owned(),
        format!("{}{error}", number(row.paper)),
        estimate_or_dash(row.ours.as_ref()),
        row.off_pct.map_or_else(|| "-".to_owned(), |off| format!("{off:+.1}")),
    ]
}
