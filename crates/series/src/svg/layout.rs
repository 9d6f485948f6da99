// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where everything of a figure is, before it is written down.

use std::collections::BTreeMap;

use super::scale::{Span, Tick};
use super::shape::{Bar, Plot};
use super::text;
use crate::figure::{Figure, Line, Panel, Point, Scale, Style};

/// Width of figures where no other is asked for: a page's.
pub const WIDTH_PX: f64 = 800.0;

/// Size of words and numbers.
pub const TEXT_PX: f64 = 12.0;

/// A row of a legend.
const LEGEND_ROW_PX: f64 = 18.0;

/// A row of marks, above the panel they belong to.
pub const MARK_ROW_PX: f64 = 11.0;

/// From the sample of a legend's entry to its words, and from entry to entry.
pub const SAMPLE_PX: f64 = 28.0;
const ENTRY_GAP_PX: f64 = 16.0;

/// Okabe and Ito's colours, which people with any kind of colour vision tell apart, without their yellow, which is too
/// light on white.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// Of marks, which also differ by their shape.
const MARK_COLOURS: [&str; 4] = ["#c1121f", "#222222", "#7b2cbf", "#8a6d00"];

/// A line's colour, and whether it is dotted because another has the same.
type Colour = (&'static str, bool);

/// A figure with places.
#[derive(Debug)]
pub struct Drawing<'a> {
    pub figure: &'a Figure,
    pub x: Span,
    pub width_px: f64,
    pub left_px: f64,
    pub plot_width_px: f64,
    pub height_px: f64,
    pub panels: Vec<Frame<'a>>,
    /// Below the last panel.
    pub axis_top_px: f64,
    /// Names under the axis are so long that they are written upwards.
    pub is_x_slanted: bool,
}

/// A panel with places.
#[derive(Debug)]
pub struct Frame<'a> {
    pub panel: &'a Panel,
    pub y: Span,
    pub legend: Vec<Entry>,
    pub marks_top_px: f64,
    pub top_px: f64,
    pub height_px: f64,
    pub lines: Vec<Stroke<'a>>,
    pub marks: Vec<Kind>,
}

/// A line with its looks.
#[derive(Debug)]
pub struct Stroke<'a> {
    pub line: &'a Line,
    pub colour: &'static str,
    /// Colours are used up: this is the second line of its colour.
    pub is_dotted: bool,
    pub bar: Bar,
}

/// The marks of one label.
#[derive(Debug)]
pub struct Kind {
    pub label: String,
    pub colour: &'static str,
    /// Which of the shapes.
    pub shape: usize,
    pub x: Vec<f64>,
}

/// An entry of a legend.
#[derive(Debug)]
pub struct Entry {
    pub x_px: f64,
    pub y_px: f64,
    pub label: String,
    pub sample: Sample,
}

/// What stands before the words of an entry.
#[derive(Debug)]
pub enum Sample {
    Line(usize),
    Mark(usize),
}

impl<'a> Drawing<'a> {
    pub fn new(figure: &'a Figure) -> Self {
        Self::of_width(figure, WIDTH_PX)
    }

    pub fn of_width(figure: &'a Figure, width_px: f64) -> Self {
        let lines = figure.panels.iter().flat_map(|panel| &panel.lines);
        let marks = figure.panels.iter().flat_map(|panel| &panel.marks).map(|mark| mark.x);
        let points = lines.clone().flat_map(|line| &line.points).map(|point| point.x);
        let gap = lines.filter(|line| line.style == Style::Bars).map(gap).fold(f64::INFINITY, f64::min);
        let room = if gap.is_finite() && figure.x.scale == Scale::Linear { gap / 2.0 } else { 0.0 };
        let values = points.chain(marks).flat_map(|x| [x - room, x + room]);
        let x = Span::horizontal(&figure.x, values);
        let colours = colours(figure);
        let mark_labels = mark_labels(figure);
        let spans: Vec<_> = figure.panels.iter().map(vertical).collect();
        let widest = spans.iter().flat_map(|y| y.ticks(5)).map(|tick| text::width(&tick.label, TEXT_PX));
        let left_px = (widest.fold(0.0, f64::max) + 40.0).min(width_px / 3.0);
        let plot_width_px = width_px - left_px - 18.0;
        let mut drawing = Self {
            figure,
            is_x_slanted: is_crowded(&x, plot_width_px),
            x,
            width_px,
            left_px,
            plot_width_px,
            height_px: 0.0,
            panels: Vec::new(),
            axis_top_px: 0.0,
        };
        let mut top_px = match (figure.title.is_empty(), figure.subtitle.is_empty()) {
            (true, true) => 8.0,
            (_, true) => 34.0,
            _ => 52.0,
        };
        for (panel, y) in figure.panels.iter().zip(spans) {
            let frame = drawing.frame(panel, y, top_px, (&colours, &mark_labels));
            top_px = frame.top_px + frame.height_px + 12.0;
            drawing.panels.push(frame);
        }
        drawing.axis_top_px = top_px - 12.0;
        drawing.height_px = drawing.axis_top_px + 48.0 + drawing.slant_px();
        drawing
    }

