// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of a page.

use std::fmt::Write as _;

use crate::svg::text::escape;

/// A cell with more letters is a sentence.
const SENTENCE_LETTERS: usize = 40;

/// A table; a click on a column's head sorts it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grid {
    /// What it shows; may be empty.
    pub caption: String,
    /// Heads of the columns, with units.
    pub head: Vec<String>,
    /// From the top.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// A word or a number.
    pub text: String,
    /// Whether what it states holds, where it states something.
    pub holds: Option<bool>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), holds: None }
    }
}

impl Cell {
    /// A statement that holds, or does not.
    pub fn verdict(text: impl Into<String>, holds: bool) -> Self {
        Self { text: text.into(), holds: Some(holds) }
    }
}

impl Grid {
    pub(super) fn write(&self, out: &mut String) {
        let numeric: Vec<_> = (0..self.head.len()).map(|column| self.is_numeric(column)).collect();
        let class = |column: usize| if numeric.get(column) == Some(&true) { "number" } else { "" };
        let stacks = if self.has_sentences() { " stack" } else { "" };
        let _ = writeln!(out, "<div class=\"grid{stacks}\"><table>");
        if !self.caption.is_empty() {
            let _ = writeln!(out, "<caption>{}</caption>", escape(&self.caption));
        }
        out.push_str("<thead><tr>");
        for (column, head) in self.head.iter().enumerate() {
            let _ = write!(out, "<th scope=\"col\" class=\"{}\">{}</th>", class(column), escape(head));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let head = self.head.get(column).filter(|_| !stacks.is_empty());
                cell.write(class(column), head.map_or("", String::as_str), out);
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table></div>\n");
    }

    /// Cells that are long to read: on a narrow screen their rows are written below each other, with the head of each cell.
    fn has_sentences(&self) -> bool {
        self.rows.iter().flatten().any(|cell| cell.text.chars().count() > SENTENCE_LETTERS)
    }

    /// All cells of the column that hold anything begin with a number.
    fn is_numeric(&self, column: usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !is_nothing(&cell.text));
        cells().all(|cell| begins_with_number(&cell.text)) && cells().next().is_some()
    }
}

impl Cell {
    /// The verdict is in a sign before the words too, for those who do not see its colour.
    fn write(&self, class: &str, head: &str, out: &mut String) {
        let (verdict, sign) = match self.holds {
            None => ("", ""),
            Some(true) => (" holds", "<span aria-label=\"holds\">\u{2713}</span> "),
            Some(false) => (" fails", "<span aria-label=\"does not hold\">\u{2717}</span> "),
        };
        let head = if head.is_empty() { String::new() } else { format!(" data-head=\"{}\"", escape(head)) };
        let _ = write!(out, "<td class=\"{class}{verdict}\"{head}>{sign}{}</td>", escape(&self.text));
    }
}

fn is_nothing(text: &str) -> bool {
    matches!(text.trim(), "" | "-" | "\u{2013}" | "\u{2014}")
}

fn begins_with_number(text: &str) -> bool {
    let word = text.trim().split([' ', '%', '\u{b1}', '\u{d7}']).next().unwrap_or_default();
    word.replace('\u{2212}', "-").parse::<f64>().is_ok()
}
