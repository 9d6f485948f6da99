// SPDX-License-Identifier: GPL-2.0-only
//! The table of what papers state and what came out here, as Markdown.

mod answer;
mod cells;
mod changes;
mod entry;
mod figures;
mod kernel;
mod known;
mod notes;
mod overview;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::scenario::Scenario;
use crate::shipped::shipped;
pub use answer::{answer, Reproduced};
pub use notes::{read_notes, Note, NotesError};
pub use record::Record;

use known::{is_cause, ClaimResult, Known, Outcome, Side, Stated};

/// The ids of all statements of the shipped scenarios.
#[must_use]
pub fn statement_ids() -> BTreeSet<String> {
    let scenarios = shipped().into_iter().filter_map(|it| Scenario::of_text(Path::new(it.name), it.text, &[]).ok());
    scenarios.flat_map(|scenario| scenario.statements.into_iter().map(|statement| statement.id)).collect()
}

/// The whole page: the simulator's results, and the running kernel's beside them where there are some; with the pictures of a
/// folder that stands beside the page.
#[must_use]
pub fn reproduction(record: &Record, notes: &BTreeMap<String, Note>, figures: Option<&Path>) -> String {
    let has_kernel = record.scenarios.values().any(|known| !known.kernel.is_empty());
    let mut out = String::from(
        "# Reproduction of published results\n\n\
         Written by `scripts/reproduce`; do not edit. Every statement of the papers that can be checked, our numbers, and \
         whether they bear it out. Scenarios follow the papers as closely as their texts allow; nothing is tuned for a \
         single statement. Numbers are means over repeats ± standard error; in the tables of the papers' values ± is half \
         of the 95 % confidence interval.\n\n",
    );
    overview::write(record, has_kernel, notes, &mut out);
    out.push_str("## Counts\n\n");
    write_counts(record, has_kernel, &mut out);
    out.push_str(
        "The simulator gives the same numbers on every machine: `scripts/reproduce` runs everything and writes this page \
         again, `ccctl lab run NAME` repeats one row and draws its page, and `ccctl lab show NAME` prints what is run.\n",
    );
    if has_kernel {
        out.push_str(
            "\nThe running kernel's column is made by `scripts/reproduce --backend netns` out of the points in \
             `configs/reproduction-netns.txt`: those that two processors carry faithfully. Runs that the path calls invalid are in \
             no number. A statement holds where run if places, or values of a course, that it needs are missing and all others \
             bear it out, is not decided if only some do, and is not run where all are missing. Where a scenario was run there with \
             several settings, those nearest to the simulator's that decide a statement are shown, by their number.\n",
        );
    }
    if figures.is_some() {
        out.push_str(
            "\nFigures: where a paper prints numbers, its values and ours stand beside each other. Where it has a figure without \
             numbers in its text, ours has the same axes, to be held against the paper's; the kernel's lines are dashed. The \
             values are in `docs/results/runs`, a line of JSON for each run.\n",
        );
    }
    for (name, known) in &record.scenarios {
        write_scenario(name, known, has_kernel, notes, &mut out);
        if let Some(folder) = figures {
            write_figures(name, folder, &mut out);
        }
    }
    out
}

/// Columns of the simulator, and of both.
const COUNTS: [usize; 2] = [5, 11];

fn write_counts(record: &Record, has_kernel: bool, out: &mut String) {
    let (heads, line) = if has_kernel {
        (
            " kernel: hold | hold where run | do not hold | not decided | not run | runs |",
            " ---: | ---: | ---: | ---: | ---: | ---: |",
        )
    } else {
        ("", "")
    };
    let columns = COUNTS[usize::from(has_kernel)];
    let _ = writeln!(out, "| scenario | statements | hold | do not hold | not enough data | runs |{heads}");
    let _ = writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |{line}");
    let mut totals = [0; COUNTS[1]];
    for (name, known) in &record.scenarios {
        let numbers = row_of_counts(name, known);
        let mut cells: Vec<String> = numbers.iter().map(usize::to_string).collect();
        if known.sim.runs_done < known.sim.runs {
            cells[4] = format!("{} of {}", known.sim.runs_done, known.sim.runs);
        }
        let _ = writeln!(out, "| [{name}](#{name}) | {} |", cells[..columns].join(" | "));
        for (total, value) in totals.iter_mut().zip(numbers) {
            *total += value;
        }
    }
    let bold: Vec<String> = totals[..columns].iter().map(|total| format!("**{total}**")).collect();
    let _ = writeln!(out, "| **all** | {} |\n", bold.join(" | "));
}

