// SPDX-License-Identifier: GPL-2.0-only
//! Puts results into a page of docs, between a mark and the next end.

use std::path::Path;

use anyhow::{Context as _, Result};

const END: &str = "<!-- end -->";

/// Replaces all that is there.
pub fn put(page: &Path, begin: &str, text: &str) -> Result<()> {
    edit(page, begin, |_| text.to_owned())
}

/// Replaces the rows of the table whose first cells, `key_cells` of them, are the same, and the sections of the same heading.
/// Others stay: a run of some algorithms leaves the results of the rest.
pub fn merge(page: &Path, begin: &str, key_cells: usize, text: &str) -> Result<()> {
    edit(page, begin, |old| merged(old, text, key_cells))
}

fn edit(page: &Path, begin: &str, change: impl FnOnce(&str) -> String) -> Result<()> {
    let old = std::fs::read_to_string(page).with_context(|| format!("read {}", page.display()))?;
    let (head, rest) = old.split_once(begin).with_context(|| format!("the page has no {begin}"))?;
    let (inside, tail) = rest.split_once(END).with_context(|| format!("the page has no {END}"))?;
    let new = change(inside.trim());
    std::fs::write(page, format!("{head}{begin}\n\n{}\n\n{END}{tail}", new.trim()))?;
    Ok(())
}

/// A table, and sections below it.
struct Parts<'a> {
    head: Vec<&'a str>,
    rows: Vec<Part<'a>>,
    sections: Vec<Part<'a>>,
}

/// A row or a section.
struct Part<'a> {
    /// Of one subject: the first cell.
    subject: &'a str,
    key: String,
    text: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str, key_cells: usize) -> Self {
        let mut sections = text.split("\n### ");
        let table: Vec<&str> = sections.next().unwrap_or_default().trim().lines().collect();
        let (head, rows) = table.split_at(table.len().min(2));
        let row = |text: &&'a str| Part {
            subject: text.split('|').nth(1).unwrap_or_default(),
            key: text.split('|').take(key_cells + 1).collect(),
            text,
        };
        let section = |text: &'a str| {
            let heading = text.lines().next().unwrap_or_default();
            Part { subject: heading, key: heading.to_owned(), text: text.trim_end() }
        };
        Self { head: head.to_vec(), rows: rows.iter().map(row).collect(), sections: sections.map(section).collect() }
    }
}

fn merged(old: &str, new: &str, key_cells: usize) -> String {
    let (old, new) = (Parts::of(old, key_cells), Parts::of(new, key_cells));
    let mut text = new.head.join("\n");
    for row in replaced(old.rows, new.rows) {
        text = text + "\n" + row.text;
    }
    for section in replaced(old.sections, new.sections) {
        text = text + "\n\n### " + section.text;
    }
    text
}

/// The old ones in their order, with the new ones in their places, behind others of their subject, or at the end.
fn replaced<'a>(old: Vec<Part<'a>>, new: Vec<Part<'a>>) -> Vec<Part<'a>> {
    let mut all = old;
    for part in new {
        if let Some(known) = all.iter_mut().find(|known| known.key == part.key) {
            known.text = part.text;
            continue;
        }
        let behind = all.iter().rposition(|known| known.subject == part.subject);
        all.insert(behind.map_or(all.len(), |at| at + 1), part);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "| a | path | n |\n| --- | --- | --- |\n| x | near | 1 |\n| x | far | 2 |\n| y | near | 3 |\n\n### x\n\nold\n\n### y\n\nstays";

    #[test]
    fn what_was_run_again_is_replaced_in_its_place_and_the_rest_stays() {
        let new = "| a | path | m |\n| --- | --- | --- |\n| x | far | 20 |\n| x | wide | 30 |\n| z | near | 40 |\n\n### x\n\nnew\n";
        let expected = "| a | path | m |\n| --- | --- | --- |\n| x | near | 1 |\n| x | far | 20 |\n| x | wide | 30 |\n\
                        | y | near | 3 |\n| z | near | 40 |\n\n\
                        ### x\n\nnew\n\n### y\n\nstays";
        assert_eq!(merged(OLD, new, 2), expected);
    }

    #[test]
    fn into_an_empty_place_all_is_put() {
        assert_eq!(merged("", OLD, 2), OLD);
    }
}