    /// Ticks of the horizontal axis, one for about 100 pixels.
    pub fn x_ticks(&self) -> Vec<Tick> {
        self.x.ticks((self.width_px / 100.0).round().max(2.0) as usize)
    }

    /// How much further down slanted names reach.
    pub fn slant_px(&self) -> f64 {
        let widths = self.x_ticks().into_iter().map(|tick| text::width(&tick.label, TEXT_PX));
        if self.is_x_slanted {
            (widths.fold(0.0, f64::max) * 0.6).min(120.0)
        } else {
            0.0
        }
    }

    pub fn plot<'b>(&'b self, frame: &'b Frame) -> Plot<'b> {
        Plot { x: &self.x, y: &frame.y, width_px: self.plot_width_px, height_px: frame.height_px }
    }

    fn frame(
        &self,
        panel: &'a Panel,
        y: Span,
        top_px: f64,
        (colours, mark_labels): (&BTreeMap<&str, Colour>, &[&str]),
    ) -> Frame<'a> {
        let marks = kinds(panel, mark_labels);
        let is_new =
            |kind: &Kind| !self.panels.iter().flat_map(|above| &above.marks).any(|known| known.label == kind.label);
        let has_owner = |line: &Line| line.style == Style::Points && model(self.figure, line).is_some();
        let mut legend = legend(panel, has_owner, &marks, is_new, self.plot_width_px);
        for entry in &mut legend {
            entry.x_px += self.left_px;
            entry.y_px += top_px;
        }
        let legend_end = legend.last().map_or(top_px + 4.0, |entry| entry.y_px + LEGEND_ROW_PX + 3.0);
        let bars = panel.lines.iter().filter(|line| line.style == Style::Bars).count();
        let mut bar = 0;
        let lines = panel.lines.iter().map(|line| {
            let place = bar;
            bar += usize::from(line.style == Style::Bars);
            let (colour, is_dotted) = colours.get(line.label.as_str()).copied().unwrap_or((COLOURS[0], false));
            let bar = if line.style == Style::Bars { self.bar(panel, place, bars) } else { Bar::default() };
            Stroke { line, colour, is_dotted, bar }
        });
        let mut lines: Vec<Stroke> = lines.collect();
        // Points that belong to bars stand over them.
        for place in 0..lines.len() {
            let owner = model(self.figure, lines[place].line).filter(|_| lines[place].line.style == Style::Points);
            let bar = owner.and_then(|owner| lines.iter().find(|other| other.line.label == owner.label));
            lines[place].bar = bar.map_or(lines[place].bar, |owner| owner.bar);
        }
        Frame {
            panel,
            y,
            legend,
            marks_top_px: legend_end,
            top_px: legend_end + marks.len() as f64 * MARK_ROW_PX,
            height_px: panel_height_px(self.figure, panel, self.width_px),
            lines,
            marks,
        }
    }

    /// The bar of one of several lines with bars: they share four fifths of the gap between values.
    fn bar(&self, panel: &Panel, place: usize, count: usize) -> Bar {
        let bars = panel.lines.iter().filter(|line| line.style == Style::Bars);
        let gap = bars.map(gap).fold(f64::INFINITY, f64::min);
        let share = gap / (self.x.high - self.x.low);
        let room_px =
            if share.is_finite() && self.x.scale != Scale::Logarithmic { share * self.plot_width_px } else { 30.0 };
        let width_px = (room_px * 0.8 / count as f64).clamp(0.5, 90.0);
        Bar { offset_px: width_px * (place as f64 - count as f64 / 2.0), width_px }
    }
}

/// The least distance of two bars; a single one has a unit for itself.
fn gap(line: &Line) -> f64 {
    let mut x: Vec<_> = line.points.iter().map(|point| point.x).filter(|x| x.is_finite()).collect();
    x.sort_by(f64::total_cmp);
    let gap = x.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
    if gap.is_finite() {
        gap
    } else {
        1.0
    }
}

fn vertical(panel: &Panel) -> Span {
    let ends = |point: &Point| {
        let error = if point.error.is_finite() { point.error } else { 0.0 };
        [point.y - error, point.y + error]
    };
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let has_bars = panel.lines.iter().any(|line| line.style == Style::Bars);
    let foot = has_bars.then_some(0.0);
    let values: Vec<f64> = points().map(|point| point.y).collect();
    Span::vertical_within(&panel.y, &values, points().flat_map(ends).chain(foot))
}

fn is_crowded(x: &Span, width_px: f64) -> bool {
    let Scale::Names(names) = &x.scale else { return false };
    let room_px = width_px / names.len().max(1) as f64;
    names.iter().any(|name| text::width(name, TEXT_PX) + 6.0 > room_px)
}

