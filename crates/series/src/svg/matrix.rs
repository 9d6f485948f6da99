// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrices as SVG: a value for each pair, as colour and as a number.

use std::fmt::Write as _;

use super::text::{escape, place, width, with_unit};
use super::{layout::TEXT_PX, open};
use crate::figure::Matrix;

/// Cells are at most this high and wide.
const CELL_PX: f64 = 74.0;

/// From blue over white to orange, which people with any kind of colour vision tell apart.
const LOW: [f64; 3] = [0.0, 114.0, 178.0];
const HIGH: [f64; 3] = [213.0, 94.0, 0.0];

/// Of the page in the dark, in the place of white.
const DARK_MIDDLE: [f64; 3] = [36.0, 41.0, 48.0];
const WHITE: [f64; 3] = [255.0, 255.0, 255.0];

/// Steps of the legend.
const STEPS: usize = 41;

/// The values of the strongest colours, and the one that stays white.
type Range = (f64, f64, Option<f64>);

/// Where the cells are.
struct Cells {
    left_px: f64,
    top_px: f64,
    width_px: f64,
    height_px: f64,
    right_px: f64,
    bottom_px: f64,
    /// Names of columns are wider than their cells.
    is_slanted: bool,
}

impl Cells {
    fn of(matrix: &Matrix) -> Self {
        let widest = |names: &[String]| names.iter().map(|name| width(name, TEXT_PX)).fold(0.0, f64::max);
        let left_px = widest(&matrix.rows) + 44.0;
        let width_px = ((800.0 - left_px - 110.0) / matrix.columns.len().max(1) as f64).clamp(24.0, CELL_PX);
        let height_px = (width_px * 0.62).max(22.0);
        let heads_px = widest(&matrix.columns);
        let is_slanted = heads_px + 6.0 > width_px;
        let top_px = 86.0 + if is_slanted { heads_px * 0.6 } else { 8.0 };
        Self {
            left_px,
            top_px,
            width_px,
            height_px,
            right_px: left_px + width_px * matrix.columns.len() as f64,
            bottom_px: top_px + height_px * matrix.rows.len() as f64,
            is_slanted,
        }
    }
}

/// Draws a matrix.
#[must_use]
pub fn matrix_svg(matrix: &Matrix) -> String {
    let cells = Cells::of(matrix);
    let mut out = String::new();
    let size = ((cells.right_px + 110.0).max(420.0), (cells.bottom_px + 18.0).max(cells.top_px + 150.0));
    let (range, digits) = (range(matrix), Digits::of(matrix));
    open(&mut out, size, (&matrix.title, &caption(matrix, range, digits)), &describe(matrix));
    write_labels(matrix, &cells, &mut out);
    write_heads(matrix, &cells, &mut out);
    for number in 0..matrix.rows.len() {
        let top = cells.top_px + cells.height_px * number as f64;
        for column in 0..matrix.columns.len() {
            let value = matrix.values.get(number).and_then(|row| row.get(column)).copied().flatten();
            let corner = (cells.left_px + cells.width_px * column as f64, top);
            write_cell(&mut out, corner, (cells.width_px, cells.height_px), value, (range, digits));
        }
    }
    let label = with_unit(&matrix.value_label, &matrix.value_unit);
    write_colours(&mut out, (cells.right_px + 24.0, cells.top_px), (range, digits), &label);
    out.push_str("</svg>\n");
    out
}

/// What rows and columns are.
fn write_labels(matrix: &Matrix, cells: &Cells, out: &mut String) {
    let middle = place(cells.left_px.midpoint(cells.right_px));
    let label = escape(&matrix.column_label);
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"66\" text-anchor=\"middle\">{label}</text>");
    let middle = place(cells.top_px.midpoint(cells.bottom_px));
    let _ = writeln!(
        out,
        "<text x=\"16\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {middle})\">{}</text>",
        escape(&matrix.row_label)
    );
}

/// Their names.
fn write_heads(matrix: &Matrix, cells: &Cells, out: &mut String) {
    for (number, name) in matrix.columns.iter().enumerate() {
        let x = place(cells.left_px + cells.width_px * (number as f64 + 0.5));
        let y = place(cells.top_px - 8.0);
        let looks = if cells.is_slanted {
            format!("transform=\"rotate(-35 {x} {y})\"")
        } else {
            "text-anchor=\"middle\"".to_owned()
        };
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" {looks}>{}</text>", escape(name));
    }
    for (number, name) in matrix.rows.iter().enumerate() {
        let (x, y) = (cells.left_px - 8.0, cells.top_px + cells.height_px * (number as f64 + 0.5) + 4.0);
        let (x, y) = (place(x), place(y));
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>", escape(name));
    }
}

fn describe(matrix: &Matrix) -> String {
    let value = with_unit(&matrix.value_label, &matrix.value_unit);
    format!("{value} for each {} (rows) and {} (columns).", matrix.row_label, matrix.column_label)
}

/// The ends of the colours: given, or those of the values; around the middle, if they have one, equally far.
fn range(matrix: &Matrix) -> Range {
    let values = || matrix.values.iter().flatten().flatten().copied().filter(|value| value.is_finite());
    let (low, high) =
        values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let (low, high) = matrix.range.unwrap_or(if low <= high { (low, high) } else { (0.0, 1.0) });
    match matrix.middle {
        Some(middle) => {
            let reach = (high - middle).abs().max((middle - low).abs()).max(f64::MIN_POSITIVE);
            (middle - reach, middle + reach, Some(middle))
        }
        None => (low, high, None),
    }
}

