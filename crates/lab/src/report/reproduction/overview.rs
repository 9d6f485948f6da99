// SPDX-License-Identifier: GPL-2.0-only
//! The table at the top: each statement of each paper in a row, what became of it, and why.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::entry::shipped_scenario;
use super::kernel;
use super::known::{is_cause, Known, Outcome, Stated};
use super::notes::Note;
use super::record::Record;
use super::write_row;
use crate::scenario::Testbed;

/// A cause in the table has at least so many letters, to the end of a sentence.
const CAUSE_LETTERS: usize = 60;

/// The papers that this began with.
const FIVE: [&str; 5] = ["S0", "S1", "S2", "S3", "S4"];

/// Number of the cell of the kernel's verdict.
const KERNEL_CELL: usize = 4;

/// Writes it, and what noise the testbeds had.
pub(super) fn write(record: &Record, has_kernel: bool, notes: &BTreeMap<String, Note>, out: &mut String) {
    let (kernel, head, line) =
        if has_kernel { ("; on the running kernel", " kernel |", " --- |") } else { ("", "", "") };
    let _ = write!(
        out,
        "## All statements\n\nEach statement of the papers: in the simulator, which knows no noise (exact); in the simulator \
         with the noise that the paper's testbed had by its own documents{kernel}. \"-\": the testbed had no noise, or \
         no document tells of it, or Linux has no router of XCP. The cause says in short why it does not hold, or was not run; the scenario's section has the whole. \
         Claims (-C) are of runs that show it ([causes](#causes)).\n\n"
    );
    let causes = causes(record);
    for (title, is_of_the_five) in [("The five papers", true), ("Other papers", false)] {
        let scenarios = record
            .scenarios
            .iter()
            .filter(|(_, known)| is_of_the_five == FIVE.contains(&paper(&known.source).as_str()));
        let rows: Vec<_> = scenarios.flat_map(|(name, known)| rows(name, known, &causes, notes)).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = write!(
            out,
            "### {title}\n\n| statement | what it says | exact | testbed's noise |{head} cause |\n| --- | --- | --- | --- |{line} --- |\n"
        );
        for mut cells in rows {
            if !has_kernel {
                cells.remove(KERNEL_CELL);
            }
            write_row(&cells, out);
        }
        out.push('\n');
    }
    write_noise(record, out);
    write_causes(&causes, out);
}

/// Those of a scenario's statements, the kernel's cell among them.
fn rows(
    name: &str,
    known: &Known,
    causes: &BTreeMap<String, Cause<'_>>,
    notes: &BTreeMap<String, Note>,
) -> Vec<Vec<String>> {
    let has_noise = shipped_testbed(name).is_some_and(|testbed| !testbed.set.is_empty());
    let stated = known.statements.iter().filter(|stated| !is_cause(&stated.stands));
    let one = |stated: &Stated| {
        let mut cells = row(name, known, has_noise, stated, notes.get(&stated.id));
        if let (Some(text), Some(claim)) = (cells.last_mut(), causes.get(&stated.id)) {
            *text = format!("{}: {text}", claim.link());
        }
        cells
    };
    stated.map(one).collect()
}

/// A claim of why a statement does not hold.
struct Cause<'a> {
    scenario: &'a str,
    claim: &'a Stated,
    verdict: Option<Outcome>,
}

impl Cause<'_> {
    fn link(&self) -> String {
        format!("[{}](#{})", self.claim.id, self.scenario)
    }
}

/// By the statement.
fn causes(record: &Record) -> BTreeMap<String, Cause<'_>> {
    let mut causes = BTreeMap::new();
    for (scenario, known) in &record.scenarios {
        for claim in known.statements.iter().filter(|stated| is_cause(&stated.stands)) {
            let verdict = known.sim.found.get(&claim.id).map(|found| found.verdict);
            causes.insert(claim.id.trim_end_matches("-C").to_owned(), Cause { scenario, claim, verdict });
        }
    }
    causes
}

fn write_causes(causes: &BTreeMap<String, Cause<'_>>, out: &mut String) {
    if causes.is_empty() {
        return;
    }
    out.push_str(
        "## Causes\n\nWhy a statement does not hold, shown in the simulator by a scenario with one thing changed. The claim is of both: with the \
         change and, where it says so, without.\n\n| claim | what it says | exact |\n| --- | --- | --- |\n",
    );
    for cause in causes.values() {
        write_row(&[cause.link(), cause.claim.text.clone(), verdict_text(cause.verdict)], out);
    }
    out.push('\n');
}

