//! The table of what papers state and what came out here, as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::number::{estimate_or_dash, number, unit};
use crate::run::{PaperRow, RunError, Summary};
use crate::scenario::Scenario;
use crate::shipped::shipped;
use crate::statements::{Judged, JudgedPlace, Verdict};

/// So many places of a statement have their numbers in the table; of more, those that matter.
const MAX_PLACES: usize = 3;

/// What is known of a statement that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// What was tried to find out.
    pub tried: String,
    /// Why our result differs.
    pub why: String,
}

/// Why notes cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// The file system.
    #[error("cannot read {}: {cause}", file.display())]
    Io {
        /// Of what.
        file: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// No notes.
    #[error("{}: {cause}; a note is [ID] with tried = \"...\" and why = \"...\"", file.display())]
    Toml {
        /// Where.
        file: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// There is no such statement.
    #[error("{}: no scenario has a statement {id:?}; {remedy}", file.display())]
    Unknown {
        /// Where.
        file: PathBuf,
        /// Its id.
        id: String,
        /// Which it may be.
        remedy: String,
    },
}

/// Notes by the ids of statements, all of which are there.
pub fn read_notes(file: &Path, known: &BTreeSet<String>) -> Result<BTreeMap<String, Note>, NotesError> {
    let text = std::fs::read_to_string(file).map_err(|cause| NotesError::Io { file: file.to_owned(), cause })?;
    let notes: BTreeMap<String, Note> = toml::from_str(&text).map_err(|error| NotesError::Toml {
        file: file.to_owned(),
        cause: error.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" "),
    })?;
    match notes.keys().find(|id| !known.contains(*id)) {
        None => Ok(notes),
        Some(id) => Err(NotesError::Unknown {
            file: file.to_owned(),
            id: id.clone(),
            remedy: crate::scenario::did_you_mean(id, known.iter().map(String::as_str)),
        }),
    }
}

/// The ids of all statements of the shipped scenarios.
#[must_use]
pub fn statement_ids() -> BTreeSet<String> {
    let scenarios = shipped().into_iter().filter_map(|it| Scenario::of_text(Path::new(it.name), it.text, &[]).ok());
    scenarios.flat_map(|scenario| scenario.statements.into_iter().map(|statement| statement.id)).collect()
}

/// The whole page.
pub fn reproduction(folders: &[PathBuf], notes: &BTreeMap<String, Note>) -> Result<String, RunError> {
    let mut summaries = Vec::new();
    for folder in folders {
        let scenario = crate::run::load(folder)?;
        summaries.push(crate::run::summarise(folder, &scenario)?);
    }
    summaries.sort_by(|a, b| a.versions.scenario.cmp(&b.versions.scenario));
    if let Some(pair) = summaries.windows(2).find(|pair| pair[0].versions.scenario == pair[1].versions.scenario) {
        let what = format!("a second result of {}; name one folder of each scenario", pair[1].versions.scenario);
        let folder = folders.last().cloned().unwrap_or_default();
        return Err(RunError::Damaged { file: folder, what });
    }
    Ok(page(&summaries, notes))
}

fn page(summaries: &[Summary], notes: &BTreeMap<String, Note>) -> String {
    let mut out = String::from(
        "# Reproduction of published results\n\n\
         Written by `scripts/reproduce`; do not edit. Every statement of the papers that can be checked, our numbers, and \
         whether they bear it out. Scenarios follow the papers as closely as their texts allow; nothing is tuned for a \
         single statement. Numbers are means over repeats ± standard error; in the tables of the papers' values ± is half \
         of the 95 % confidence interval.\n\n",
    );
    write_counts(summaries, &mut out);
    out.push_str(
        "The simulator gives the same numbers on every machine: `scripts/reproduce` runs everything and writes this page \
         again, `ccctl lab run NAME` repeats one row and draws its page, and `ccctl lab show NAME` prints what is run.\n",
    );
    for summary in summaries {
        write_scenario(summary, notes, &mut out);
    }
    out
}

fn count(summary: &Summary, verdict: Verdict) -> usize {
    summary.statements.iter().filter(|judged| judged.verdict == verdict).count()
}

