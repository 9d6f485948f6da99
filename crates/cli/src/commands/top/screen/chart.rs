// SPDX-License-Identifier: MIT OR Apache-2.0
//! One chart: curves, axes with ticks at round numbers, least and most.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Widget as _};

use super::Look;

/// Spans of the time axis: the shortest that holds all; two points make no line.
const SPANS_S: [f64; 8] = [30.0, 60.0, 120.0, 180.0, 300.0, 600.0, 1800.0, 3600.0];
/// Rows of a tick.
const TICK_ROWS: u16 = 2;
/// What is so many times as large as the curve that matters is cut off.
const CLIPPED_ABOVE: f64 = 1.5;
/// Dots of a dash and of the gap behind it.
const DASH: usize = 5;

/// Seconds, as a negative number before the latest point, and values.
pub type Values = Vec<(f64, f64)>;

/// One curve.
pub struct Curve {
    /// What is drawn.
    pub values: Values,
    /// Told from the other one without colour.
    pub is_dashed: bool,
    /// With colour.
    pub colour: Color,
}

/// All of a chart.
pub struct Picture {
    /// Above it.
    pub title: String,
    /// Below it.
    pub foot: String,
    /// The last one decides the scale; another that is far above is cut off.
    pub curves: Vec<Curve>,
}

/// A scale: from, to, and the distance of ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    least: f64,
    most: f64,
    step: f64,
}

impl Scale {
    /// From 0, where that is not far, up to a round number, with at most so many steps.
    pub fn of(values: impl Iterator<Item = f64>, steps: u16) -> Self {
        let (least, most) = values.fold((0.0_f64, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        let most = if most > least { most } else { least + 1.0 };
        let step = round_step((most - least) / f64::from(steps.max(1)));
        Self { least: (least / step).floor() * step, most: (most / step).ceil() * step, step }
    }

    fn labels(&self) -> Vec<Line<'static>> {
        let count = ((self.most - self.least) / self.step).round() as u32;
        (0..=count).map(|tick| Line::from(short(self.least + f64::from(tick) * self.step))).collect()
    }
}

/// 1, 2 or 5 times a power of ten, at least this.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|times| times * power)
        .find(|step| *step >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// Is a value so far above the curve that it would flatten it?
pub fn is_far_above(value: f64, curve: &[(f64, f64)]) -> bool {
    value > CLIPPED_ABOVE * curve.iter().map(|(_, value)| *value).fold(1.0, f64::max)
}

/// Draws it.
pub fn draw(picture: &Picture, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some((main, others)) = picture.curves.split_last() else { return };
    let others: Vec<Values> = others.iter().map(|curve| within(&curve.values, &main.values)).collect();
    let all = || others.iter().flatten().chain(&main.values);
    let first = span(all().map(|(at, _)| *at).fold(0.0, f64::min));
    let scale = Scale::of(all().map(|(_, value)| *value), area.height.saturating_sub(4) / TICK_ROWS);
    let dots = 2 * usize::from(area.width);
    let drawn: Vec<Values> = others.iter().map(|values| dashes(values, first, dots)).collect();
    let curves = drawn.iter().chain([&main.values]).zip(&picture.curves);
    let datasets = curves.map(|(values, curve)| dataset(values, curve, look));
    let time = [format!("{first:.0} s"), format!("{:.0}", first / 2.0), "now".to_owned()].map(Line::from);
    Chart::new(datasets.collect())
        .block(
            Block::bordered()
                .title(picture.title.as_str())
                .title_bottom(Line::from(picture.foot.as_str()).alignment(Alignment::Right)),
        )
        .legend_position(None)
        .x_axis(Axis::default().bounds([first, 0.0]).labels(time))
        .y_axis(Axis::default().bounds([scale.least, scale.most]).labels(scale.labels()))
        .render(area, buffer);
}

fn dataset<'a>(values: &'a [(f64, f64)], curve: &Curve, look: Look) -> Dataset<'a> {
    let marker = match (look.has_unicode, curve.is_dashed) {
        (true, _) => Marker::Braille,
        (false, false) => Marker::Custom('*'),
        (false, true) => Marker::Custom('-'),
    };
    let shape = if curve.is_dashed { GraphType::Scatter } else { GraphType::Line };
    Dataset::default().marker(marker).graph_type(shape).data(values).style(look.coloured(curve.colour))
}

