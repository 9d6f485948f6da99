// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns of a table: which are shown, and which of them its rows are sorted by.

use crate::commands::headings::Heading;

/// A column.
pub trait Key: Copy + PartialEq + 'static {
    /// All of the table, in their order.
    const ALL: &'static [Self];
    /// What stands above it.
    fn heading(self) -> Heading;
    /// The capital letter that sorts by it: one of its heading, and of no other column.
    fn letter(self) -> Option<char>;
    /// Text is sorted from a, numbers from the largest.
    fn is_text(self) -> bool;
}

/// Those of one table.
#[derive(Debug, Clone)]
pub struct Columns<K> {
    /// The one that rows are sorted by.
    pub sorted: K,
    /// From the largest, or from z.
    pub is_descending: bool,
    /// Those that the screen has room for, and where each begins and ends.
    pub shown: Vec<(K, u16, u16)>,
    hidden: Vec<K>,
}

impl<K: Key> Columns<K> {
    /// All, sorted by this one.
    pub fn sorted_by(column: K) -> Self {
        Self { sorted: column, is_descending: !column.is_text(), shown: Vec::new(), hidden: Vec::new() }
    }

    /// Sorts by this one; by the same again: the other way round.
    pub fn sort_by(&mut self, column: K) {
        self.is_descending = if column == self.sorted { !self.is_descending } else { !column.is_text() };
        self.sorted = column;
    }

    /// The column of this letter.
    pub fn of_letter(letter: char) -> Option<K> {
        K::ALL.iter().copied().find(|column| column.letter() == Some(letter))
    }

    /// The next one on the screen.
    pub fn next(&self) -> Option<K> {
        let sortable = || self.shown.iter().map(|(key, ..)| *key).filter(|key| key.letter().is_some());
        let place = sortable().position(|key| key == self.sorted).map_or(0, |place| place + 1);
        sortable().nth(place).or_else(|| sortable().next())
    }

    /// The one whose heading is at this column of the screen.
    pub fn at(&self, x: u16) -> Option<K> {
        let found = self.shown.iter().find(|(_, start, end)| (*start..*end).contains(&x))?;
        Some(found.0).filter(|key| key.letter().is_some())
    }

    /// Hides it, or shows it again. The first one always stays.
    pub fn toggle(&mut self, column: K) {
        if let Some(place) = self.hidden.iter().position(|hidden| *hidden == column) {
            self.hidden.remove(place);
        } else if K::ALL.first() != Some(&column) {
            self.hidden.push(column);
        }
    }

    /// Was it hidden?
    pub fn is_hidden(&self, column: K) -> bool {
        self.hidden.contains(&column)
    }

    /// Is it on the screen?
    pub fn is_shown(&self, column: K) -> bool {
        self.shown.iter().any(|(shown, ..)| *shown == column)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::commands::top::model::{InstanceColumn, SocketColumn};

    /// `S` reverses the order and `G` goes to the end.
    fn letters_are_of_the_heading_and_unique<K: Key>() {
        let letters: Vec<char> = K::ALL.iter().filter_map(|key| key.letter()).collect();
        assert_eq!(letters.iter().collect::<BTreeSet<_>>().len(), letters.len());
        assert!(letters.iter().all(|letter| letter.is_ascii_uppercase() && !['S', 'G'].contains(letter)));
        assert!(K::ALL.iter().all(|key| key.letter().is_none_or(|letter| key.heading().short.contains(letter))));
    }

    #[test]
    fn each_letter_sorts_by_one_column() {
        letters_are_of_the_heading_and_unique::<InstanceColumn>();
        letters_are_of_the_heading_and_unique::<SocketColumn>();
    }

    #[test]
    fn columns_are_hidden_sorted_and_found_by_their_place() {
        use InstanceColumn as C;
        let mut columns = Columns::sorted_by(C::Throughput);
        columns.shown = vec![(C::Name, 0, 15), (C::Throughput, 16, 27), (C::Trend, 28, 40)];
        assert_eq!((columns.at(20), columns.at(15), columns.at(30)), (Some(C::Throughput), None, None));
        assert_eq!(columns.next(), Some(C::Name), "nothing is sorted by the trend");
        columns.sort_by(C::Throughput);
        assert!(!columns.is_descending, "the other way round");
        columns.sort_by(C::Name);
        assert!(!columns.is_descending, "from a");
        columns.toggle(C::Name);
        columns.toggle(C::Cwnd);
        assert_eq!((columns.is_hidden(C::Name), columns.is_hidden(C::Cwnd)), (false, true));
        columns.toggle(C::Cwnd);
        assert!(!columns.is_hidden(C::Cwnd));
    }
}