/// The papers' statements, the simulator's verdicts and runs, the kernel's verdicts and runs.
fn row_of_counts(name: &str, known: &Known) -> [usize; COUNTS[1]] {
    let statements: Vec<&Stated> = known.statements.iter().filter(|stated| !is_cause(&stated.stands)).collect();
    let verdicts = |side: &dyn Fn(&Stated) -> Option<ClaimResult>| -> Vec<Option<Outcome>> {
        statements.iter().map(|stated| side(stated).map(|found| found.verdict)).collect()
    };
    let sim = verdicts(&|stated| known.sim.found.get(&stated.id).cloned());
    let kernel = verdicts(&|stated| kernel::nearest(known, &stated.id));
    let count =
        |side: &[Option<Outcome>], verdict: Option<Outcome>| side.iter().filter(|found| **found == verdict).count();
    let [holds, where_run, not, undecided] =
        [Outcome::Holds, Outcome::HoldsWhereRun, Outcome::DoesNotHold, Outcome::Undecided].map(Some);
    [
        statements.len(),
        count(&sim, holds),
        count(&sim, not),
        count(&sim, undecided),
        known.sim.runs_done,
        count(&kernel, holds),
        count(&kernel, where_run),
        count(&kernel, not),
        count(&kernel, undecided),
        if kernel::can_run(name) { count(&kernel, None) } else { 0 },
        known.kernel.iter().map(|side| side.runs_done).sum(),
    ]
}

fn write_scenario(name: &str, known: &Known, has_kernel: bool, notes: &BTreeMap<String, Note>, out: &mut String) {
    let _ = writeln!(out, "\n## {name}\n\n{}. {}\n", known.title, known.source);
    let of_sim = [&known.notes, &known.sim.description].into_iter().cloned();
    let of_testbed = known.testbed.iter().map(|side| format!("With the noise of the testbed: {}", runs(side)));
    for paragraph in of_sim.chain(of_testbed).chain(kernel::paragraphs(known)).filter(|text| !text.is_empty()) {
        let _ = writeln!(out, "{paragraph}\n");
    }
    write_statements(known, has_kernel, out);
    for stated in &known.statements {
        write_note(stated, known, notes.get(&stated.id), out);
    }
    write_paper(known, out);
}

/// What was run of how much.
fn runs(side: &Side) -> String {
    format!("{} of {} runs. {}", side.runs_done, side.runs, side.description)
}

fn write_statements(known: &Known, has_kernel: bool, out: &mut String) {
    if known.statements.is_empty() {
        return;
    }
    let (noise_heads, noise_line) =
        if known.testbed.is_some() { (" testbed's noise | verdict |", " --- | --- |") } else { ("", "") };
    let (heads, line) = if has_kernel { (" kernel | verdict |", " --- | --- |") } else { ("", "") };
    let _ = writeln!(out, "| id | statement | where | here | verdict |{noise_heads}{heads}");
    let _ = writeln!(out, "| --- | --- | --- | --- | --- |{noise_line}{line}");
    for stated in &known.statements {
        let [text, verdict] = found_cells(known.sim.found.get(&stated.id), "not enough data");
        let mut cells = vec![stated.id.clone(), stated.text.clone(), stated.stands.clone(), text, verdict];
        if let Some(testbed) = &known.testbed {
            cells.extend(found_cells(testbed.found.get(&stated.id), "not decided"));
        }
        if has_kernel {
            cells.extend(found_cells(kernel::nearest(known, &stated.id).as_ref(), "not decided"));
        }
        write_row(&cells, out);
    }
    out.push('\n');
}

