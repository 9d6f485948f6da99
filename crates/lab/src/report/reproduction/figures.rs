// SPDX-License-Identifier: GPL-2.0-only
//! Pictures for the page: a paper's values with ours beside them, and what the paper has figures of, over the same axes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ccctl_series::{Axis, Figure, Line, Panel, Point, Scale, Style};

use super::entry::Entry;
use super::known::{Known, PaperValue, Side};
use super::record::Record;
use crate::report::{sweep, write_file, Drawing, Picture};
use crate::run::{RunError, Summary};

/// More places than this are spread over pictures, by the first axis.
const MAX_PLACES: usize = 9;
/// Fewer are a row of the table and no picture.
const MIN_PLACES: usize = 3;
/// How far beside each other the paper's value and ours stand.
const BESIDE: f64 = 0.2;
/// Files of pictures of a paper's values: SCENARIO.values[-PLACE].svg. Others: SCENARIO.MEASURE[-PLACE].svg
const VALUES: &str = "values";

/// Draws the values of all papers, in place of those that are there.
pub(super) fn write_values(record: &Record, folder: &Path) -> Result<(), RunError> {
    for (name, known) in &record.scenarios {
        write(folder, name, |kind| kind.starts_with(VALUES), &values(known))?;
    }
    Ok(())
}

/// Draws what papers have figures of, for a scenario whose runs in the simulator are there.
pub(super) fn write_swept(entry: &Entry, folder: &Path) -> Result<(), RunError> {
    let Some(sim) = &entry.sim else { return Ok(()) };
    let kernel = entry.kernel.first().map(|kernel| &kernel.summary);
    write(folder, &entry.name, |kind| !kind.starts_with(VALUES), &swept(&sim.summary, kernel))
}

/// Names of a scenario's pictures in the folder.
pub(super) fn files(folder: &Path, scenario: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| kind_of(name, scenario).is_some()).collect();
    names.sort();
    names
}

/// "values-florida" of "s2-table5-7.values-florida.svg".
fn kind_of<'a>(file: &'a str, scenario: &str) -> Option<&'a str> {
    file.strip_prefix(scenario)?.strip_prefix('.')?.strip_suffix(".svg")
}

fn write(folder: &Path, scenario: &str, replaces: impl Fn(&str) -> bool, pictures: &[Picture]) -> Result<(), RunError> {
    fs::create_dir_all(folder).map_err(RunError::io("create", folder))?;
    for old in files(folder, scenario).iter().filter(|file| kind_of(file, scenario).is_some_and(&replaces)) {
        let path = folder.join(old);
        fs::remove_file(&path).map_err(RunError::io("remove", &path))?;
    }
    for picture in pictures {
        write_file(&folder.join(format!("{scenario}.{}.svg", picture.name)), picture.svg().as_bytes())?;
    }
    Ok(())
}

/// The simulator's, with the kernel's dashed beside it; of pairs both have a picture.
fn swept(sim: &Summary, kernel: Option<&Summary>) -> Vec<Picture> {
    let of_sim = sweep::pictures_of(sim, &sim.figures);
    let Some(kernel) = kernel else { return of_sim };
    let mut of_kernel = sweep::pictures_of(kernel, &sim.figures);
    let mut found = Vec::new();
    for mut picture in of_sim {
        let other = of_kernel.iter().position(|other| other.name == picture.name).map(|at| of_kernel.remove(at));
        let mut own = None;
        match (&mut picture.drawing, other) {
            (Drawing::Figure(figure), Some(Picture { drawing: Drawing::Figure(other), .. })) => {
                sweep::add_dashed(figure, &other, "kernel");
            }
            (Drawing::Matrix(_), Some(Picture { drawing: Drawing::Matrix(mut matrix), .. })) => {
                let words = [matrix.subtitle.as_str(), "on the kernel"];
                matrix.subtitle = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
                own = Some(Picture::matrix(format!("{} kernel", picture.name), matrix));
            }
            _ => {}
        }
        found.push(picture);
        found.extend(own);
    }
    found
}

/// A value of a paper, and where it stands in a picture.
struct Row<'a> {
    value: &'a PaperValue,
    /// Axes of the sweep and their values.
    place: Vec<(String, String)>,
}

impl<'a> Row<'a> {
    fn of(value: &'a PaperValue) -> Self {
        Self { value, place: place(&value.place) }
    }

    /// "goodput" of "goodput:new", and "new".
    fn measure(&self) -> (&'a str, &'a str) {
        self.value.measure.split_once(':').unwrap_or((&self.value.measure, ""))
    }

    fn at(&self, axis: &str) -> &str {
        self.place.iter().find(|(name, _)| name == axis).map_or("", |(_, value)| value)
    }

    fn label(&self, has_subject: bool, axes: &[&str]) -> String {
        let subject = if has_subject { self.measure().1 } else { "" };
        let words: Vec<&str> = [subject].into_iter().chain(axes.iter().map(|axis| self.at(axis))).collect();
        words.join(" ").trim().to_owned()
    }
}

