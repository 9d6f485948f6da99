// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures as SVG.
//!
//! Written by hand and not with `plotters`: a page draws the same picture again when the reader zooms, so every line must
//! be a path of its own that a script finds, in coordinates that start at its panel; and what the figures of this field
//! need (marks in a strip of their own, panels under one axis, a legend beside the data, peaks kept) would have to be
//! made on top of it anyway. What is left for a library is a few dozen lines of axes.
//!
//! The same figure gives the same bytes. Colours are on an explicit white ground, so that a dark page shows them as a
//! paper does. Values that are not finite are gaps, as are values without a logarithm on such an axis.

mod axes;
mod layout;
mod matrix;
mod reduce;
mod scale;
mod shape;
pub(crate) mod text;

use std::fmt::Write as _;

use crate::figure::{Figure, Panel, Style};
use layout::{Kind, Sample, MARK_ROW_PX, SAMPLE_PX};
use text::{escape, fitted, place, with_unit};

pub use layout::WIDTH_PX;
pub(crate) use layout::{Drawing, Frame, Stroke};
pub use matrix::matrix_svg;
pub(crate) use reduce::reduce;
pub(crate) use scale::Span;

/// More marks of one label than this have no hairline through their panel.
const HAIRLINES_MAX: usize = 60;

/// Sizes of title and subtitle: as they are, and where they must be small to fit.
const TITLE_PX: (f64, f64) = (15.0, 10.0);
const SUBTITLE_PX: (f64, f64) = (12.0, 9.0);

/// Draws a figure, 800 pixels wide and as high as its panels need.
#[must_use]
pub fn svg(figure: &Figure) -> String {
    svg_of_width(figure, WIDTH_PX)
}

/// Draws a figure of this width, at least 200 pixels. 96 pixels are an inch.
#[must_use]
pub fn svg_of_width(figure: &Figure, width_px: f64) -> String {
    draw(&Drawing::of_width(figure, width_px.max(200.0)))
}

/// Draws a figure whose places are known.
pub(crate) fn draw(drawing: &Drawing) -> String {
    let figure = drawing.figure;
    let mut out = String::new();
    open(&mut out, (drawing.width_px, drawing.height_px), (&figure.title, &figure.subtitle), &describe(figure));
    axes::horizontal(drawing, &mut out);
    for (number, frame) in drawing.panels.iter().enumerate() {
        axes::vertical(drawing, frame, number, &mut out);
        write_legend(frame, &mut out);
        write_marks(drawing, frame, number, &mut out);
        write_plot(drawing, frame, number, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

/// The head of a picture: its size, what it is for those who hear it, its ground, its title.
fn open(out: &mut String, (width_px, height_px): (f64, f64), (title, subtitle): (&str, &str), description: &str) {
    let (width, height) = (place(width_px), place(height_px));
    let (words, size) = fitted(title, TITLE_PX, width_px - 24.0);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"{}\" font-weight=\"bold\">{}</text>\n",
        escape(title),
        escape(description),
        place(size),
        escape(&words)
    );
    if !subtitle.is_empty() {
        let (words, size) = fitted(subtitle, SUBTITLE_PX, width_px - 24.0);
        let (size, words) = (place(size), escape(&words));
        let _ = writeln!(out, "<text x=\"12\" y=\"40\" font-size=\"{size}\" fill=\"#555\">{words}</text>");
    }
}

/// The figure in words.
fn describe(figure: &Figure) -> String {
    let panel = |panel: &Panel| {
        let lines: Vec<_> = panel.lines.iter().map(|line| line.label.as_str()).collect();
        let marks = if panel.marks.is_empty() { String::new() } else { format!("; {} marks", panel.marks.len()) };
        format!("{}: {}{marks}.", with_unit(&panel.y.label, &panel.y.unit), lines.join(", "))
    };
    let panels: Vec<_> = figure.panels.iter().map(panel).collect();
    format!("Over {}. {}", with_unit(&figure.x.label, &figure.x.unit), panels.join(" "))
}

fn write_legend(frame: &Frame, out: &mut String) {
    for entry in &frame.legend {
        let (x, y) = (entry.x_px, entry.y_px + 9.0);
        match entry.sample {
            Sample::Line(line) => write_line_sample(&frame.lines[line], x, y, out),
            Sample::Mark(mark) => {
                let kind = &frame.marks[mark];
                let shape = mark_shape(kind.shape, x + SAMPLE_PX / 2.0, y);
                let _ = writeln!(out, "<path d=\"{shape}\" {}/>", mark_looks(kind));
            }
        }
        let (x, y) = (place(x + SAMPLE_PX), place(y + 4.0));
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\">{}</text>", escape(&entry.label));
    }
}

fn write_line_sample(stroke: &Stroke, x: f64, y: f64, out: &mut String) {
    let (left, right, middle) = (place(x), place(x + SAMPLE_PX - 6.0), place(y));
    let path = match stroke.line.style {
        Style::Bars => format!("M{left} {}V{}H{right}V{}Z", place(y + 5.0), place(y - 5.0), place(y + 5.0)),
        Style::Points => shape::dot(x + SAMPLE_PX / 2.0 - 3.0, y),
        Style::Straight | Style::Dashed | Style::Steps => format!("M{left} {middle}H{right}"),
    };
    let _ = writeln!(out, "<path d=\"{path}\" {}/>", line_looks(stroke));
}

fn line_looks(stroke: &Stroke) -> String {
    let colour = stroke.colour;
    match stroke.line.style {
        Style::Bars => format!("fill=\"{colour}\" fill-opacity=\".85\""),
        // On a bar of their own colour dots would not be seen.
        Style::Points if stroke.bar.width_px > 0.0 => "fill=\"#222\"".to_owned(),
        Style::Points => format!("fill=\"{colour}\""),
        Style::Dashed => format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" stroke-dasharray=\"6 4\""),
        Style::Straight | Style::Steps => {
            let dots = if stroke.is_dotted { " stroke-dasharray=\"1.5 2.5\"" } else { "" };
            format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" stroke-linejoin=\"round\"{dots}")
        }
    }
}

