// SPDX-License-Identifier: GPL-2.0-only
//! Pictures of measures over the axes of a sweep.

use std::collections::{BTreeMap, BTreeSet};

use ccctl_series::{Axis, Figure, Line, Matrix, Panel, Point, Scale, Style};

use super::number::{unit, with_unit};
use super::Picture;
use crate::measures::{range, Estimate, INTERVAL_REPEATS};
use crate::run::{AxisInfo, MeasureInfo, PointSummary, Summary};

/// Pictures beyond this are left to the tables.
const MAX_PICTURES: usize = 120;
/// More lines in a picture cannot be told apart.
const MAX_LINES: usize = 24;

/// Values of the axes by name.
type AxisValues = BTreeMap<String, String>;

/// What the wanted measures look like over the sweep.
pub fn pictures(summary: &Summary) -> Vec<Picture> {
    pictures_of(summary, &summary.wanted)
}

/// What these measures look like over the sweep.
pub fn pictures_of(summary: &Summary, measures: &[String]) -> Vec<Picture> {
    let Some(layout) = Layout::of(&summary.axes) else { return Vec::new() };
    let facets = facets(summary, &layout);
    let draw = |name: &String| {
        let info = summary.measures.get(name)?;
        let drawer = Drawer { summary, layout: &layout, name, info };
        Some(facets.iter().filter_map(|facet| drawer.picture(facet)).collect::<Vec<_>>())
    };
    measures.iter().filter_map(draw).flatten().take(MAX_PICTURES).collect()
}

/// Which axis is drawn how; the others have a picture for each of their values.
enum Layout<'a> {
    /// Two axes of algorithms: rows and columns.
    Pairs(&'a AxisInfo, &'a AxisInfo),
    /// Horizontal, and a line for each value of another.
    Lines(&'a AxisInfo, Option<&'a AxisInfo>),
}

impl<'a> Layout<'a> {
    fn of(axes: &'a [AxisInfo]) -> Option<Self> {
        let many: Vec<&AxisInfo> = axes.iter().filter(|axis| axis.values.len() > 1).collect();
        if let [first, second, ..] = many.iter().copied().filter(|axis| is_of_algorithms(axis)).collect::<Vec<_>>()[..]
        {
            return Some(Self::Pairs(first, second));
        }
        let longest = |axes: &[&'a AxisInfo]| axes.iter().copied().rev().max_by_key(|axis| axis.values.len());
        let numeric: Vec<&AxisInfo> = many.iter().copied().filter(|axis| numbers(axis).is_some()).collect();
        let others: Vec<&AxisInfo> = many.iter().copied().filter(|axis| !is_of_algorithms(axis)).collect();
        let x = longest(&numeric).or_else(|| longest(&others)).or_else(|| longest(&many))?;
        let rest: Vec<&AxisInfo> = many.into_iter().filter(|axis| axis.name != x.name).collect();
        let of_algorithms = rest.iter().copied().find(|axis| is_of_algorithms(axis));
        Some(Self::Lines(x, of_algorithms.or_else(|| longest(&rest))))
    }

    fn is_drawn(&self, axis: &AxisInfo) -> bool {
        match self {
            Self::Pairs(a, b) => axis.name == a.name || axis.name == b.name,
            Self::Lines(x, lines) => axis.name == x.name || lines.is_some_and(|lines| lines.name == axis.name),
        }
    }
}

fn is_of_algorithms(axis: &AxisInfo) -> bool {
    axis.values.iter().all(|value| ccctl_catalog::algorithm(value).is_some())
}

/// The axis' numbers and their unit, where all have the same one.
pub fn numbers(axis: &AxisInfo) -> Option<(Vec<f64>, String)> {
    let split = |value: &String| {
        let (number, rest) = value.split_once(' ').unwrap_or((value, ""));
        Some((number.parse::<f64>().ok()?, rest.trim().to_owned()))
    };
    let split: Vec<(f64, String)> = axis.values.iter().map(split).collect::<Option<_>>()?;
    let (_, unit) = split.first()?;
    if split.iter().any(|(_, other)| other != unit) {
        return None;
    }
    let unit = if unit.is_empty() { axis.unit.clone() } else { unit.clone() };
    Some((split.iter().map(|(number, _)| *number).collect(), unit))
}

/// Values of the axes that are not drawn, each combination once, in the order of the sweep.
fn facets(summary: &Summary, layout: &Layout<'_>) -> Vec<AxisValues> {
    let names: Vec<&String> =
        summary.axes.iter().filter(|axis| !layout.is_drawn(axis)).map(|axis| &axis.name).collect();
    let mut seen = BTreeSet::new();
    let facet = |point: &PointSummary| {
        let place = point.place.iter().filter(|(name, _)| names.contains(name));
        place.map(|(name, value)| (name.clone(), value.clone())).collect::<AxisValues>()
    };
    summary.points.iter().map(facet).filter(|facet| seen.insert(facet.clone())).collect()
}

struct Drawer<'a> {
    summary: &'a Summary,
    layout: &'a Layout<'a>,
    name: &'a str,
    info: &'a MeasureInfo,
}

