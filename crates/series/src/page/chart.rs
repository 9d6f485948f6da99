// SPDX-License-Identifier: MIT OR Apache-2.0
//! A figure on a page: its picture, and beside it its values in JSON for the script.

use std::fmt::Write as _;

use serde_json::{json, Value as Json};

use super::without_namespace;
use crate::figure::{Figure, Point, Scale, Style};
use crate::svg::text::escape;
use crate::svg::{draw, reduce, Drawing, Frame, Span, Stroke};

/// Lines keep four values for each of so many places, which is enough to zoom in to a tenth of what is shown first.
const COLUMNS: usize = 8000;

/// Digits that matter: of times, microseconds of an hour; of values, more than is seen.
const X_DIGITS: usize = 10;
const Y_DIGITS: usize = 6;

pub fn write(figure: &Figure, id: &str, out: &mut String) {
    let drawing = Drawing::new(figure);
    let picture = draw(&drawing);
    let label = escape(&figure.title);
    // Within a script of JSON, these stand for themselves to neither HTML nor XML.
    let data = describe(&drawing).to_string();
    let data = data.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let _ = writeln!(
        out,
        "<figure class=\"chart\" id=\"{id}\" tabindex=\"0\" aria-label=\"{label}\">\n<div class=\"scroll\">\n{}</div>\n\
         <script type=\"application/json\">{data}</script>\n</figure>",
        without_namespace(&picture)
    );
}

fn describe(drawing: &Drawing) -> Json {
    let axis = &drawing.figure.x;
    json!({
        "left": tenth(drawing.left_px),
        "width": tenth(drawing.plot_width_px),
        "bottom": tenth(drawing.axis_top_px),
        "x": span(&drawing.x, &axis.label, &axis.unit),
        "panels": drawing.panels.iter().map(|frame| panel(drawing, frame)).collect::<Vec<_>>(),
    })
}

fn panel(drawing: &Drawing, frame: &Frame) -> Json {
    let marks = frame.marks.iter().map(|kind| {
        let x: Vec<_> = kind.x.iter().map(|&x| number(x, X_DIGITS)).collect();
        json!({ "label": kind.label, "colour": kind.colour, "shape": kind.shape % 4, "x": x })
    });
    json!({
        "top": tenth(frame.top_px),
        "height": tenth(frame.height_px),
        "strip": tenth(frame.top_px - frame.marks_top_px),
        "y": span(&frame.y, &frame.panel.y.label, &frame.panel.y.unit),
        "lines": frame.lines.iter().map(|stroke| line(drawing, stroke)).collect::<Vec<_>>(),
        "marks": marks.collect::<Vec<_>>(),
    })
}

fn line(drawing: &Drawing, stroke: &Stroke) -> Json {
    let line = stroke.line;
    let column = |x| Some(drawing.x.share(x)? * COLUMNS as f64);
    let points = reduce(&line.points, line.style, column, COLUMNS);
    let list = |value: fn(&Point) -> f64, digits| points.iter().map(|point| number(value(point), digits)).collect();
    let x: Vec<Json> = list(|point| point.x, X_DIGITS);
    let y: Vec<Json> = list(|point| point.y, Y_DIGITS);
    let has_errors = points.iter().any(|point| point.error > 0.0);
    let errors: Vec<Json> = if has_errors { list(|point| point.error, Y_DIGITS) } else { Vec::new() };
    let style = match line.style {
        Style::Straight | Style::Dashed => "straight",
        Style::Steps => "steps",
        Style::Points => "points",
        Style::Bars => "bars",
    };
    json!({
        "label": line.label,
        "colour": stroke.colour,
        "style": style,
        "bar": [tenth(stroke.bar.offset_px), tenth(stroke.bar.width_px)],
        "x": x,
        "y": y,
        "errors": errors,
    })
}

fn span(span: &Span, label: &str, unit: &str) -> Json {
    let (kind, names) = match &span.scale {
        Scale::Linear | Scale::Within(..) => ("linear", [].as_slice()),
        Scale::Logarithmic => ("logarithmic", [].as_slice()),
        Scale::Names(names) => ("names", names.as_slice()),
    };
    let limits = match span.scale {
        // An end that is infinite is none: null.
        Scale::Within(least, most) => [least, most],
        _ => [f64::NEG_INFINITY, f64::INFINITY],
    };
    json!({
        "low": span.low, "high": span.high, "limits": limits,
        "kind": kind, "names": names, "label": label, "unit": unit,
    })
}

fn tenth(value: f64) -> Json {
    json!((value * 10.0).round() / 10.0)
}

/// Null where there is none; whole numbers without a fraction, which is shorter.
fn number(value: f64, digits: usize) -> Json {
    let rounded = format!("{value:.*e}", digits - 1).parse::<f64>().unwrap_or(f64::NAN);
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        json!(rounded as i64)
    } else {
        // Of NaN and infinity, JSON makes null.
        json!(rounded)
    }
}
