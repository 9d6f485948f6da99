// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON lines: an object a row, after a first line that holds the facts, the units and the kinds of the columns.
//!
//! JSON has no words for numbers that are not finite: they are the strings `NaN`, `Infinity` and `-Infinity`, and become
//! numbers again in a column that is real. Facts that came late are in a last line of their own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::{json, Map, Value as Json};

use super::column::{Columns, Growing, Kind};
use super::input::{Budget, MAX_RECORD_BYTES};
use super::{bad_line, cannot_read, FileError};
use crate::table::{Column, Table, Value};

pub fn encode_header(header: &Table, out: &mut Vec<u8>) {
    let mut units = Map::new();
    let mut kinds = Map::new();
    for column in header.columns() {
        units.insert(column.name.clone(), column.unit.clone().into());
        kinds.insert(column.name.clone(), Kind::of(&column.values).name().into());
    }
    encode_line(&json!({ "facts": header.facts, "units": units, "kinds": kinds }), out);
}

pub fn encode_row(columns: &[Column], row: &[Option<Value>], out: &mut Vec<u8>) {
    let fields = columns.iter().zip(row).map(|(column, value)| {
        let value = match value {
            None => Json::Null,
            // A whole number in a real column is written as a real one, so that other readers see one type.
            Some(Value::Integer(value)) if Kind::of(&column.values) == Kind::Float => json!(*value as f64),
            Some(Value::Integer(value)) => json!(value),
            Some(Value::Float(value)) if value.is_finite() => json!(value),
            Some(Value::Float(value)) => not_finite(*value).into(),
            Some(Value::Text(value)) => value.as_str().into(),
        };
        (column.name.clone(), value)
    });
    encode_line(&Json::Object(fields.collect()), out);
}

pub fn encode_facts(facts: &BTreeMap<String, String>, out: &mut Vec<u8>) {
    if !facts.is_empty() {
        encode_line(&json!({ "facts": facts }), out);
    }
}

fn encode_line(line: &Json, out: &mut Vec<u8>) {
    out.extend_from_slice(line.to_string().as_bytes());
    out.push(b'\n');
}

fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// The table in a file, which may be of another program: then columns are as the rows name them.
pub fn decode(file: File, budget: &mut Budget, path: &Path) -> Result<Table, FileError> {
    let mut columns = Columns::default();
    let mut facts = BTreeMap::new();
    let mut rows = 0;
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let most = MAX_RECORD_BYTES as u64 + 1;
        if lines.by_ref().take(most).read_until(b'\n', &mut line).map_err(cannot_read(path))? == 0 {
            break;
        }
        let bad = |what: String| bad_line(path, number, what);
        if line.len() > MAX_RECORD_BYTES {
            return Err(bad(format!("too long: the limit is {MAX_RECORD_BYTES} bytes")));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice(&line).map_err(|error| bad(format!("not JSON: {}", place_in_line(&error))))? {
            Json::Object(object) if is_header(&object) => {
                decode_header(object, &mut columns, &mut facts).map_err(bad)?;
                budget.check(columns.count(), rows).map_err(bad)?;
            }
            Json::Object(object) => {
                let new = object.keys().filter(|name| !columns.has(name)).count();
                budget.check(columns.count() + new, rows + 1).map_err(bad)?;
                decode_row(object, &mut columns, rows, budget).map_err(bad)?;
                rows += 1;
            }
            _ => return Err(bad("a row must be an object, {\"name\": value, ...}".into())),
        }
    }
    columns.fill(rows);
    let mut table = columns.finish(path)?;
    table.facts = facts;
    Ok(table)
}

/// The parser counts lines from the start of what it was given, which is one line.
fn place_in_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("{what} at column {}", error.column())
}

/// No row has objects as values.
fn is_header(object: &Map<String, Json>) -> bool {
    ["facts", "units", "kinds"].iter().any(|name| object.get(*name).is_some_and(Json::is_object))
}

fn decode_header(
    header: Map<String, Json>,
    columns: &mut Columns,
    facts: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    for (part, entries) in header {
        let Json::Object(entries) = entries else { return Err(format!("{part} must be an object")) };
        for (name, value) in entries {
            let Json::String(value) = value else { return Err(format!("{part}.{name} must be a string")) };
            match part.as_str() {
                "facts" => drop(facts.insert(name, value)),
                "units" => columns.named(&name).unit = value,
                "kinds" => {
                    let kind = Kind::named(&value);
                    columns.named(&name).declare(kind.ok_or(format!("kinds.{name}: {value} is not a kind of column"))?);
                }
                _ => return Err(format!("{part} is not one of facts, units, kinds")),
            }
        }
    }
    Ok(())
}

fn decode_row(row: Map<String, Json>, columns: &mut Columns, rows: usize, budget: &mut Budget) -> Result<(), String> {
    for (name, value) in row {
        let column = columns.named(&name);
        column.fill(rows);
        let text = value.to_string();
        let value = decode_value(value, column).map_err(|what| format!("{name}: {what}"))?;
        if let Some(Value::Text(word)) = &value {
            budget.take_text(word.len())?;
        }
        if !column.push(value) {
            let kind = column.kind().map_or("", Kind::name);
            return Err(format!("{name} is {text}, but the column is {kind}"));
        }
    }
    Ok(())
}

fn decode_value(value: Json, column: &Growing) -> Result<Option<Value>, String> {
    Ok(Some(match value {
        Json::Null => return Ok(None),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None if number.is_u64() && column.kind() != Some(Kind::Float) => {
                return Err(format!("{number} exceeds 2^63 - 1"));
            }
            None => Value::Float(number.as_f64().ok_or(format!("{number} does not fit into 64 bits"))?),
        },
        Json::String(text) => match (column.kind(), text.as_str()) {
            (Some(Kind::Float), "NaN") => Value::Float(f64::NAN),
            (Some(Kind::Float), "Infinity") => Value::Float(f64::INFINITY),
            (Some(Kind::Float), "-Infinity") => Value::Float(f64::NEG_INFINITY),
            _ => Value::Text(text),
        },
        Json::Bool(_) | Json::Array(_) | Json::Object(_) => {
            return Err(format!("{value} is not a number, a string or null"));
        }
    }))
}