fn verdict_text(verdict: Option<Outcome>) -> String {
    match verdict {
        Some(Outcome::DoesNotHold) => "**does not hold**".to_owned(),
        Some(verdict) => verdict.text().to_owned(),
        None => "not run".to_owned(),
    }
}

fn row(name: &str, known: &Known, has_noise: bool, stated: &Stated, note: Option<&Note>) -> Vec<String> {
    let id = &stated.id;
    let exact = known.sim.found.get(id).map(|found| found.verdict);
    let noisy = known.testbed.as_ref().and_then(|side| side.found.get(id)).map(|found| found.verdict);
    let kernel = kernel::nearest(known, id).map(|found| found.verdict);
    let noisy_text = if has_noise || noisy.is_some() { verdict_text(noisy) } else { "-".to_owned() };
    vec![
        format!("[{id}](#{name})"),
        stated.text.clone(),
        verdict_text(exact),
        noisy_text,
        if kernel.is_none() && !kernel::can_run(name) { "-".to_owned() } else { verdict_text(kernel) },
        cause(exact, noisy, kernel, note),
    ]
}

/// Why it does not hold, and why the kernel's was not run.
fn cause(exact: Option<Outcome>, noisy: Option<Outcome>, kernel: Option<Outcome>, note: Option<&Note>) -> String {
    let fails = |verdict: Option<Outcome>| verdict == Some(Outcome::DoesNotHold);
    let in_simulator = fails(exact) || fails(noisy);
    let of_simulator = note.and_then(|note| [&note.why, &note.tried].into_iter().find(|text| !text.is_empty()));
    let of_kernel = note.map(|note| &note.kernel).filter(|text| !text.is_empty());
    let short = |text: Option<&String>| text.map_or_else(|| "not explained yet".to_owned(), |text| beginning(text));
    let mut told = Vec::new();
    if in_simulator {
        told.push(short(of_simulator));
    } else if fails(kernel) {
        told.push(short(of_kernel));
    }
    if kernel.is_none() {
        told.extend(of_kernel.map(|text| beginning(text)));
    }
    told.join(" ")
}

/// Whole sentences from the beginning of a text.
fn beginning(text: &str) -> String {
    let text = text.trim();
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    let is_end = |at: &usize| text[at + 1..].starts_with(|letter: char| letter.is_ascii_uppercase());
    let end = ends.filter(is_end).find(|at| *at >= CAUSE_LETTERS).unwrap_or(text.len());
    text[..end].to_owned()
}

/// Of each paper once.
fn write_noise(record: &Record, out: &mut String) {
    let mut by_paper: BTreeMap<String, Testbed> = BTreeMap::new();
    for (name, known) in &record.scenarios {
        let Some(testbed) = shipped_testbed(name) else { continue };
        by_paper.entry(paper(&known.source)).or_insert(testbed);
    }
    if by_paper.is_empty() {
        return;
    }
    out.push_str("Noise of the testbeds:\n\n");
    for (paper, testbed) in by_paper {
        let set: Vec<String> = testbed.set.iter().map(|(path, value)| format!("`{path}` = {value}")).collect();
        let set = if set.is_empty() { String::new() } else { format!("{}. ", set.join(", ")) };
        let _ = writeln!(out, "- {paper}: {set}{}", testbed.source);
    }
    out.push('\n');
}

/// "S4" of "S4: Weigle, ...".
fn paper(source: &str) -> String {
    source.split(':').next().unwrap_or_default().to_owned()
}

fn shipped_testbed(name: &str) -> Option<Testbed> {
    shipped_scenario(name)?.testbed
}

#[cfg(test)]
mod tests {
    use super::beginning;

    #[test]
    fn a_cause_is_of_whole_sentences() {
        assert_eq!(
            beginning("Two reasons. Flows in step with the queue lose, always the same one: the phase. More."),
            "Two reasons. Flows in step with the queue lose, always the same one: the phase."
        );
        let number =
            "With a threshold of 0.95 at 16 ms and none at all at 320 ms the order is kept, by 1. and 2. alike";
        assert_eq!(beginning(number), number);
    }
}