impl Drawer<'_> {
    fn picture(&self, facet: &AxisValues) -> Option<Picture> {
        let constant =
            |name: &&String| self.summary.axes.iter().any(|axis| axis.name == **name && axis.values.len() > 1);
        let words = facet.iter().filter(|(name, _)| constant(name)).map(|(name, value)| format!("{name} = {value}"));
        let words = words.collect::<Vec<_>>().join(", ");
        let name = format!("{} {words}", self.name);
        let picture = match self.layout {
            Layout::Pairs(rows, columns) => {
                self.matrix(facet, rows, columns, &words).map(|matrix| Picture::matrix(name, matrix))
            }
            Layout::Lines(x, lines) => {
                self.figure(facet, x, *lines, &words).map(|figure| Picture::figure(name, figure))
            }
        };
        let files = ["measures.csv", "runs.csv"].map(str::to_owned);
        picture.map(|picture| picture.with_data(format!("values (measure {})", self.name), files))
    }

    fn estimate(&self, facet: &AxisValues, changed: &[(&AxisInfo, usize)]) -> Option<&Estimate> {
        let is_there = |point: &&PointSummary| {
            facet.iter().all(|(name, value)| point.place.get(name) == Some(value))
                && changed.iter().all(|(axis, at)| point.place.get(&axis.name) == Some(&axis.values[*at]))
        };
        self.summary.points.iter().find(is_there)?.measures.get(self.name)
    }

    fn matrix(&self, facet: &AxisValues, rows: &AxisInfo, columns: &AxisInfo, words: &str) -> Option<Matrix> {
        let mean = |row: usize, column: usize| {
            self.estimate(facet, &[(rows, row), (columns, column)]).map(|estimate| estimate.mean)
        };
        // Rows and columns that were not run are left out.
        let (all_rows, all_columns) = (0..rows.values.len(), 0..columns.values.len());
        let is_run = |row: &usize| all_columns.clone().any(|column| mean(*row, column).is_some());
        let run_rows: Vec<usize> = all_rows.filter(is_run).collect();
        let is_run = |column: &usize| run_rows.iter().any(|row| mean(*row, *column).is_some());
        let run_columns: Vec<usize> = all_columns.clone().filter(is_run).collect();
        let row = |row: &usize| run_columns.iter().map(|column| mean(*row, *column)).collect::<Vec<_>>();
        let values: Vec<Vec<Option<f64>>> = run_rows.iter().map(row).collect();
        values.iter().flatten().flatten().next()?;
        let named = |axis: &AxisInfo, places: &[usize]| places.iter().map(|at| axis.values[*at].clone()).collect();
        let is_asymmetry = self.name.starts_with("asymmetry");
        // Where a measure has ends, colours go from end to end: 99 % beside 100 % is no contrast. What has only a least
        // value, such as a rate, begins there.
        let most = values.iter().flatten().flatten().copied().fold(f64::MIN, f64::max);
        let ends = match range(self.name) {
            (least, _) if !least.is_finite() => None,
            (least, end) if end.is_finite() => Some((least, end)),
            (least, _) => Some((least, most)).filter(|_| most > least),
        };
        Some(Matrix {
            title: self.title(),
            subtitle: words.to_owned(),
            row_label: rows.name.clone(),
            rows: named(rows, &run_rows),
            column_label: columns.name.clone(),
            columns: named(columns, &run_columns),
            value_label: self.name.split(':').next().unwrap_or_default().to_owned(),
            value_unit: unit(&self.info.unit).to_owned(),
            values,
            middle: is_asymmetry.then_some(0.0),
            range: ends,
        })
    }

    fn title(&self) -> String {
        with_unit(&self.info.title, &self.info.unit)
    }

    fn figure(&self, facet: &AxisValues, x: &AxisInfo, lines: Option<&AxisInfo>, words: &str) -> Option<Figure> {
        let numbers = numbers(x);
        let label = |at: Option<usize>| match (lines, at) {
            (Some(axis), Some(at)) => axis.values[at].clone(),
            _ => self.info.title.clone(),
        };
        let places: Vec<Option<usize>> = match lines {
            Some(axis) => (0..axis.values.len()).map(Some).collect(),
            None => vec![None],
        };
        let line = |at: Option<usize>| {
            let point = |position: usize| {
                let mut changed = vec![(x, position)];
                changed.extend(lines.zip(at));
                let estimate = self.estimate(facet, &changed)?;
                let place = numbers.as_ref().map_or(position as f64, |(numbers, _)| numbers[position]);
                Some(Point { x: place, y: estimate.mean, error: estimate.shown_half_width().unwrap_or_default() })
            };
            let mut points: Vec<Point> = (0..x.values.len()).filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let style = if numbers.is_some() { Style::Straight } else { Style::Bars };
            (!points.is_empty()).then(|| Line { label: label(at), style, points })
        };
        // Of two repeats there is no interval, but both values.
        let pair = |at: Option<usize>| {
            let points = |position: usize| {
                let mut changed = vec![(x, position)];
                changed.extend(lines.zip(at));
                let estimate =
                    self.estimate(facet, &changed).filter(|it| (2..INTERVAL_REPEATS).contains(&it.repeats()));
                let place = numbers.as_ref().map_or(position as f64, |(numbers, _)| numbers[position]);
                let values = estimate.map_or(&[][..], |it| &it.values);
                values.iter().flatten().map(|value| Point::at(place, *value)).collect::<Vec<_>>()
            };
            let mut points: Vec<Point> = (0..x.values.len()).flat_map(points).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            (!points.is_empty()).then(|| Line { label: format!("{} (runs)", label(at)), style: Style::Points, points })
        };
        let of_runs: Vec<Line> = places.iter().take(MAX_LINES).filter_map(|at| pair(*at)).collect();
        let mut lines: Vec<Line> = places.iter().filter_map(|at| line(*at)).take(MAX_LINES).collect();
        if lines.is_empty() {
            return None;
        }
        lines.extend(of_runs);
        let (least, most) = range(self.name);
        let scale = Scale::Within(least, most);
        let y = Axis { label: self.info.title.clone(), unit: unit(&self.info.unit).to_owned(), scale };
        Some(Figure {
            title: self.title(),
            subtitle: words.to_owned(),
            x: horizontal(x, numbers.map(|(_, unit)| unit)),
            panels: vec![Panel { y, lines, marks: Vec::new() }],
        })
    }
}