/// Few panels are high, many are low; one of names is as high as its names need.
fn panel_height_px(figure: &Figure, panel: &Panel, width_px: f64) -> f64 {
    let height_px: f64 = (width_px / WIDTH_PX).clamp(0.6, 1.0)
        * match figure.panels.len() {
            0 | 1 => 320.0,
            2 => 210.0,
            3 => 165.0,
            _ => 135.0,
        };
    match &panel.y.scale {
        Scale::Names(names) if figure.panels.len() > 1 => (names.len() as f64 * 20.0).clamp(60.0, height_px * 2.0),
        Scale::Names(names) => height_px.max(names.len() as f64 * 18.0),
        Scale::Linear | Scale::Within(..) | Scale::Logarithmic => height_px,
    }
}

/// The line that a dashed line, or a set of points, named `name (of a paper)` belongs to: the line `name`.
fn model<'a>(figure: &'a Figure, line: &Line) -> Option<&'a Line> {
    let is_other = |style: Style| matches!(style, Style::Dashed | Style::Points);
    let name = line.label.split(" (").next().unwrap_or_default();
    let mut lines = figure.panels.iter().flat_map(|panel| &panel.lines);
    lines.find(|other| is_other(line.style) && !is_other(other.style) && other.label == name)
}

/// A label has one colour in all panels. A dashed line `name (of a paper)` has the colour of the line `name`.
fn colours(figure: &Figure) -> BTreeMap<&str, Colour> {
    let mut colours: BTreeMap<&str, Colour> = BTreeMap::new();
    let lines = figure.panels.iter().flat_map(|panel| &panel.lines);
    let model = |line: &Line| model(figure, line);
    for panel in &figure.panels {
        for line in panel.lines.iter().filter(|line| model(line).is_none()) {
            let next = next_colour(panel, &colours);
            colours.entry(line.label.as_str()).or_insert(next);
        }
    }
    for line in lines {
        if let Some(colour) = model(line).and_then(|model| colours.get(model.label.as_str()).copied()) {
            colours.insert(line.label.as_str(), colour);
        }
    }
    colours
}

/// One that the figure does not have yet; else one that the panel does not have; else one of another line, dotted.
fn next_colour(panel: &Panel, colours: &BTreeMap<&str, Colour>) -> Colour {
    let here: Vec<_> = panel.lines.iter().filter_map(|line| colours.get(line.label.as_str())).collect();
    let is_new = |colour: &&&str| !colours.values().any(|(other, _)| other == *colour);
    let is_new_here = |colour: &&&str| !here.iter().any(|(other, _)| other == *colour);
    match COLOURS.iter().find(is_new).or_else(|| COLOURS.iter().find(is_new_here)) {
        Some(colour) => (colour, false),
        None => (COLOURS[here.len() % COLOURS.len()], true),
    }
}

fn mark_labels(figure: &Figure) -> Vec<&str> {
    let mut labels: Vec<&str> = Vec::new();
    for mark in figure.panels.iter().flat_map(|panel| &panel.marks) {
        if !labels.contains(&mark.label.as_str()) {
            labels.push(&mark.label);
        }
    }
    labels
}

fn kinds(panel: &Panel, labels: &[&str]) -> Vec<Kind> {
    let kind = |(shape, label): (usize, &&str)| {
        let x: Vec<_> = panel.marks.iter().filter(|mark| mark.label == **label).map(|mark| mark.x).collect();
        let colour = MARK_COLOURS[shape % MARK_COLOURS.len()];
        (!x.is_empty()).then(|| Kind { label: (*label).to_owned(), colour, shape, x })
    };
    labels.iter().enumerate().filter_map(kind).collect()
}

/// Entries in rows, from the top left of the panel. A single line named as its axis needs no legend, nor do marks that a
/// panel above explains, nor points that belong to a line.
fn legend(
    panel: &Panel,
    has_owner: impl Fn(&Line) -> bool,
    marks: &[Kind],
    is_new: impl Fn(&Kind) -> bool,
    width_px: f64,
) -> Vec<Entry> {
    let lines = || panel.lines.iter().enumerate().filter(|(_, line)| !has_owner(line));
    let is_plain = lines().count() == 1 && lines().all(|(_, it)| it.label == panel.y.label || it.label.is_empty());
    // Lines of one label have one colour, and one entry.
    let is_first = |place: usize| panel.lines[..place].iter().all(|above| above.label != panel.lines[place].label);
    let lines = lines().filter(|(place, _)| !is_plain && is_first(*place));
    let lines = lines.map(|(place, line)| (line.label.clone(), Sample::Line(place)));
    let marks = marks.iter().enumerate().filter(|(_, kind)| is_new(kind)).map(|(place, kind)| {
        let times = if kind.x.len() == 1 { String::new() } else { format!(" ({}\u{d7})", kind.x.len()) };
        (format!("{}{times}", kind.label), Sample::Mark(place))
    });
    let (mut x_px, mut y_px) = (0.0, 0.0);
    let entries = lines.chain(marks).map(|(label, sample)| {
        let room_px = SAMPLE_PX + text::width(&label, TEXT_PX) + ENTRY_GAP_PX;
        if x_px > 0.0 && x_px + room_px > width_px {
            (x_px, y_px) = (0.0, y_px + LEGEND_ROW_PX);
        }
        let entry = Entry { x_px, y_px, label, sample };
        x_px += room_px;
        entry
    });
    entries.collect()
}
