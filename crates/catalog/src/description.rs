// SPDX-License-Identifier: MIT OR Apache-2.0
//! The header comment of an algorithm: its title and its rows.

use serde::Serialize;

/// What an algorithm's header comment says: a title, then rows that each begin with a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Description {
    /// First line: name and purpose.
    pub title: String,
    /// `production`, or `study` for what has no maintained deployment.
    pub purpose: String,
    /// What it is good for, in a few words.
    pub good_for: String,
    /// When to use it.
    pub use_when: String,
    /// When not to use it.
    pub not_when: String,
    /// Papers and RFCs.
    pub source: String,
    /// The law in equations, one line each.
    pub law: Vec<String>,
    /// Why the law is as it is.
    pub why: String,
    /// Differences from the paper and from Linux.
    pub differs: String,
    /// What is kept per socket.
    pub state: String,
    /// Range in which the arithmetic is exact.
    pub range: String,
    /// Kernel features beyond registration, if any.
    pub needs: String,
}

impl Description {
    /// Reads the first comment of a C file.
    #[must_use]
    pub fn of_source(source: &str) -> Self {
        let lines = comment_lines(source);
        let row = |word: &str| row_lines(&lines, word).join(" ");
        let intended = row("For");
        let (purpose, good_for) = intended.split_once(": ").unwrap_or((&intended, ""));
        Self {
            title: lines.first().cloned().unwrap_or_default(),
            purpose: purpose.to_owned(),
            good_for: good_for.to_owned(),
            use_when: row("Use"),
            not_when: row("Not"),
            source: row("Source"),
            law: row_lines(&lines, "Law"),
            why: row("Why"),
            differs: row("Differs"),
            state: row("State"),
            range: row("Range"),
            needs: row("Needs"),
        }
    }
}

/// The lines of the first block comment, without their stars.
fn comment_lines(source: &str) -> Vec<String> {
    source
        .lines()
        .skip_while(|line| !line.starts_with("/*"))
        .skip(1)
        .take_while(|line| !line.starts_with(" */"))
        .map(|line| line.strip_prefix(" *").unwrap_or(line).trim_end().to_owned())
        .map(|line| line.strip_prefix(' ').map_or(line.clone(), str::to_owned))
        .collect()
}

/// The text of the row that begins with `word`, and its continuation lines, which are indented.
fn row_lines(lines: &[String], word: &str) -> Vec<String> {
    let is_row = |line: &&String| line.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
    let Some(start) = lines.iter().position(|line| is_row(&line)) else { return Vec::new() };
    let first = lines[start][word.len()..].trim().to_owned();
    let rest = lines[start + 1..].iter().take_while(|line| line.starts_with(' ')).map(|line| line.trim().to_owned());
    std::iter::once(first).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::Description;

    #[test]
    fn rows_are_read_with_their_continuation_lines() {
        let text = "// SPDX\n/*\n * Title: purpose.\n *\n * For      study: radio links: long ones\n * Use      when\n *          it rains.\n * Source   A, B,\n *          C.\n * Law      x\n *          y\n */\n";
        let description = Description::of_source(text);
        assert_eq!(description.title, "Title: purpose.");
        assert_eq!(
            (description.purpose, description.good_for),
            ("study".to_owned(), "radio links: long ones".to_owned())
        );
        assert_eq!((description.use_when.as_str(), description.not_when.as_str()), ("when it rains.", ""));
        assert_eq!(description.source, "A, B, C.");
        assert_eq!(description.law, ["x", "y"]);
        assert_eq!(description.needs, "");
    }
}
