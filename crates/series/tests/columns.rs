// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of columns: names that say their units, and the page that shows them.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::BTreeSet;
use std::fs;

use ccctl_series::columns::{Definition, Kind, HOST, LINK, SOCKET};
use ccctl_series::unit_of;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/columns.md");

const BPF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf");

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

/// State fields of C files that have a number for "none", as their declarations say: `u32 rtt_us; /* 0: none yet */`, or
/// `NV_NO_RTT: none yet`, of which all are 0xffffffff. With the file's algorithm; headers are of several.
fn fields_with_none(folder: &str, is_of_algorithms: bool) -> Vec<(Option<String>, String, &'static str)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("{BPF}/{folder}")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let algorithm = path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
        if algorithm == "socket_stats" {
            continue; // fields of the kernel's socket, for which columns have no value
        }
        for line in text.lines().filter(|line| line.starts_with('\t') && line.ends_with("*/")) {
            let Some((declaration, comment)) = line.split_once("; /* ") else { continue };
            let meanings = [": none", ": no ", ": not known", ": there was no", ": the round has not begun"];
            let Some(at) = meanings.iter().find_map(|meaning| comment.find(meaning)) else { continue };
            let value = match comment[..at].rsplit(' ').next().unwrap() {
                "0" => "0",
                name if name.ends_with("_NO_RTT") || name.ends_with("_NO_DELAY") => "4294967295",
                _ => continue,
            };
            let name = declaration.rsplit(' ').next().unwrap().to_owned();
            found.push((is_of_algorithms.then(|| algorithm.clone()), name, value));
        }
    }
    found
}

#[test]
fn the_page_says_which_value_of_a_state_field_means_none() {
    let page = fs::read_to_string(PAGE).unwrap();
    let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split(" | ").collect()).collect();
    let fields = [fields_with_none("algorithms", true), fields_with_none("include", false)].concat();
    let mut count = 0;
    for (algorithm, name, value) in fields {
        let has_name = |cell: &str| cell.split(['`', '.']).any(|word| word == name);
        let is_of = |cell: &str| algorithm.as_ref().is_none_or(|wanted| cell.contains(&format!("`{wanted}`")));
        // A field of a nested struct of the file, such as `rtt.min_us`, ends in its own name.
        let is_row = |row: &&Vec<&str>| {
            matches!(row[..], [first, fields, algorithms, _]
                if first.trim_start_matches("| ") == value && has_name(fields) && is_of(algorithms))
        };
        assert!(rows.iter().any(|row| is_row(&row)), "{PAGE} has no row for {value} in {name} of {algorithm:?}");
        count += 1;
    }
    assert!(count > 25, "only {count} fields say what means none");
}