/// The axis of a sweep as one of a figure; `unit` where it has numbers.
fn horizontal(axis: &AxisInfo, unit: Option<String>) -> Axis {
    let scale = match &unit {
        None => Scale::Names(axis.values.clone()),
        Some(_) if axis.logarithmic => Scale::Logarithmic,
        Some(_) => Scale::Linear,
    };
    Axis { label: axis.name.clone(), unit: unit.unwrap_or_default(), scale }
}

/// The pictures of two summaries of one scenario, each pair on one set of axes; lines of the second have its label.
pub fn both(first: &Summary, second: &Summary, label: &str) -> Vec<Picture> {
    use super::Drawing;
    let others = pictures(second);
    let mut joined = Vec::new();
    for picture in pictures(first) {
        let Drawing::Figure(mut figure) = picture.drawing else { continue };
        let other = others.iter().find(|other| other.name == picture.name);
        if let Some(Drawing::Figure(other)) = other.map(|other| &other.drawing) {
            add_dashed(&mut figure, other, label);
        }
        joined.push(Picture::figure(picture.name, figure));
    }
    joined
}

/// Adds the lines of another figure over the same axes, dashed and with this label.
pub fn add_dashed(figure: &mut Figure, other: &Figure, label: &str) {
    for (panel, of_other) in figure.panels.iter_mut().zip(&other.panels) {
        let dashed = of_other.lines.iter().map(|line| {
            let style = match line.style {
                Style::Bars | Style::Points => line.style,
                Style::Straight | Style::Steps | Style::Dashed => Style::Dashed,
            };
            Line { label: format!("{} ({label})", line.label), style, points: line.points.clone() }
        });
        panel.lines.extend(dashed);
    }
}
