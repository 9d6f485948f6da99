// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fewer points with the same picture.

use crate::figure::{Point, Style};

/// Of each run of points in one column of the picture, the first, the lowest, the highest and the last, in their order;
/// so peaks stay, and lines enter and leave a column where they did. Points without a place stay as one gap.
pub fn reduce(points: &[Point], style: Style, column: impl Fn(f64) -> Option<f64>, columns: usize) -> Vec<Point> {
    if points.len() <= columns * 4 || style == Style::Bars {
        return points.to_vec();
    }
    let column_of = |point: &Point| column(point.x).filter(|_| point.y.is_finite()).map(|column| column.floor() as i64);
    let mut kept = Vec::new();
    let mut rest = points;
    while let Some(first) = rest.first() {
        let place = column_of(first);
        let length = rest.iter().take_while(|point| column_of(point) == place).count();
        let (run, after) = rest.split_at(length);
        match place {
            Some(_) => keep_ends(run, &mut kept),
            None => kept.push(*first),
        }
        rest = after;
    }
    kept
}

fn keep_ends(run: &[Point], kept: &mut Vec<Point>) {
    let by_value = |a: &(usize, &Point), b: &(usize, &Point)| a.1.y.total_cmp(&b.1.y);
    let lowest = run.iter().enumerate().min_by(by_value).map(|(place, _)| place);
    let highest = run.iter().enumerate().max_by(by_value).map(|(place, _)| place);
    let mut places = vec![0, run.len() - 1];
    places.extend(lowest);
    places.extend(highest);
    places.sort_unstable();
    places.dedup();
    kept.extend(places.into_iter().map(|place| run[place]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_and_gaps_stay() {
        let value = |number: usize| match number {
            51_234 => 1000.0,
            77_777 => -1000.0,
            90_000..90_100 => f64::NAN,
            _ => (number % 17) as f64,
        };
        let points: Vec<_> = (0..100_000).map(|number| Point::at(number as f64, value(number))).collect();
        let reduced = reduce(&points, Style::Straight, |x| Some(x / 100_000.0 * 500.0), 500);
        assert!(reduced.len() <= 4 * 502, "{}", reduced.len());
        for (x, y) in [(0.0, 0.0), (51_234.0, 1000.0), (77_777.0, -1000.0), (99_999.0, 5.0)] {
            assert!(reduced.contains(&Point::at(x, y)), "{x}");
        }
        assert_eq!(reduced.iter().filter(|point| point.y.is_nan()).count(), 1);
        assert!(reduced.windows(2).all(|pair| pair[0].x < pair[1].x));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let points: Vec<_> = (0..2000).map(|number| Point::at(f64::from(number), 1.0)).collect();
        assert_eq!(reduce(&points, Style::Steps, |x| Some(x / 4.0), 500), points);
    }
}