/// "path = ireland, flows = 2"; a value may have a comma of its own.
fn place(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for part in text.split(", ") {
        match (part.split_once(" = "), found.last_mut()) {
            (Some((axis, value)), _) => found.push((axis.to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value = format!("{value}, {part}"),
            (None, None) => {}
        }
    }
    found
}

fn values(known: &Known) -> Vec<Picture> {
    let rows: Vec<Row<'_>> = known.paper.iter().map(Row::of).collect();
    let varying = varying(&rows);
    let axes: Vec<&str> = varying.iter().map(String::as_str).collect();
    let has_subject = has_subjects(&rows);
    let places: BTreeSet<String> = rows.iter().map(|row| row.label(has_subject, &axes)).collect();
    match axes.split_first() {
        _ if places.len() < MIN_PLACES => Vec::new(),
        Some((first, rest)) if places.len() > MAX_PLACES && (has_subject || !rest.is_empty()) => {
            let facets = unique(rows.iter().map(|row| row.at(first)));
            let one = |facet: &&str| {
                let here: Vec<&Row<'_>> = rows.iter().filter(|row| row.at(first) == *facet).collect();
                let figure = figure(known, &here, has_subject, rest, &format!("{first} = {facet}"));
                Picture::figure(format!("{VALUES} {facet}"), figure)
            };
            facets.iter().map(one).collect()
        }
        _ => {
            let all: Vec<&Row<'_>> = rows.iter().collect();
            vec![Picture::figure(VALUES, figure(known, &all, has_subject, &axes, ""))]
        }
    }
}

/// Axes with more than one value.
fn varying(rows: &[Row<'_>]) -> Vec<String> {
    let axes = unique(rows.iter().flat_map(|row| row.place.iter().map(|(axis, _)| axis.as_str())));
    let varies = |axis: &&str| rows.iter().map(|row| row.at(axis)).collect::<BTreeSet<_>>().len() > 1;
    axes.into_iter().filter(varies).map(str::to_owned).collect()
}

/// Is anything measured of several flows or links?
fn has_subjects(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|row| {
        let (measure, subject) = row.measure();
        rows.iter().any(|other| other.measure().0 == measure && other.measure().1 != subject)
    })
}

/// Each once, in the order in which they come.
fn unique<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    words.filter(|word| seen.insert(*word)).collect()
}

fn figure(known: &Known, rows: &[&Row<'_>], has_subject: bool, axes: &[&str], subtitle: &str) -> Figure {
    // A place that a paper has two values for, in two tables, is there twice.
    let mut placed: Vec<(&Row<'_>, String)> = Vec::new();
    for row in rows {
        let label = row.label(has_subject, axes);
        let is_there = |(other, known): &(&Row<'_>, String)| {
            *known == label && other.value.measure.split(':').next() == Some(row.measure().0)
        };
        let label = if placed.iter().any(is_there) { format!("{label} ({})", row.value.stands) } else { label };
        placed.push((row, label));
    }
    let names: Vec<String> =
        unique(placed.iter().map(|(_, label)| label.as_str())).iter().map(|it| (*it).to_owned()).collect();
    let measures = unique(rows.iter().map(|row| row.measure().0));
    let panel = |measure: &&str| {
        let here: Vec<(&Row<'_>, f64)> = placed
            .iter()
            .filter(|(row, _)| row.measure().0 == *measure)
            .filter_map(|(row, label)| Some((*row, names.iter().position(|name| name == label)? as f64)))
            .collect();
        let unit = here.first().map_or_else(String::new, |(row, _)| row.value.unit.clone());
        Panel {
            y: Axis { label: (*measure).to_owned(), unit, scale: Scale::Linear },
            lines: lines(known, &here),
            marks: Vec::new(),
        }
    };
    Figure {
        title: format!("{}: the paper's values, and what came out here", known.title),
        subtitle: subtitle.to_owned(),
        x: Axis { label: axes.join(", "), unit: String::new(), scale: Scale::Names(names.clone()) },
        panels: measures.iter().map(panel).collect(),
    }
}

/// A value and its error, where there is one.
type Values<'a> = Box<dyn Fn(&Row<'_>) -> Option<(f64, f64)> + 'a>;

/// The paper's, the simulator's, and those of the kernel: the first of its settings that has one.
fn lines(known: &Known, rows: &[(&Row<'_>, f64)]) -> Vec<Line> {
    let of_side = |side: &Side, row: &Row<'_>| side.paper.get(&row.value.key()).and_then(|[value, _]| point(value));
    let of_kernel = |row: &Row<'_>| known.kernel.iter().find_map(|side| of_side(side, row));
    let all: [(&str, Values<'_>); 4] = [
        ("paper", Box::new(|row| point(&row.value.value))),
        ("simulator", Box::new(|row| of_side(&known.sim, row))),
        ("with the testbed's noise", Box::new(|row| known.testbed.as_ref().and_then(|side| of_side(side, row)))),
        ("kernel", Box::new(of_kernel)),
    ];
    let line = |(label, value): &(&str, Values<'_>)| {
        let point = |(row, at): &(&Row<'_>, f64)| value(row).map(|(y, error)| Point { x: *at, y, error });
        let points: Vec<Point> = rows.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Line { label: (*label).to_owned(), style: Style::Points, points })
    };
    let mut lines: Vec<Line> = all.iter().filter_map(line).collect();
    let middle = lines.len().saturating_sub(1) as f64 / 2.0;
    for (number, line) in lines.iter_mut().enumerate() {
        line.points.iter_mut().for_each(|point| point.x += (number as f64 - middle) * BESIDE);
    }
    lines
}

/// "521 ± 15": a value and its error.
fn point(text: &str) -> Option<(f64, f64)> {
    let (value, error) = text.split_once(" ± ").unwrap_or((text, "0"));
    Some((value.parse().ok()?, error.parse().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn known(paper: &[(&str, &str, &str, &str)], here: &[(&str, &str)]) -> Known {
        let value = |(measure, place, stands, value): &(&str, &str, &str, &str)| PaperValue {
            measure: (*measure).to_owned(),
            place: (*place).to_owned(),
            stands: (*stands).to_owned(),
            unit: "Mbit/s".to_owned(),
            value: (*value).to_owned(),
        };
        let side = Side {
            paper: here.iter().map(|(key, text)| ((*key).to_owned(), [(*text).to_owned(), String::new()])).collect(),
            ..Side::default()
        };
        Known {
            title: "t".to_owned(),
            source: String::new(),
            notes: String::new(),
            statements: Vec::new(),
            paper: paper.iter().map(value).collect(),
            sim: side,
            testbed: None,
            kernel: Vec::new(),
        }
    }

    fn only_figure(pictures: Vec<Picture>) -> Figure {
        let [Picture { drawing: Drawing::Figure(figure), .. }] = <[Picture; 1]>::try_from(pictures).unwrap() else {
            panic!("no figure");
        };
        figure
    }

    #[test]
    fn the_papers_value_and_ours_stand_beside_each_other() {
        let known = known(
            &[
                ("goodput:new", "path = a, flows = 1", "T", "521 ± 15"),
                ("goodput:new", "path = a, flows = 2", "T", "7"),
                ("goodput:new", "path = a, flows = 4", "T", "9"),
            ],
            &[("goodput:new; path = a, flows = 2; T", "8 ± 0.5")],
        );
        let figure = only_figure(values(&known));
        assert_eq!(figure.x.scale, Scale::Names(["1", "2", "4"].map(str::to_owned).to_vec()));
        let found = figure.panels[0].lines.iter().map(|line| (line.label.as_str(), &line.points[..]));
        let paper = [(-0.1, 521.0, 15.0), (0.9, 7.0, 0.0), (1.9, 9.0, 0.0)].map(|(x, y, error)| Point { x, y, error });
        let ours = [Point { x: 1.1, y: 8.0, error: 0.5 }];
        assert_eq!(found.collect::<Vec<_>>(), [("paper", &paper[..]), ("simulator", &ours[..])]);
    }

    #[test]
    fn flows_and_tables_are_told_apart() {
        let known = known(
            &[
                ("goodput:a", "n = 1", "T1", "1"),
                ("goodput:b", "n = 1", "T1", "2"),
                ("goodput:b", "n = 1", "T2", "3"),
                ("goodput:c", "n = 1", "T1", "4"),
            ],
            &[],
        );
        let names = ["a", "b", "b (T2)", "c"].map(str::to_owned).to_vec();
        assert_eq!(only_figure(values(&known)).x.scale, Scale::Names(names));
    }

    #[test]
    fn many_places_have_a_picture_for_each_value_of_the_first_axis() {
        let places: Vec<String> =
            (0..20).map(|n| format!("network = {} Mbit/s, 40 ms, n = {}", n % 2, n / 2)).collect();
        let rows: Vec<_> = places.iter().map(|place| ("goodput", place.as_str(), "T", "1")).collect();
        let pictures = values(&known(&rows, &[]));
        let names: Vec<&str> = pictures.iter().map(|picture| picture.name.as_str()).collect();
        assert_eq!(names, ["values-0-Mbit-s-40-ms", "values-1-Mbit-s-40-ms"]);
    }

    #[test]
    fn a_file_belongs_to_the_scenario_before_its_first_dot() {
        assert_eq!(kind_of("s2-table5-7.values-florida.svg", "s2-table5-7"), Some("values-florida"));
        assert_eq!(kind_of("s2-table5-7.values.svg", "s2-table5"), None);
    }
}
