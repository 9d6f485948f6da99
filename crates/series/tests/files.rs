// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables to files and back, and files that other programs write.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod folder;

use std::fs;
use std::path::PathBuf;

use ccctl_series::{read, write, Column, FileError, Table, Value, Values, Writer};
use folder::Folder;

const EXTENSIONS: [&str; 2] = ["jsonl", "csv"];

/// A file with this content.
fn holding(folder: &Folder, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.file(name);
    fs::write(&path, content).unwrap();
    path
}

fn names(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

fn column(name: &str, unit: &str, values: Values) -> Column {
    Column { name: name.into(), unit: unit.into(), values }
}

fn texts(values: &[Option<&str>]) -> Values {
    Values::Text(values.iter().map(|value| value.map(str::to_owned)).collect())
}

/// Whatever is hard about values, names, units and facts.
fn hard() -> Table {
    let mut table = Table::default();
    let real = vec![Some(0.1 + 0.2), None, Some(f64::INFINITY), Some(-1e-308), Some(3.0)];
    let whole = vec![Some(i64::MAX), Some(i64::MIN), None, Some((1 << 53) + 1), Some(0)];
    let words = [Some("a,b \"c\""), Some("# no\r\ncomment"), None, Some("12"), Some(" ü ")];
    table.add(column("time_s", "s", Values::Float(real))).unwrap();
    table.add(column("cwnd_pkts", "packets", Values::Integer(whole))).unwrap();
    table.add(column("a: \"b\", #c\\", "µs: a\\n", texts(&words))).unwrap();
    table.add(column("nothing", "", Values::Integer(vec![None; 5]))).unwrap();
    table.facts.insert("command".into(), "ccctl trace: \\n a\nb\r".into());
    table.facts.insert("a:b\\".into(), String::new());
    table
}

#[test]
fn every_format_gives_back_what_it_was_given() {
    let folder = Folder::new("round");
    for extension in EXTENSIONS {
        let path = folder.file(&format!("table.{extension}"));
        write(&hard(), &path).unwrap();
        assert_eq!(read(&path).unwrap(), hard(), "{extension}");
    }
    assert_eq!(names(&folder).len(), 2, "no parts are left: {:?}", names(&folder));
}

#[test]
fn numbers_that_are_none_and_empty_words() {
    let folder = Folder::new("nan");
    let mut table = Table::default();
    table.add(column("rate", "", Values::Float(vec![Some(f64::NAN), Some(f64::NEG_INFINITY), None]))).unwrap();
    table.add(column("state", "", texts(&[Some(""), Some("Open"), None]))).unwrap();
    for extension in EXTENSIONS {
        let path = folder.file(&format!("table.{extension}"));
        write(&table, &path).unwrap();
        let Values::Float(rates) = read(&path).unwrap().column("rate").unwrap().values.clone() else { panic!() };
        assert!(rates[0].unwrap().is_nan(), "{extension}");
        assert_eq!(rates[1..], [Some(f64::NEG_INFINITY), None], "{extension}");
        // CSV has one way to say both nothing and an empty word.
        let empty = if extension == "csv" { None } else { Some("") };
        let states = read(&path).unwrap().column("state").unwrap().values.clone();
        assert_eq!(states, texts(&[empty, Some("Open"), None]), "{extension}");
    }
}

/// Only a file begins with a byte order mark; in a name or a word it is a letter.
#[test]
fn byte_order_marks_within_a_table_stay() {
    let folder = Folder::new("mark");
    let mut table = Table::default();
    table.add(column("\u{feff}", "", texts(&[Some("\u{feff}"), Some("\u{feff}a"), None]))).unwrap();
    for extension in EXTENSIONS {
        let path = folder.file(&format!("table.{extension}"));
        write(&table, &path).unwrap();
        assert_eq!(read(&path).unwrap(), table, "{extension}");
    }
    let foreign = holding(&folder, "foreign.csv", "\u{feff}word\n\u{feff}a\n\u{feff}\nb\n");
    let words = texts(&[Some("\u{feff}a"), Some("\u{feff}"), Some("b")]);
    assert_eq!(read(&foreign).unwrap().column("word").unwrap().values, words);
}

#[test]
fn tables_without_rows_or_columns_and_of_one_column() {
    let folder = Folder::new("empty");
    let mut without_rows = Table::default();
    without_rows.add(column("cwnd_pkts", "packets", Values::Integer(Vec::new()))).unwrap();
    let mut one_column = Table::default();
    one_column.add(column("cwnd_pkts", "packets", Values::Integer(vec![None, Some(1), None]))).unwrap();
    for table in [Table::default(), without_rows, one_column] {
        for extension in EXTENSIONS {
            let path = folder.file(&format!("table.{extension}"));
            write(&table, &path).unwrap();
            assert_eq!(read(&path).unwrap(), table, "{extension}");
        }
    }
}

#[test]
fn rows_come_one_by_one_and_facts_late() {
    let folder = Folder::new("writer");
    for extension in EXTENSIONS {
        let path = folder.file(&format!("trace.{extension}"));
        let mut header = Table::default();
        header.add(column("time_s", "s", Values::Float(Vec::new()))).unwrap();
        header.add(column("state", "", Values::Text(Vec::new()))).unwrap();
        header.facts.insert("lost".into(), "unknown".into());
        header.facts.insert("kernel".into(), "6.18".into());
        let mut writer = Writer::create(&path, &header).unwrap();
        writer.push(&[Some(Value::Integer(2)), None]).unwrap();
        assert!(!path.exists(), "{extension}: no name before it is whole");
        let error = writer.push(&[Some(Value::Text("a".into())), None]).unwrap_err();
        assert!(error.to_string().contains("row 2: ") && error.to_string().contains("time_s"), "{error}");
        assert!(writer.push(&[None]).unwrap_err().to_string().contains("1 values for 2 columns"));
        writer.push(&[None, Some(Value::Text("Open".into()))]).unwrap();
        writer.fact("lost", "3");
        writer.finish().unwrap();
        let table = read(&path).unwrap();
        assert_eq!(table.column("time_s").unwrap().values, Values::Float(vec![Some(2.0), None]));
        assert_eq!(table.column("state").unwrap().values, texts(&[None, Some("Open")]));
        let facts: Vec<_> = table.facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(facts, [("kernel", "6.18"), ("lost", "3")], "{extension}");
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_a_part_that_can_be_read() {
    let folder = Folder::new("dropped");
    for extension in EXTENSIONS {
        let path = holding(&folder, &format!("trace.{extension}"), "the file of before");
        let mut header = Table::default();
        header.add(column("cwnd_pkts", "packets", Values::Integer(Vec::new()))).unwrap();
        let mut writer = Writer::create(&path, &header).unwrap();
        writer.push(&[Some(Value::Integer(10))]).unwrap();
        drop(writer);
        assert_eq!(fs::read_to_string(&path).unwrap(), "the file of before");
        let part = read(&folder.file(&format!("trace.part-0.{extension}"))).unwrap();
        assert_eq!(part.column("cwnd_pkts").unwrap().values.get(0), Some(Value::Integer(10)));
        Writer::create(&path, &header).unwrap().finish().unwrap();
        assert_eq!(read(&path).unwrap().rows(), 0, "a part of before is not in the way");
    }
}

#[test]
fn files_of_other_programs() {
    let folder = Folder::new("others");
    let csv = holding(&folder, "a.csv", "\u{feff}time,cwnd,name,gap\r\n0,1,x,\r\n0.5,2,7,\r\n");
    let lines = holding(&folder, "a.jsonl", "{\"time\":0,\"cwnd\":1}\n\n{\"time\":0.5,\"cwnd\":2,\"name\":\"x\"}");
    let table = read(&csv).unwrap();
    assert_eq!(table.column("time").unwrap().values, Values::Float(vec![Some(0.0), Some(0.5)]));
    assert_eq!(table.column("cwnd").unwrap().values, Values::Integer(vec![Some(1), Some(2)]));
    assert_eq!(table.column("name").unwrap().values, texts(&[Some("x"), Some("7")]));
    assert_eq!(table.column("gap").unwrap().values, Values::Float(vec![None, None]));
    let table = read(&lines).unwrap();
    assert_eq!(table.column("time").unwrap().values, Values::Float(vec![Some(0.0), Some(0.5)]));
    assert_eq!(table.column("name").unwrap().values, texts(&[None, Some("x")]));
}

#[test]
fn an_unknown_end_of_a_name_names_both() {
    let folder = Folder::new("extension");
    for name in ["table.parquet", "table", ".csv"] {
        let error = write(&hard(), &folder.file(name)).unwrap_err();
        assert!(error.to_string().ends_with("the name must end in .jsonl or .csv"), "{error}");
        assert!(matches!(read(&folder.file(name)), Err(FileError::Extension(_))));
    }
    assert!(names(&folder).is_empty());
}

#[test]
fn malformed_lines_are_named() {
    let folder = Folder::new("malformed");
    let cases = [
        ("a.jsonl", "{\"a\":1}\n{\"a\":", "line 2: not JSON: "),
        ("a.jsonl", "{\"a\":1}\n[1]", "line 2: a row must be an object"),
        ("a.jsonl", "{\"a\":1}\n{\"a\":\"x\"}", "line 2: a is \"x\", but the column is integer"),
        ("a.jsonl", "{\"a\":[1]}", "line 1: a: [1] is not a number, a string or null"),
        ("a.jsonl", "{\"a\":9223372036854775808}", "line 1: a: 9223372036854775808 exceeds 2^63 - 1"),
        ("a.jsonl", "{\"facts\":{},\"kinds\":{\"a\":\"int\"}}", "line 1: kinds.a: int is not a kind of column"),
        ("a.csv", "# a: b\na,b\n1,2\n1,2,3\n", "line 4: 3 fields for 2 columns"),
        ("a.csv", "a,b\n\"1\n\",2\n1,\"2\n", "line 4: a quotation mark is not closed"),
        ("a.csv", "#column a: integer packets\na\n1\n1.5\n", "line 4: a is \"1.5\", but the column is integer"),
        ("a.csv", "#column a: number\na\n", "line 1: number is not one of integer, real, text"),
        ("a.csv", "a,a\n1,2\n", "a.csv: two columns are named a"),
    ];
    for (name, content, expected) in cases {
        let path = holding(&folder, name, content);
        let error = read(&path).unwrap_err().to_string();
        assert!(error.starts_with(path.to_str().unwrap()) && error.contains(expected), "{error}");
    }
    let path = holding(&folder, "a.csv", b"a\n\xff\n");
    assert!(read(&path).unwrap_err().to_string().contains("line 2: not UTF-8"));
    assert!(read(&folder.file("missing.csv")).unwrap_err().to_string().starts_with("cannot read "));
}

/// Whatever bytes are damaged or missing: an error or a table, never a panic or memory without bound.
#[test]
fn damaged_files_are_refused_or_read() {
    let folder = Folder::new("damaged");
    for extension in EXTENSIONS {
        let path = folder.file(&format!("a.{extension}"));
        write(&hard(), &path).unwrap();
        let whole = fs::read(&path).unwrap();
        let (mut refused, mut was_read) = (0, 0);
        for place in 0..whole.len() {
            let flipped = [0x01, 0x80, 0xff].map(|flip| {
                let mut damaged = whole.clone();
                damaged[place] ^= flip;
                damaged
            });
            for damaged in flipped.into_iter().chain([whole[..place].to_vec()]) {
                fs::write(&path, damaged).unwrap();
                *if read(&path).is_ok() { &mut was_read } else { &mut refused } += 1;
            }
        }
        assert!(refused > 0 && was_read > 0, "{extension}: {refused} refused, {was_read} read");
    }
}