/// The colour of a value over this ground, and of words on it.
fn colour(value: f64, (low, high, middle): Range, ground: [f64; 3]) -> (String, &'static str) {
    let share = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
    let (end, strength) = match middle {
        Some(_) if share < 0.5 => (LOW, 1.0 - 2.0 * share),
        Some(_) => (HIGH, 2.0 * share - 1.0),
        None => (LOW, share),
    };
    let part = |place: usize| (ground[place] + (end[place] - ground[place]) * strength).round();
    let mixed = [part(0), part(1), part(2)];
    (format!("#{:02x}{:02x}{:02x}", mixed[0] as u8, mixed[1] as u8, mixed[2] as u8), ink(mixed))
}

/// Black or white, whichever has more contrast (WCAG 2.2, 1.4.3): one of them has at least 4.58:1 on any ground.
fn ink(ground: [f64; 3]) -> &'static str {
    let linear = ground.map(|part| {
        let share = part / 255.0;
        if share <= 0.040_45 {
            share / 12.92
        } else {
            ((share + 0.055) / 1.055).powf(2.4)
        }
    });
    let luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 {
        "#fff"
    } else {
        "#000"
    }
}

/// What the colours stand for: without it, small differences look large.
fn caption(matrix: &Matrix, (low, high, _): Range, digits: Digits) -> String {
    let unit = if matrix.value_unit.is_empty() { String::new() } else { format!(" {}", matrix.value_unit) };
    let colours = format!("colours from {} to {}{unit}", digits.text(low), digits.text(high));
    if matrix.subtitle.is_empty() {
        colours
    } else {
        format!("{}; {colours}", matrix.subtitle)
    }
}

fn write_cell(
    out: &mut String,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    value: Option<f64>,
    (range, digits): (Range, Digits),
) {
    let value = value.filter(|value| value.is_finite());
    let of = |ground, none: &str| value.map_or((none.into(), ink(ground)), |value| colour(value, range, ground));
    let ((fill, ink), (dark, dark_ink)) = (of(WHITE, "#f2f2f2"), of(DARK_MIDDLE, "#16181c"));
    let text = value.map_or("\u{2013}".to_owned(), |value| digits.text(value));
    let _ = writeln!(
        out,
        "<rect class=\"cell\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" data-dark=\"{dark}\"/>\
         <text class=\"value\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{ink}\" data-dark=\"{dark_ink}\">{text}</text>",
        place(x + 0.5),
        place(y + 0.5),
        place(width - 1.0),
        place(height - 1.0),
        place(x + width / 2.0),
        place(y + height / 2.0 + 4.0)
    );
}

/// How all numbers of a matrix are written, so that they can be compared digit by digit.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Digits {
    /// So many behind the point.
    Fixed(usize),
    /// `1.2e7`, where numbers are too large or too small for a cell.
    Exponent,
}

impl Digits {
    /// As fine as a hundredth of the range of the values, and no more than five digits.
    fn of(matrix: &Matrix) -> Self {
        let values = || matrix.values.iter().flatten().flatten().copied().filter(|value| value.is_finite());
        let size = values().map(f64::abs).fold(0.0, f64::max);
        let (low, high) =
            values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), value| (l.min(value), h.max(value)));
        if size >= 1e6 || (size > 0.0 && size < 1e-3) {
            return Self::Exponent;
        }
        let fine = if high > low { (high - low) / 100.0 } else { size.max(1.0) / 100.0 };
        let before = if size >= 10.0 { size.log10().floor() as usize + 1 } else { 1 };
        Self::Fixed(((-fine.log10()).ceil().max(0.0) as usize).min(5_usize.saturating_sub(before)).min(3))
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Exponent => format!("{value:.1e}"),
            Self::Fixed(decimals) => {
                let text = format!("{value:.decimals$}");
                // -0.00 is no other value than 0.00.
                let is_zero = text.chars().all(|letter| matches!(letter, '-' | '0' | '.'));
                text.strip_prefix('-').filter(|_| is_zero).map_or(text.clone(), str::to_owned)
            }
        }
    }
}

/// The colours and what they stand for, beside the matrix.
fn write_colours(out: &mut String, (x, y): (f64, f64), (range, digits): (Range, Digits), label: &str) {
    let (low, high, middle) = range;
    let step_px = 120.0 / STEPS as f64;
    for step in 0..STEPS {
        let value = high - (high - low) * step as f64 / (STEPS - 1) as f64;
        let top = place(y + step_px * step as f64);
        let _ = write!(
            out,
            "<rect x=\"{}\" y=\"{top}\" width=\"14\" height=\"3.5\" fill=\"{}\" data-dark=\"{}\"/>",
            place(x),
            colour(value, range, WHITE).0,
            colour(value, range, DARK_MIDDLE).0
        );
    }
    out.push('\n');
    let ends = [(high, 4.0), (low, 124.0)].into_iter().chain(middle.map(|middle| (middle, 64.0)));
    for (value, down_px) in ends {
        let _ =
            writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", place(x + 20.0), place(y + down_px), digits.text(value));
    }
    let (x, y) = (place(x + 66.0), place(y + 60.0));
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{}</text>",
        escape(label)
    );
}