fn found_cells(found: Option<&ClaimResult>, undecided: &str) -> [String; 2] {
    let Some(found) = found else { return ["not run".to_owned(), "-".to_owned()] };
    let verdict = match found.verdict {
        Outcome::Holds => "holds",
        Outcome::HoldsWhereRun => "holds where run",
        Outcome::DoesNotHold => "**does not hold**",
        Outcome::Undecided => undecided,
    };
    [found.text.clone(), verdict.to_owned()]
}

/// Bars would end a cell.
fn write_row(cells: &[String], out: &mut String) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

fn write_note(stated: &Stated, known: &Known, note: Option<&Note>, out: &mut String) {
    let id = &stated.id;
    let on_sim = known.sim.found.get(id).map_or(Outcome::Undecided, |found| found.verdict);
    let text = match note.filter(|note| !note.tried.is_empty()) {
        Some(note) => format!("Tried: {} {}", sentence(&note.tried), sentence(&note.why)),
        None if on_sim == Outcome::DoesNotHold => "Not explained yet.".to_owned(),
        None => String::new(),
    };
    if !text.is_empty() {
        let _ = writeln!(out, "**{id}** {}. {text}\n", says(on_sim));
    }
    let on_kernel = kernel::nearest(known, id).map(|found| found.verdict);
    let is_contrary = match (on_sim, on_kernel) {
        (Outcome::Holds, kernel) => kernel == Some(Outcome::DoesNotHold),
        // What does not hold there may not have been run here.
        (Outcome::DoesNotHold, kernel) => kernel == Some(Outcome::Holds),
        _ => false,
    };
    let text = match note.filter(|note| !note.kernel.is_empty()) {
        Some(note) => sentence(&note.kernel),
        None if is_contrary => "Not explained yet.".to_owned(),
        None => return,
    };
    let _ = writeln!(out, "**{id}** on the kernel {}. {text}\n", on_kernel.map_or("is not run", says));
}

fn says(verdict: Outcome) -> &'static str {
    match verdict {
        Outcome::DoesNotHold => "does not hold",
        Outcome::Holds => "holds",
        Outcome::HoldsWhereRun => "holds where run",
        Outcome::Undecided => "cannot be judged",
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

fn write_figures(name: &str, folder: &Path, out: &mut String) {
    let link = folder.file_name().unwrap_or_default().to_string_lossy();
    for file in figures::files(folder, name) {
        let what = file.trim_end_matches(".svg").replacen('.', ": ", 1).replace('-', " ");
        let _ = writeln!(out, "![{what}]({link}/{file})\n");
    }
}

fn write_paper(known: &Known, out: &mut String) {
    if known.paper.is_empty() {
        return;
    }
    let has_kernel = !known.kernel.is_empty();
    let (heads, line) = if has_kernel { (" kernel | off, % |", " ---: | ---: |") } else { ("", "") };
    let _ = writeln!(out, "| measure | place | where | unit | paper | here | off, % |{heads}");
    let _ = writeln!(out, "| --- | --- | --- | --- | ---: | ---: | ---: |{line}");
    for row in &known.paper {
        let or_dashes = |value: Option<[String; 2]>| value.unwrap_or_else(|| ["-", "-"].map(str::to_owned));
        let (measure, place) = (format!("`{}`", row.measure), row.place.clone());
        let mut cells = vec![measure, place, row.stands.clone(), row.unit.clone(), row.value.clone()];
        cells.extend(or_dashes(known.sim.paper.get(&row.key()).cloned()));
        if has_kernel {
            cells.extend(or_dashes(kernel::nearest_value(known, row)));
        }
        write_row(&cells, out);
    }
    out.push('\n');
}