fn mark_looks(kind: &Kind) -> String {
    match kind.shape % 4 {
        0 => format!("fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"", kind.colour),
        _ => format!("fill=\"{}\"", kind.colour),
    }
}

/// A stroke, a triangle, a diamond, a square.
fn mark_shape(shape: usize, x: f64, y: f64) -> String {
    let (x, top, bottom) = (place(x), place(y - 4.0), place(y + 4.0));
    match shape % 4 {
        0 => format!("M{x} {top}v8"),
        1 => format!("M{x} {bottom}l4 -8h-8z"),
        2 => format!("M{x} {top}l4 4l-4 4l-4 -4z"),
        _ => format!("M{x} {top}m-3 1h6v6h-6z"),
    }
}

/// A strip above the panel, a row a label, and hairlines down through the panel where there are few.
fn write_marks(drawing: &Drawing, frame: &Frame, number: usize, out: &mut String) {
    if frame.marks.is_empty() {
        return;
    }
    let height_px = frame.top_px - frame.marks_top_px;
    let (left, top) = (place(drawing.left_px), place(frame.marks_top_px));
    let (width, height) = (place(drawing.plot_width_px), place(height_px + frame.height_px));
    let _ = writeln!(
        out,
        "<svg class=\"marks\" data-panel=\"{number}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" overflow=\"visible\">"
    );
    for (row, kind) in frame.marks.iter().enumerate() {
        let y = row as f64 * MARK_ROW_PX + MARK_ROW_PX / 2.0;
        let mut places: Vec<_> = kind.x.iter().filter_map(|&x| drawing.plot(frame).x_px(x)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup_by(|a, b| (*a - *b).abs() < 0.5);
        let shapes: String = places.iter().map(|&x| mark_shape(kind.shape, x, y)).collect();
        let hairline = |x: &f64| format!("M{} {}V{height}", place(*x), place(height_px));
        let hairlines: String = places.iter().filter(|_| kind.x.len() <= HAIRLINES_MAX).map(hairline).collect();
        let colour = kind.colour;
        let _ = writeln!(out, "<path class=\"hairlines\" d=\"{hairlines}\" stroke=\"{colour}\" stroke-opacity=\".3\" stroke-width=\".7\"/>");
        let _ = writeln!(out, "<path class=\"mark\" d=\"{shapes}\" {}/>", mark_looks(kind));
    }
    out.push_str("</svg>\n");
}

fn write_plot(drawing: &Drawing, frame: &Frame, number: usize, out: &mut String) {
    let plot = drawing.plot(frame);
    let (left, top) = (place(drawing.left_px), place(frame.top_px));
    let (width, height) = (place(plot.width_px), place(plot.height_px));
    let _ = writeln!(
        out,
        "<svg class=\"plot\" data-panel=\"{number}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" \
         overflow=\"visible\">"
    );
    // What is asked about most, the first lines, is on top; bars are below all lines.
    let is_bar = |stroke: &Stroke| stroke.line.style == Style::Bars;
    let lines = || frame.lines.iter().enumerate();
    let bars = lines().filter(|(_, stroke)| is_bar(stroke));
    for (place, stroke) in bars.chain(lines().rev().filter(|(_, stroke)| !is_bar(stroke))) {
        let column = |x| plot.x_px(x);
        let points = reduce(&stroke.line.points, stroke.line.style, column, plot.width_px as usize);
        let path = plot.path(&points, stroke.line.style, stroke.bar);
        let _ = writeln!(out, "<path class=\"line\" data-line=\"{place}\" d=\"{path}\" {}/>", line_looks(stroke));
        let errors = plot.errors(&points, stroke.bar);
        if !errors.is_empty() {
            let colour = if stroke.line.style == Style::Bars { "#222" } else { stroke.colour };
            let _ = writeln!(
                out,
                "<path class=\"error\" data-line=\"{place}\" d=\"{errors}\" fill=\"none\" stroke=\"{colour}\"/>"
            );
        }
    }
    out.push_str("</svg>\n");
}
