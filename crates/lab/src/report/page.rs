// SPDX-License-Identifier: GPL-2.0-only
//! The page of a folder.

use std::collections::BTreeMap;

use ccctl_series::{Cell, Grid, Page, Part};

use super::number::{estimate_or_dash, number, unit, with_unit};
use super::{Content, Drawing, Picture};
use crate::measures::INTERVAL_REPEATS;
use crate::run::{InvalidRun, PaperRow, PointSummary, Summary};
use crate::statements::{Judged, Verdict};

/// Pictures that are seen at once; more fold away.
const OPEN_PICTURES: usize = 12;

pub(super) fn page(content: Content<'_>) -> Page {
    let summary = content.summary;
    let mut parts = vec![Part::Facts(head(&content))];
    parts.extend(content.command.clone().map(Part::Command));
    if !summary.notes.is_empty() {
        parts.push(Part::Text(summary.notes.clone()));
    }
    let ran = what_ran(&content);
    parts.extend(content.checks);
    parts.extend(invalid(summary));
    parts.extend(statements(summary));
    parts.extend(paper(summary));
    parts.extend(sweeps(content.sweeps, summary));
    parts.extend(measures(summary));
    if !content.runs.shown.is_empty() {
        parts.push(Part::Heading("Runs over time".to_owned()));
        parts.extend(left_out(content.runs.left_out));
        let is_open = content.runs.shown.len() == 1;
        let group = |(title, picture): (String, Picture)| Part::Group { title, is_open, parts: picture.parts() };
        parts.extend(content.runs.shown.into_iter().map(group));
    }
    parts.extend(ran);
    Page {
        title: title(summary, content.scenario.meant.len()),
        subtitle: format!("{}, {} backend", summary.versions.scenario, summary.versions.backend),
        parts,
    }
}

/// The scenario's, which speaks of all points, and how many of them this folder has.
fn title(summary: &Summary, meant: usize) -> String {
    match summary.points.len() {
        points if points == meant => summary.title.clone(),
        points => format!("{} ({points} of {meant} points)", summary.title),
    }
}