fn write_counts(summaries: &[Summary], out: &mut String) {
    out.push_str("| scenario | statements | hold | do not hold | not enough data | runs |\n");
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    let verdicts = [Verdict::Holds, Verdict::DoesNotHold, Verdict::NotEnoughData];
    let mut totals = [0; 5];
    for summary in summaries {
        let counts = verdicts.map(|verdict| count(summary, verdict));
        let runs = if summary.runs_done == summary.runs {
            summary.runs.to_string()
        } else {
            format!("{} of {}", summary.runs_done, summary.runs)
        };
        let name = &summary.versions.scenario;
        let all = summary.statements.len();
        let _ = writeln!(out, "| [{name}](#{name}) | {all} | {} | {} | {} | {runs} |", counts[0], counts[1], counts[2]);
        for (total, value) in totals.iter_mut().zip([all, counts[0], counts[1], counts[2], summary.runs_done]) {
            *total += value;
        }
    }
    let bold: Vec<String> = totals.iter().map(|total| format!("**{total}**")).collect();
    let _ = writeln!(out, "| **all** | {} |\n", bold.join(" | "));
}

fn write_scenario(summary: &Summary, notes: &BTreeMap<String, Note>, out: &mut String) {
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
    if !summary.statements.is_empty() {
        out.push_str("| id | statement | where | here | verdict |\n| --- | --- | --- | --- | --- |\n");
        for judged in &summary.statements {
            let cells = [&judged.id, &judged.text, &judged.stands, &found(judged), &verdict(judged).to_owned()];
            let _ = writeln!(out, "| {} |", cells.map(|cell| cell_text(cell)).join(" | "));
        }
        out.push('\n');
    }
    for judged in &summary.statements {
        write_note(judged, notes.get(&judged.id), out);
    }
    write_paper(summary, out);
}

fn verdict(judged: &Judged) -> &'static str {
    match judged.verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "**does not hold**",
        Verdict::NotEnoughData => "not enough data",
    }
}

/// The numbers of a few places: of all, or of those that decide against it.
fn found(judged: &Judged) -> String {
    let places: Vec<&JudgedPlace> = judged.checks.iter().flat_map(|check| &check.places).collect();
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

fn write_note(judged: &Judged, note: Option<&Note>, out: &mut String) {
    let id = &judged.id;
    let says = match judged.verdict {
        Verdict::DoesNotHold => "does not hold",
        Verdict::Holds => "holds",
        Verdict::NotEnoughData => "cannot be judged",
    };
    let text = match (note, judged.verdict) {
        (Some(note), _) => format!("Tried: {} {}", sentence(&note.tried), sentence(&note.why)),
        (None, Verdict::DoesNotHold) => "Not explained yet.".to_owned(),
        (None, _) => return,
    };
    let _ = writeln!(out, "**{id}** {says}. {text}\n");
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with('.') {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

fn write_paper(summary: &Summary, out: &mut String) {
    if summary.paper.is_empty() {
        return;
    }
    out.push_str(
        "| measure | place | where | unit | paper | here | off, % |\n| --- | --- | --- | --- | ---: | ---: | ---: |\n",
    );
    for row in &summary.paper {
        let _ = writeln!(out, "| {} |", paper_cells(summary, row).map(|cell| cell_text(&cell)).join(" | "));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notes_of_this_repository_are_about_statements_that_there_are() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/reproduction-notes.toml");
        if let Err(error) = read_notes(&file, &statement_ids()) {
            panic!("{error}");
        }
    }

    #[test]
    fn a_note_about_nothing_is_refused() {
        let known = BTreeSet::from(["S4-W3".to_owned()]);
        let file = std::env::temp_dir().join(format!("ccctl-notes-{}.toml", std::process::id()));
        std::fs::write(&file, "[S4-W33]\ntried = \"a\"\nwhy = \"b\"\n").unwrap();
        let error = read_notes(&file, &known).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(error.contains("no scenario has a statement \"S4-W33\"; did you mean S4-W3?"), "{error}");
    }
}