fn within(values: &[(f64, f64)], main: &[(f64, f64)]) -> Values {
    values.iter().copied().filter(|(_, value)| !is_far_above(*value, main)).collect()
}

/// The shortest span that holds this time, as the start of the axis.
fn span(first: f64) -> f64 {
    -SPANS_S.into_iter().find(|span| *span >= -first).unwrap_or(-first)
}

/// A curve of steps as dots, with gaps: each value holds until the next.
fn dashes(values: &[(f64, f64)], first: f64, dots: usize) -> Values {
    let Some((start, _)) = values.first().copied() else { return Vec::new() };
    let distance = -first / dots.max(1) as f64;
    let dot = |number: usize| {
        let at = first + number as f64 * distance;
        let held = values.partition_point(|(time, _)| *time <= at).checked_sub(1)?;
        Some((at, values[held].1))
    };
    let is_drawn = |number: &usize| (number / DASH).is_multiple_of(2);
    (0..=dots).filter(is_drawn).filter_map(dot).filter(|(at, _)| *at >= start).collect()
}

/// A number of at most 6 characters.
pub fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e12 => (value / 1e12, "T"),
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match value.abs() {
        size if size >= 1000.0 || size.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{:>6}", format!("{value:.digits$}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], steps: u16) -> Vec<String> {
        let scale = Scale::of(values.iter().copied(), steps);
        scale.labels().iter().map(|label| label.to_string().trim().to_owned()).collect()
    }

    #[test]
    fn ticks_are_at_round_numbers() {
        assert_eq!(labels(&[3.0, 42.0], 4), ["0", "20", "40", "60"]);
        assert_eq!(labels(&[87.0], 1), ["0", "100"]);
        assert_eq!(labels(&[40.3], 5), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(labels(&[0.3], 3), ["0", "0.10", "0.20", "0.30"]);
        assert_eq!(labels(&[-3.0, 12_000.0], 2), ["-10k", "0", "10k", "20k"]);
        assert_eq!(labels(&[], 4), ["0", "0.50", "1"]);
        assert_eq!(labels(&[0.0], 0), ["0", "1"]);
    }

    #[test]
    fn what_is_far_above_flattens_nothing() {
        let main = vec![(-2.0, 10.0), (-1.0, 40.0)];
        assert_eq!(within(&[(-2.0, 1000.0), (-1.0, 60.0)], &main), [(-1.0, 60.0)]);
        assert!(is_far_above(61.0, &main) && !is_far_above(1.0, &[]));
    }

    /// 60 dots in 30 s: two per second, five with and five without.
    #[test]
    fn dashes_hold_each_value_until_the_next() {
        let dots = dashes(&[(-10.0, 5.0), (-4.0, 7.0)], -30.0, 60);
        let times: Vec<f64> = dots.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [-10.0, -9.5, -9.0, -8.5, -8.0, -5.0, -4.5, -4.0, -3.5, -3.0, 0.0]);
        let values: Vec<f64> = dots.iter().map(|(_, value)| *value).collect();
        assert_eq!(values[5..], [5.0, 5.0, 7.0, 7.0, 7.0, 7.0]);
        assert_eq!(dashes(&[], -30.0, 60), []);
    }

    #[test]
    fn the_time_axis_has_a_round_span() {
        assert_eq!([0.0, -30.0, -31.0, -299.0, -9999.0].map(|first| span(first) as i32), [-30, -30, -60, -300, -9999]);
        assert_eq!(
            [12.0, 12.5, 1048.0, 135e6, 0.25].map(|value| short(value).trim().to_owned()),
            ["12", "12.5", "1048", "135M", "0.25"]
        );
    }
}
