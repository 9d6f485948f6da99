// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of columns: names that say their units, and the page that shows them.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeSet;
use std::fs;

use ccctl_series::columns::{Definition, Kind, HOST, LINK, SOCKET};
use ccctl_series::unit_of;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/columns.md");

/// Columns whose names end in another unit than theirs: a product of two, and a count of packets named after an event.
const PRODUCTS: [&str; 2] = ["waited_pkt_us", "host_backlog_drops"];

#[test]
fn a_name_occurs_once_and_ends_in_its_unit() {
    for list in [SOCKET, HOST, LINK] {
        let names: BTreeSet<&str> = list.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), list.len());
        for column in list.iter().filter(|column| !PRODUCTS.contains(&column.name)) {
            assert_eq!(column.unit, unit_of(column.name), "{}", column.name);
        }
    }
}

fn row(column: &Definition) -> String {
    let kind = match column.kind {
        Kind::Integer => "integer",
        Kind::Float => "real",
        Kind::Text => "text",
        Kind::Flag => "boolean",
    };
    let words: Vec<&str> = [column.unit, kind].into_iter().filter(|word| !word.is_empty()).collect();
    format!("| `{}` | {} | {} |", column.name, words.join(", "), column.meaning)
}

#[test]
fn the_page_has_the_table() {
    let page = fs::read_to_string(PAGE).unwrap();
    let shown: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = [SOCKET, HOST, LINK].concat().iter().map(row).collect();
    assert!(shown == expected, "the rows of {PAGE} are, in three tables:\n{}", expected.join("\n"));
}