fn fact(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

fn head(content: &Content<'_>) -> Vec<(String, String)> {
    let summary = content.summary;
    let (points, meant) = (summary.points.len(), content.scenario.meant.len());
    let points =
        if points == meant { count(points, "point") } else { format!("{points} of {}", count(meant, "point")) };
    let repeats = count(repeats(summary), "repeat");
    let runs = format!("{} of {}: {points}, {repeats}", summary.runs_done, summary.runs);
    let mut facts = vec![fact("source", summary.source.clone()), fact("runs", runs)];
    if !summary.invalid.is_empty() {
        facts.push(fact("invalid", format!("{} of them; no measure includes them", summary.invalid.len())));
    }
    if !summary.statements.is_empty() {
        let of = |meant| summary.statements.iter().filter(|judged| judged.verdict == meant).count();
        let (hold, fail, open) = (of(Verdict::Holds), of(Verdict::DoesNotHold), of(Verdict::NotEnoughData));
        let holds = if hold == 1 { "holds" } else { "hold" };
        facts.push(fact("statements", format!("{hold} {holds}, {fail} do not, {open} cannot be judged yet")));
    }
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// "1 repeat", "3 repeats"
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn repeats(summary: &Summary) -> usize {
    summary.runs / summary.points.len().max(1)
}

/// What came to no result.
fn invalid(summary: &Summary) -> Vec<Part> {
    if summary.invalid.is_empty() {
        return Vec::new();
    }
    let row = |run: &InvalidRun| {
        let place = place(summary, &run.place);
        let number = |number: u32| Cell::from(number.to_string());
        vec![place.into(), number(run.repeat), number(run.tries), run.reasons.join("; ").into()]
    };
    let grid = Grid {
        caption: "invalid, and excluded from all measures; repeat the command to retry them".to_owned(),
        head: ["place", "repeat", "tries", "why the last attempt is invalid"].map(str::to_owned).to_vec(),
        rows: summary.invalid.iter().map(row).collect(),
    };
    vec![Part::Heading("Invalid runs".to_owned()), Part::Grid(grid)]
}

/// "algorithm = cubic, buffer = 20 % BDP", in the order of the axes.
fn place(summary: &Summary, place: &BTreeMap<String, String>) -> String {
    let words = summary.axes.iter().filter_map(|axis| Some(format!("{} = {}", axis.name, place.get(&axis.name)?)));
    words.collect::<Vec<_>>().join(", ")
}

fn statements(summary: &Summary) -> Vec<Part> {
    if summary.statements.is_empty() {
        return Vec::new();
    }
    // A column without a word is none.
    let is_told_where = summary.statements.iter().any(|judged| !judged.stands.is_empty());
    let row = |judged: &Judged| {
        let stands = is_told_where.then(|| Cell::from(judged.stands.as_str()));
        let first = [judged.id.as_str().into(), judged.text.as_str().into()];
        first.into_iter().chain(stands).chain([verdict(judged.verdict)]).collect()
    };
    let head = ["id", "statement", "where", "verdict"].into_iter().filter(|head| is_told_where || *head != "where");
    let grid = Grid {
        caption: String::new(),
        head: head.map(str::to_owned).collect(),
        rows: summary.statements.iter().map(row).collect(),
    };
    let mut parts = vec![Part::Heading("Statements".to_owned()), Part::Grid(grid)];
    parts.extend(summary.statements.iter().map(judged_by));
    parts
}

fn verdict(verdict: Verdict) -> Cell {
    match verdict {
        Verdict::Holds => Cell::verdict("holds", true),
        Verdict::DoesNotHold => Cell::verdict("does not hold", false),
        Verdict::NotEnoughData => "not enough data".into(),
    }
}

/// The numbers that a statement is judged by.
fn judged_by(judged: &Judged) -> Part {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (number, check) in judged.checks.iter().enumerate() {
        let needed = check.at_least.map_or_else(String::new, |least| format!(", at {least} or more places"));
        for place in &check.places {
            rows.push(vec![
                format!("{}{needed}", number + 1).into(),
                place.place.as_str().into(),
                place.found.as_str().into(),
                verdict(place.verdict),
            ]);
        }
    }
    let caption = match judged.checks.len() {
        checks if judged.at_least < checks => format!("{} of {checks} checks must hold", judged.at_least),
        _ => String::new(),
    };
    let head = ["check", "place", "found", "verdict"].map(str::to_owned).to_vec();
    let title = format!("{}: the numbers", judged.id);
    Part::Group { title, is_open: false, parts: vec![Part::Grid(Grid { caption, head, rows })] }
}

fn paper(summary: &Summary) -> Vec<Part> {
    if summary.paper.is_empty() {
        return Vec::new();
    }
    let row = |row: &PaperRow| {
        let error = row.error.map_or_else(String::new, |error| format!(" ± {}", number(error)));
        vec![
            heading(summary, &row.measure).into(),
            place(summary, &row.place).into(),
            row.stands.as_str().into(),
            unit(&row.unit).into(),
            format!("{}{error}", number(row.paper)).into(),
            estimate_or_dash(row.ours.as_ref()).into(),
            row.off_pct.map_or_else(|| "-".to_owned(), |off| format!("{off:+.1}")).into(),
        ]
    };
    let here = if repeats(summary) < INTERVAL_REPEATS { "here" } else { "here ± 95 %" };
    let head = ["measure", "place", "where", "unit", "paper ± standard error", here, "off, %"];
    let grid = Grid {
        caption: String::new(),
        head: head.map(str::to_owned).to_vec(),
        rows: summary.paper.iter().map(row).collect(),
    };
    vec![Part::Heading("The paper's values and ours".to_owned()), Part::Grid(grid)]
}

fn sweeps(pictures: Vec<Picture>, summary: &Summary) -> Vec<Part> {
    if pictures.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![Part::Heading("Over the sweep".to_owned())];
    let text = match repeats(summary) {
        0 | 1 => "One run of each point: there are no confidence intervals.",
        repeats if repeats < INTERVAL_REPEATS => {
            "Means of two runs of each point, and both runs as dots. Two runs are too few for a confidence interval."
        }
        _ => "Means over the repeats, with 95 % confidence intervals.",
    };
    parts.push(Part::Text(text.to_owned()));
    let title = |picture: &Picture| match &picture.drawing {
        Drawing::Figure(figure) => (figure.title.clone(), figure.subtitle.clone()),
        Drawing::Matrix(matrix) => (matrix.title.clone(), matrix.subtitle.clone()),
    };
    for (number, picture) in pictures.into_iter().enumerate() {
        let (name, place) = title(&picture);
        let title = if place.is_empty() { name } else { format!("{name}; {place}") };
        parts.push(Part::Group { title, is_open: number < OPEN_PICTURES, parts: picture.parts() });
    }
    parts
}

/// A measure in words, or its name where a folder of an older version has none.
fn heading<'a>(summary: &'a Summary, name: &'a str) -> &'a str {
    summary.measures.get(name).map_or(name, |info| info.title.as_str())
}

fn measures(summary: &Summary) -> Vec<Part> {
    let axes: Vec<&String> = summary.axes.iter().map(|axis| &axis.name).collect();
    let heads = summary.wanted.iter().map(|name| {
        with_unit(heading(summary, name), summary.measures.get(name).map_or("", |info| info.unit.as_str()))
    });
    let head = axes.iter().map(|name| (*name).clone()).chain(["repeats".to_owned()]).chain(heads).collect();
    let row = |point: &PointSummary| {
        let place = axes.iter().map(|name| Cell::from(point.place.get(*name).cloned().unwrap_or_default()));
        let values = summary.wanted.iter().map(|name| Cell::from(estimate_or_dash(point.measures.get(name))));
        place.chain([Cell::from(point.repeats.to_string())]).chain(values).collect()
    };
    let values = match repeats(summary) {
        0 | 1 => "one run of each point",
        repeats if repeats < INTERVAL_REPEATS => "means of two runs",
        _ => "mean ± half of the 95 % confidence interval",
    };
    let caption = format!("{values}; measures.csv and runs.csv have all measures");
    let grid = Grid { caption, head, rows: summary.points.iter().map(row).collect() };
    vec![Part::Heading("Measures".to_owned()), Part::Grid(grid)]
}

fn left_out(count: usize) -> Option<Part> {
    let text =
        format!("The first repeat of each point. {count} points are left out here; their series are in series/.");
    (count > 0).then_some(Part::Text(text))
}

fn what_ran(content: &Content<'_>) -> Vec<Part> {
    let versions = &content.summary.versions;
    let mut facts = vec![
        fact("scenario", versions.scenario.clone()),
        fact("ccctl", versions.ccctl.clone()),
        fact("backend", versions.backend.clone()),
        fact("seed", versions.seed.to_string()),
        fact("identity", versions.identity.clone()),
    ];
    facts.extend(versions.settings.iter().map(|(name, value)| fact(name, value.clone())));
    let algorithm = |(name, hash): (&String, &String)| (format!("{name}, SHA-256 of its C file"), hash.clone());
    facts.extend(versions.algorithms.iter().map(algorithm));
    let text = Part::Verbatim(content.scenario.text.clone());
    vec![
        Part::Heading("What ran".to_owned()),
        Part::Facts(facts),
        Part::Group { title: "The scenario".to_owned(), is_open: false, parts: vec![text] },
    ]
}
