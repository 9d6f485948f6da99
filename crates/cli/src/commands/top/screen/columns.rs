// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which columns there is room for, how wide they are, and their headings.

use ccctl_console::output::printable;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::{put, Look};
use crate::commands::top::model::{Columns, Key};

/// A column that wants to be shown.
#[derive(Debug, Clone)]
pub struct Column<K> {
    /// Which.
    pub key: K,
    /// Narrower makes no sense.
    pub least: usize,
    /// Wider is of no use.
    pub most: usize,
    /// Numbers stand at the right.
    pub is_number: bool,
    /// The largest goes first where there is no room.
    pub rank: u8,
}

impl<K: Key> Column<K> {
    /// Text.
    pub fn text(key: K, least: usize, most: usize, rank: u8) -> Self {
        Self { key, least, most: most.max(least), is_number: false, rank }
    }

    /// A number; wider only for the unit in its heading, and a mark behind it.
    pub fn number(key: K, width: usize, rank: u8) -> Self {
        Self { key, least: width, most: width.max(key.heading().full.len() + 1), is_number: true, rank }
    }
}

/// Columns that fit into `width` with a space between them, each with its width: the most important for which there is
/// room, in their order. What is left over goes to those that can use it, the most important first.
pub fn fit<K: Copy>(columns: &[Column<K>], width: usize) -> Vec<(Column<K>, usize)> {
    let mut by_rank: Vec<usize> = (0..columns.len()).collect();
    by_rank.sort_by_key(|place| columns[*place].rank);
    let mut taken = 0;
    by_rank.retain(|place| {
        let fits = taken == 0 || taken + columns[*place].least <= width; // the first is always there
        if fits {
            taken += columns[*place].least + 1;
        }
        fits
    });
    by_rank.sort_unstable();
    let columns: Vec<Column<K>> = by_rank.into_iter().map(|place| columns[place].clone()).collect();
    widen(columns, (width + 1).saturating_sub(taken))
}

/// Half a unit says nothing: a number gets all of its room or none.
fn widen<K: Copy>(columns: Vec<Column<K>>, mut left: usize) -> Vec<(Column<K>, usize)> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.least).collect();
    let mut by_rank: Vec<usize> = (0..columns.len()).collect();
    by_rank.sort_by_key(|place| columns[*place].rank);
    for place in by_rank {
        let wanted = columns[place].most - columns[place].least;
        let more = if columns[place].is_number && wanted > left { 0 } else { wanted.min(left) };
        widths[place] += more;
        left -= more;
    }
    columns.into_iter().zip(widths).collect()
}

/// Where each column begins and ends.
pub fn places<K: Copy>(columns: &[(Column<K>, usize)]) -> Vec<(K, u16, u16)> {
    let mut start = 0;
    let place = |(column, width): &(Column<K>, usize)| {
        let end = start + *width as u16;
        let place = (column.key, start, end);
        start = end + 1;
        place
    };
    columns.iter().map(place).collect()
}

/// The line above a table. The letter that sorts by a column is underlined; the column that the rows are sorted by has a
/// mark right behind its heading, where need be in the space between columns.
pub fn header<K: Key>(columns: &[(Column<K>, usize)], order: &Columns<K>, look: Look, area: Rect, buffer: &mut Buffer) {
    let style = look.header();
    buffer.set_style(Rect { height: area.height.min(1), ..area }, style);
    for ((column, width), (_, start, _)) in columns.iter().zip(places(columns)) {
        let heading = column.key.heading().fitting(*width);
        let mark = match (column.key == order.sorted, order.is_descending) {
            (false, _) => "",
            (true, true) => "v",
            (true, false) => "^",
        };
        let marked = format!("{heading}{mark}");
        let indent = if column.is_number { width.saturating_sub(marked.len()) } else { 0 };
        let x = area.x.saturating_add(start + indent as u16);
        let room = (width + mark.len() - indent).min(usize::from(area.right().saturating_sub(x)));
        if room == 0 || area.height == 0 {
            return;
        }
        put(buffer, (x, area.y), &marked, room, style);
        let letter = column.key.letter().and_then(|letter| heading.find(letter)).filter(|place| *place < room);
        if let Some(cell) = letter.and_then(|place| buffer.cell_mut((x + place as u16, area.y))) {
            cell.set_style(Style::new().add_modifier(Modifier::UNDERLINED));
        }
    }
}

/// One row of a table.
pub fn cells<K: Copy>(
    columns: &[(Column<K>, usize)],
    area: Rect,
    style: Style,
    buffer: &mut Buffer,
    text: impl Fn(&Column<K>, usize) -> String,
) {
    buffer.set_style(Rect { height: area.height.min(1), ..area }, style);
    let mut x = area.x;
    for (column, width) in columns {
        if x >= area.right() || area.height == 0 {
            return;
        }
        let text = text(column, *width);
        let text = printable(&text);
        let indent = if column.is_number { width.saturating_sub(text.chars().count()) } else { 0 };
        let start = x.saturating_add(indent as u16);
        let room = (*width - indent).min(usize::from(area.right().saturating_sub(start)));
        if room > 0 {
            put(buffer, (start, area.y), &text, room, style);
        }
        x = x.saturating_add(*width as u16 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(width: usize) -> Vec<(char, usize)> {
        let column = |key, least, most, is_number, rank| Column { key, least, most, is_number, rank };
        let columns = [column('a', 5, 10, false, 0), column('b', 4, 6, true, 2), column('c', 5, 7, false, 1)];
        fit(&columns, width).into_iter().map(|(column, width)| (column.key, width)).collect()
    }

    #[test]
    fn the_least_important_goes_first_and_the_most_important_grows_first() {
        assert_eq!(fitted(16), [('a', 5), ('b', 4), ('c', 5)]);
        assert_eq!(fitted(15), [('a', 9), ('c', 5)]);
        assert_eq!(fitted(10), [('a', 5), ('b', 4)], "what still fits is not left out");
        assert_eq!(fitted(9), [('a', 9)]);
        assert_eq!(fitted(2), [('a', 5)], "one is always there");
        assert_eq!(fitted(24), [('a', 10), ('b', 4), ('c', 7)], "half a unit is of no use");
        assert_eq!(fitted(80), [('a', 10), ('b', 6), ('c', 7)]);
    }
}
