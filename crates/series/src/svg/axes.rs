// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames, ticks and labels.

use std::fmt::Write as _;

use super::layout::{Drawing, Frame, TEXT_PX};
use super::text::{self, escape, place, with_unit};

/// Looks of the lines of the grid.
const GRID: &str = "stroke=\"#e4e4e4\"";

/// Looks of the frame and its ticks.
const INK: &str = "stroke=\"#555\" fill=\"none\"";

/// The axis that all panels share: ticks on each, words under the last.
pub fn horizontal(drawing: &Drawing, out: &mut String) {
    let bottom_px = drawing.axis_top_px;
    let _ = writeln!(out, "<g class=\"x\">");
    for tick in drawing.x_ticks() {
        let x = place(drawing.left_px + tick.share * drawing.plot_width_px);
        let length_px = if tick.label.is_empty() { 3.0 } else { 5.0 };
        for frame in &drawing.panels {
            let (top, bottom) = (place(frame.top_px), frame.top_px + frame.height_px);
            let grid = if tick.label.is_empty() {
                String::new()
            } else {
                format!("<path d=\"M{x} {top}V{}\" {GRID}/>", place(bottom))
            };
            let _ = writeln!(out, "{grid}<path d=\"M{x} {}v{length_px}\" {INK}/>", place(bottom));
        }
        if drawing.is_x_slanted {
            let y = place(bottom_px + 14.0);
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\" transform=\"rotate(-35 {x} {y})\">{}</text>",
                escape(&tick.label)
            );
        } else if !tick.label.is_empty() {
            let y = place(bottom_px + 18.0);
            let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escape(&tick.label));
        }
    }
    out.push_str("</g>\n");
    let x = place(drawing.left_px + drawing.plot_width_px / 2.0);
    let y = place(bottom_px + 37.0 + drawing.slant_px());
    let label = escape(&with_unit(&drawing.figure.x.label, &drawing.figure.x.unit));
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>");
}

/// The axis of one panel, and its frame.
pub fn vertical(drawing: &Drawing, frame: &Frame, number: usize, out: &mut String) {
    let _ = writeln!(out, "<g class=\"y\" data-panel=\"{number}\">");
    let (left, right) = (drawing.left_px, drawing.left_px + drawing.plot_width_px);
    for tick in frame.y.ticks((frame.height_px / 36.0) as usize) {
        let y = frame.top_px + (1.0 - tick.share) * frame.height_px;
        if tick.label.is_empty() {
            let _ = writeln!(out, "<path d=\"M{} {}h-3\" {INK}/>", place(left), place(y));
            continue;
        }
        let _ = writeln!(
            out,
            "<path d=\"M{} {}H{}\" {GRID}/><path d=\"M{} {}h-5\" {INK}/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            place(left),
            place(y),
            place(right),
            place(left),
            place(y),
            place(left - 8.0),
            place(y + 4.0),
            escape(&tick.label)
        );
    }
    out.push_str("</g>\n");
    let (width, height) = (place(drawing.plot_width_px), place(frame.height_px));
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" {INK}/>",
        place(left),
        place(frame.top_px)
    );
    write_label(frame, out);
}

/// Upwards beside the panel, as small as it must be to fit.
fn write_label(frame: &Frame, out: &mut String) {
    let label = with_unit(&frame.panel.y.label, &frame.panel.y.unit);
    let fit = frame.height_px / text::width(&label, TEXT_PX).max(1.0);
    let size = (TEXT_PX * fit).clamp(8.0, TEXT_PX);
    let middle = place(frame.top_px + frame.height_px / 2.0);
    let _ = writeln!(
        out,
        "<text x=\"16\" y=\"{middle}\" font-size=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {middle})\">{}</text>",
        place(size),
        escape(&label)
    );
}
