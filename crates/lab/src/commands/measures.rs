// SPDX-License-Identifier: GPL-2.0-only
//! The measures of a run as a table in the terminal, so that one need not open the page for a few numbers.

use std::collections::BTreeSet;

use ccctl_console::output::{self, GAP};
use ccctl_lab::report::{estimate, measure_with_unit};
use ccctl_lab::run::{PointSummary, Summary};

/// More points are left to the page.
const ROWS_MAX: usize = 20;

/// Rows for points, columns for the axes that differ and for the measures of the page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MeasureTable {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    more_points: usize,
    more_measures: usize,
}

impl MeasureTable {
    /// As many columns as the terminal has room for, in letters; all without a terminal.
    pub fn new(summary: &Summary, room: Option<usize>) -> Self {
        let points: Vec<&PointSummary> = summary.points.iter().filter(|point| point.repeats > 0).collect();
        let differs =
            |axis: &&str| points.iter().map(|point| point.place.get(*axis)).collect::<BTreeSet<_>>().len() > 1;
        let axes: Vec<&str> = summary.axes.iter().map(|axis| axis.name.as_str()).filter(differs).collect();
        let measures = summary.wanted.iter();
        let heads = measures.map(|name| measure_with_unit(name, summary.measures.get(name).map_or("", |it| &it.unit)));
        let row = |point: &&PointSummary| {
            let place = axes.iter().map(|axis| point.place.get(*axis).cloned().unwrap_or_default());
            let value = |name| point.measures.get(name).map_or_else(|| "-".to_owned(), estimate);
            place.chain(summary.wanted.iter().map(value)).collect()
        };
        let mut table = Self {
            head: axes.iter().map(|axis| axis.to_uppercase()).chain(heads).collect(),
            rows: points.iter().take(ROWS_MAX).map(row).collect(),
            more_points: points.len().saturating_sub(ROWS_MAX),
            more_measures: 0,
        };
        table.fit(axes.len(), room.unwrap_or(usize::MAX));
        table
    }

    /// Leaves measures out from the right, but never the first.
    fn fit(&mut self, axis_count: usize, room: usize) {
        while self.width() > room && self.head.len() > axis_count + 1 {
            self.head.pop();
            for row in &mut self.rows {
                row.pop();
            }
            self.more_measures += 1;
        }
    }

    fn width(&self) -> usize {
        let letters = |column: usize| {
            let cells = self.rows.iter().map(|row| &row[column]);
            cells.chain([&self.head[column]]).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.head.len()).map(|column| letters(column) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    /// Prints it, and what is not in it.
    pub fn print(&self) -> anyhow::Result<()> {
        if self.rows.is_empty() || self.head.is_empty() {
            return Ok(());
        }
        let head: Vec<&str> = self.head.iter().map(String::as_str).collect();
        output::table(&head, self.rows.clone())?;
        let more = [(self.more_points, "more point"), (self.more_measures, "more measure")];
        let more = more.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| output::count(*count, noun));
        match more.collect::<Vec<_>>().join(", ") {
            text if text.is_empty() => Ok(()),
            text => output::line(&format!("{text}: on the page and in measures.csv")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: usize) -> MeasureTable {
        let row = |first: &str| [first].into_iter().chain(["1234567890"; 5]).take(columns).map(str::to_owned).collect();
        MeasureTable { head: row("ALGORITHM"), rows: vec![row("cubic"), row("reno")], ..MeasureTable::default() }
    }

    /// 9 letters of the axis and 10 of each measure, 2 between: 9 + 3 * 12 = 45 letters are three measures.
    #[test]
    fn measures_that_have_no_room_are_counted() {
        for (room, columns, more) in [(69, 6, 0), (68, 5, 1), (45, 4, 2), (44, 3, 3), (1, 2, 4)] {
            let mut table = table(6);
            table.fit(1, room);
            assert_eq!(
                (table.head.len(), table.rows[1].len(), table.more_measures),
                (columns, columns, more),
                "{room}"
            );
        }
    }
}
