// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows of one socket, or of the host, as lines and marks.

use ccctl_series::columns::{self, STATE_PREFIX};
use ccctl_series::{fixed_point, Line, Mark, Point, Style, Table, Value, Values};

/// A line of a panel: column, name in the legend, factor, style.
pub type Curve = (&'static str, &'static str, f64, Style);

/// Events that are marked, and how.
const MARKS: [(&str, &str); 2] = [("retransmit", "retransmission"), ("timeout", "timeout")];
/// Two marks of a kind that are closer than this part of the time cannot be told apart.
const MARKS_MOST: f64 = 400.0;

/// Rows of one socket, or of the host.
pub struct Rows<'a> {
    pub table: &'a Table,
    pub rows: Vec<usize>,
}

pub fn integer(table: &Table, name: &str, row: usize) -> Option<i64> {
    match table.column(name)?.values.get(row)? {
        Value::Integer(value) => Some(value),
        _ => None,
    }
}

pub fn word(table: &Table, name: &str, row: usize) -> Option<String> {
    match table.column(name)?.values.get(row)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

pub fn time_s(table: &Table, row: usize) -> Option<f64> {
    table.column(columns::TIME_S.name)?.values.get(row)?.number()
}

impl Rows<'_> {
    pub fn points(&self, column: &str, factor: f64) -> Vec<Point> {
        let (Some(times), Some(values)) = (self.table.column(columns::TIME_S.name), self.table.column(column)) else {
            return Vec::new();
        };
        let number = |values: &Values, row| values.get(row).and_then(|value| value.number());
        let point = |row: &usize| Some(Point::at(number(&times.values, *row)?, number(&values.values, *row)? * factor));
        self.rows.iter().filter_map(point).collect()
    }

    pub fn curve(&self, (column, label, factor, style): &Curve) -> Line {
        Line { label: (*label).to_owned(), style: *style, points: self.points(column, *factor) }
    }

    pub fn curves(&self, curves: &[Curve]) -> Vec<Line> {
        curves.iter().map(|curve| self.curve(curve)).filter(|line| !line.points.is_empty()).collect()
    }

    /// A field of the state, in its unit: fixed-point numbers are what they stand for.
    pub fn state_line(&self, name: &str) -> Line {
        let column = format!("{STATE_PREFIX}{name}");
        let unit = self.table.column(&column).map(|column| column.unit.as_str());
        let (bits, _) = fixed_point(unit.unwrap_or_default());
        Line {
            label: bits.map_or(name.to_owned(), |bits| format!("{name} / 2^{bits}")),
            style: Style::Steps,
            points: self.points(&column, f64::from(bits.unwrap_or(0)).exp2().recip()),
        }
    }

    /// Moments of the events that are marked, as many as can be told apart.
    pub fn marks(&self) -> Vec<Mark> {
        let times = self.points(columns::TIME_S.name, 1.0);
        let span = times.last().map_or(0.0, |last| last.x) - times.first().map_or(0.0, |first| first.x);
        let mut marks: Vec<Mark> = Vec::new();
        for (event, label) in MARKS {
            let mut last = f64::NEG_INFINITY;
            for row in &self.rows {
                let Some(x) = time_s(self.table, *row) else { continue };
                if word(self.table, columns::EVENT.name, *row).as_deref() == Some(event) && x - last > span / MARKS_MOST
                {
                    marks.push(Mark { x, label: label.to_owned() });
                    last = x;
                }
            }
        }
        marks
    }

    pub fn has(&self, field: &str) -> bool {
        !self.points(&format!("{STATE_PREFIX}{field}"), 1.0).is_empty()
    }

    pub fn changes(&self, field: &str) -> bool {
        let points = self.points(&format!("{STATE_PREFIX}{field}"), 1.0);
        points.iter().any(|point| point.y.to_bits() != points[0].y.to_bits())
    }
}
