// SPDX-License-Identifier: MIT OR Apache-2.0
//! A last value that flattens all others. The kernel's delivery rate of a short last flight, with the FIN, can be many times
//! what the link carries, and stands until the socket is gone.

use ccctl_series::{Mark, Panel, Point};

/// So many times the largest value before is out of proportion.
const OUT_OF_PROPORTION: f64 = 3.0;
/// At most this part of the values, and at least one, can be an end; fewer values before it say nothing.
const END_PART: usize = 20;
const FEWEST_BEFORE: usize = 10;

/// Takes such an end out of each line of a panel, and marks where it was and how much.
pub fn clip(panel: &mut Panel) {
    for line in &mut panel.lines {
        let Some(start) = start_of_outliers(&line.points) else { continue };
        let outliers = line.points.split_off(start);
        let most = outliers.iter().map(|point| point.y).fold(0.0, f64::max);
        let label = format!("{}, {most:.0} {}: beyond the axis", line.label, panel.y.unit);
        panel.marks.push(Mark { x: outliers[0].x, label });
    }
}

/// The place of the first value of an end that is out of proportion to everything before.
fn start_of_outliers(points: &[Point]) -> Option<usize> {
    let end = (points.len() / END_PART).max(1);
    let earliest = points.len().checked_sub(end)?.max(FEWEST_BEFORE);
    let largest_before = |start: usize| points[..start].iter().map(|point| point.y).fold(0.0, f64::max);
    let is_outlier = |start: &usize| {
        let most = largest_before(*start);
        most > 0.0 && points[*start..].iter().all(|point| point.y > OUT_OF_PROPORTION * most)
    };
    (earliest..points.len()).find(is_outlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Point> {
        values.iter().enumerate().map(|(at, value)| Point::at(at as f64, *value)).collect()
    }

    #[test]
    fn only_an_end_out_of_proportion_is_taken_out() {
        let steady = vec![20.0; 100];
        let ended = |end: &[f64]| start_of_outliers(&points(&[&steady, end].concat()));
        assert_eq!(ended(&[400.0]), Some(100));
        assert_eq!(ended(&[400.0, 400.0, 380.0]), Some(100));
        assert_eq!(ended(&[50.0]), None, "two and a half times");
        assert_eq!(ended(&[400.0, 20.0]), None, "a peak and no end");
        assert_eq!(ended(&[400.0; 50]), None, "a third of all values");
        assert_eq!(start_of_outliers(&points(&[20.0, 400.0])), None, "too few to know");
        assert_eq!(start_of_outliers(&points(&[vec![0.0; 50], vec![9.0]].concat())), None, "nothing to compare with");
        assert_eq!(start_of_outliers(&[]), None);
    }
}
