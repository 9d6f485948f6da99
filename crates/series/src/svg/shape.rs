// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines as paths. Every style is one path, so that a page can draw it again when it is zoomed.

use std::fmt::Write as _;

use super::scale::Span;
use super::text::place;
use crate::figure::{Point, Style};

/// Half the width of a point, in pixels.
const POINT_PX: f64 = 2.4;

/// Half the width of the ends of an error bar.
const CAP_PX: f64 = 3.0;

/// Where values are on a panel.
#[derive(Debug)]
pub struct Plot<'a> {
    pub x: &'a Span,
    pub y: &'a Span,
    pub width_px: f64,
    pub height_px: f64,
}

/// How far left of its value a bar begins, and how wide it is: bars of several lines stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bar {
    pub offset_px: f64,
    pub width_px: f64,
}

impl Plot<'_> {
    pub fn x_px(&self, value: f64) -> Option<f64> {
        Some(self.x.share(value)? * self.width_px)
    }

    pub fn y_px(&self, value: f64) -> Option<f64> {
        Some((1.0 - self.y.share(value)?) * self.height_px)
    }

    /// The nearest place on the panel, for the end of an error bar or the foot of a bar.
    fn y_within_px(&self, value: f64) -> f64 {
        let end = if self.y.is_below(value) { self.height_px } else { 0.0 };
        self.y_px(value).unwrap_or(end)
    }

    fn at(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x_px(point.x)?, self.y_px(point.y)?))
    }

    /// The path of a line; empty if none of its points is on the panel.
    pub fn path(&self, points: &[Point], style: Style, bar: Bar) -> String {
        match style {
            Style::Straight | Style::Dashed => self.strokes(points, false),
            Style::Steps => self.strokes(points, true),
            Style::Points => self.dots(points, bar),
            Style::Bars => self.bars(points, bar),
        }
    }

    fn strokes(&self, points: &[Point], steps: bool) -> String {
        let mut path = String::new();
        let mut before: Option<(f64, f64)> = None;
        for (number, point) in points.iter().enumerate() {
            let here = self.at(point);
            let is_alone = before.is_none() && points.get(number + 1).and_then(|next| self.at(next)).is_none();
            match (here, before) {
                (Some((x, y)), Some(_)) if steps => drop(write!(path, "H{}V{}", place(x), place(y))),
                (Some((x, y)), Some(_)) => drop(write!(path, "L{} {}", place(x), place(y))),
                // A stroke without length is not drawn: a value between two gaps is a dot.
                (Some((x, y)), None) if is_alone => path.push_str(&dot(x, y)),
                (Some((x, y)), None) => drop(write!(path, "M{} {}", place(x), place(y))),
                (None, _) => {}
            }
            before = here;
        }
        path
    }

    fn dots(&self, points: &[Point], bar: Bar) -> String {
        let over = |(x, y): (f64, f64)| dot(x + bar.offset_px + bar.width_px / 2.0, y);
        let mut dots: Vec<_> = points.iter().filter_map(|point| self.at(point)).map(over).collect();
        dots.dedup();
        dots.concat()
    }

    fn bars(&self, points: &[Point], bar: Bar) -> String {
        let foot = self.y_within_px(0.0);
        let one = |point: &Point| {
            let (x, y) = self.at(point)?;
            let left = (x + bar.offset_px).clamp(0.0, self.width_px);
            let right = (x + bar.offset_px + bar.width_px).clamp(0.0, self.width_px);
            Some(format!("M{} {}V{}H{}V{}Z", place(left), place(foot), place(y), place(right), place(foot)))
        };
        points.iter().filter_map(one).collect()
    }

    /// Error bars of all points that have one.
    pub fn errors(&self, points: &[Point], bar: Bar) -> String {
        let one = |point: &Point| {
            let (x, _) = self.at(point)?;
            let x = x + bar.offset_px + bar.width_px / 2.0;
            let (low, high) = (self.y_within_px(point.y - point.error), self.y_within_px(point.y + point.error));
            let (left, right) = (place((x - CAP_PX).max(0.0)), place((x + CAP_PX).min(self.width_px)));
            let (low, high) = (place(low), place(high));
            Some(format!("M{} {low}V{high}M{left} {low}H{right}M{left} {high}H{right}", place(x)))
        };
        points.iter().filter(|point| point.error > 0.0 && point.error.is_finite()).filter_map(one).collect()
    }
}

pub fn dot(x: f64, y: f64) -> String {
    let (radius, across) = (place(POINT_PX), place(2.0 * POINT_PX));
    let left = place(x - POINT_PX);
    format!("M{left} {}a{radius} {radius} 0 1 0 {across} 0a{radius} {radius} 0 1 0 -{across} 0Z", place(y))
}
