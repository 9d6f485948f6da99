// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which columns there is room for, and how wide they are.

/// A column that wants to be shown.
#[derive(Debug, Clone)]
pub struct Column<K> {
    /// Which.
    pub key: K,
    /// What stands above it.
    pub title: &'static str,
    /// Narrower makes no sense.
    pub least: usize,
    /// Wider is of no use.
    pub most: usize,
    /// Numbers stand at the right.
    pub is_number: bool,
    /// The largest goes first where there is no room.
    pub rank: u8,
}

impl<K: Copy> Column<K> {
    /// Text.
    pub fn text(key: K, title: &'static str, least: usize, most: usize, rank: u8) -> Self {
        Self { key, title, least, most: most.max(least), is_number: false, rank }
    }

    /// A number.
    pub fn number(key: K, title: &'static str, width: usize, rank: u8) -> Self {
        Self { key, title, least: width, most: width, is_number: true, rank }
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

fn widen<K: Copy>(columns: Vec<Column<K>>, mut left: usize) -> Vec<(Column<K>, usize)> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.least).collect();
    let mut by_rank: Vec<usize> = (0..columns.len()).collect();
    by_rank.sort_by_key(|place| columns[*place].rank);
    for place in by_rank {
        let more = (columns[place].most - columns[place].least).min(left);
        widths[place] += more;
        left -= more;
    }
    columns.into_iter().zip(widths).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(width: usize) -> Vec<(char, usize)> {
        let columns =
            vec![Column::text('a', "A", 5, 10, 0), Column::number('b', "B", 4, 2), Column::text('c', "C", 5, 7, 1)];
        fit(&columns, width).into_iter().map(|(column, width)| (column.key, width)).collect()
    }

    #[test]
    fn the_least_important_goes_first_and_the_most_important_grows_first() {
        assert_eq!(fitted(16), [('a', 5), ('b', 4), ('c', 5)]);
        assert_eq!(fitted(15), [('a', 9), ('c', 5)]);
        assert_eq!(fitted(10), [('a', 5), ('b', 4)], "what still fits is not left out");
        assert_eq!(fitted(9), [('a', 9)]);
        assert_eq!(fitted(2), [('a', 5)], "one is always there");
        assert_eq!(fitted(80), [('a', 10), ('b', 4), ('c', 7)]);
    }
}
