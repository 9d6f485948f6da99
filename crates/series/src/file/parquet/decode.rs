// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table out of Parquet.

use std::fs::File;
use std::path::Path;

use super::super::column::{table_of, Kind};
use super::super::input::Budget;
use super::super::FileError;
use super::pages::{self, read_at, Chunk, Pages};
use super::thrift::{Input, Thrift};
use super::{physical, repetition, MAGIC, UNIT_PREFIX};
use crate::table::{Column, Table};

/// A table of contents of at most this many bytes; one of a hundred columns and a hundred groups has two megabytes.
const MAX_CONTENTS_BYTES: u64 = 1 << 23;

/// Flat columns of integers, real numbers and text, of this or another program. The table of contents is read first, and
/// what it promises is held against the budget before anything else is read.
pub fn decode(file: &File, length: u64, budget: &mut Budget, path: &Path) -> Result<Table, FileError> {
    let bad = |what: String| FileError::Content { path: path.to_owned(), what };
    let (contents, end) = contents(file, length).map_err(bad)?;
    let mut columns = columns(&contents).map_err(bad)?;
    let rows = contents.size(3).ok_or_else(|| bad("it has no number of rows".into()))?;
    budget.check(columns.len(), rows).map_err(bad)?;
    for (number, group) in (1..).zip(contents.list(4).unwrap_or_default()) {
        let chunks = group.list(1).unwrap_or_default();
        if chunks.len() != columns.len() {
            return Err(bad(format!("group {number} has {} columns of {}", chunks.len(), columns.len())));
        }
        for ((column, is_optional), chunk) in columns.iter_mut().zip(chunks) {
            let chunk = describe(chunk, *is_optional, rows - column.values.len());
            let decoded = chunk.and_then(|(chunk, at)| {
                let mut pages = Pages { file, at, end, budget: &mut *budget };
                pages::decode(&mut pages, chunk, &mut column.values)
            });
            decoded.map_err(|what| bad(format!("group {number}, column {}: {what}", column.name)))?;
        }
    }
    let mut table = table_of(columns.into_iter().map(|(column, _)| column), path)?;
    if rows != table.rows() && !table.columns().is_empty() {
        return Err(bad(format!("{} rows, but it says {rows}", table.rows())));
    }
    for (name, value) in metadata(&contents) {
        let is_unit = name.strip_prefix(UNIT_PREFIX).is_some_and(|name| table.column(name).is_some());
        if !is_unit {
            table.facts.insert(name.to_owned(), value.to_owned());
        }
    }
    Ok(table)
}

/// `FileMetaData`, which is at the end, before its length; and where it begins.
fn contents(file: &File, length: u64) -> Result<(Thrift, u64), String> {
    let ends = (MAGIC.len() + size_of::<u32>() + MAGIC.len()) as u64;
    let mut begin = [0; 4];
    let mut tail = [0; 8];
    if !read_at(file, &mut begin, 0)? || begin != *MAGIC {
        return Err("not Parquet: does not begin with PAR1".into());
    }
    if length < 8 || !read_at(file, &mut tail, length - 8)? || tail[4..] != *MAGIC {
        return Err("not Parquet, or cut off: does not end with PAR1".into());
    }
    if length < ends {
        return Err("cut off".into());
    }
    let size = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if size > length - ends {
        return Err("its table of contents is longer than the file".into());
    }
    if size > MAX_CONTENTS_BYTES {
        return Err(format!("its table of contents has {size} bytes; up to {MAX_CONTENTS_BYTES} are read"));
    }
    let start = length - 8 - size;
    let mut data = vec![0; size as usize];
    let is_whole = read_at(file, &mut data, start)?;
    let contents = Input::new(&data).fields().filter(|_| is_whole).ok_or("its table of contents is damaged")?;
    Ok((contents, start))
}

/// Columns without rows, and whether their rows may lack a value.
fn columns(contents: &Thrift) -> Result<Vec<(Column, bool)>, String> {
    let elements = contents.list(2).and_then(|all| all.split_first()).ok_or("it has no schema")?.1;
    elements.iter().map(|element| column(element, contents)).collect()
}

fn column(element: &Thrift, contents: &Thrift) -> Result<(Column, bool), String> {
    let name = element.text(4).ok_or("a column has no name")?;
    let kind = match element.integer(1) {
        Some(physical::INT32 | physical::INT64) => Kind::Integer,
        Some(physical::FLOAT | physical::DOUBLE) => Kind::Real,
        Some(physical::BYTE_ARRAY) => Kind::Text,
        _ => return Err(format!("column {name} is not of whole or real numbers or text")),
    };
    let is_optional = match element.integer(3) {
        Some(repetition::REQUIRED) => false,
        Some(repetition::OPTIONAL) => true,
        _ => return Err(format!("column {name} has lists as values")),
    };
    let key = format!("{UNIT_PREFIX}{name}");
    let unit = metadata(contents).find(|(name, _)| *name == key).map_or("", |(_, unit)| unit);
    Ok((Column { name: name.to_owned(), unit: unit.to_owned(), values: kind.empty() }, is_optional))
}

fn metadata(contents: &Thrift) -> impl Iterator<Item = (&str, &str)> {
    let entries = contents.list(5).unwrap_or_default().iter();
    entries.filter_map(|entry| Some((entry.text(1)?, entry.text(2).unwrap_or_default())))
}

/// What is known of a chunk of a column that lacks `rows_left` rows, and where it begins.
fn describe(chunk: &Thrift, is_optional: bool, rows_left: usize) -> Result<(Chunk, u64), String> {
    let meta = chunk.field(3).ok_or("it has no metadata")?;
    // A dictionary comes before the pages that use it; some writers give its place as zero where there is none.
    let dictionary = meta.size(11).filter(|&offset| offset > 0);
    let pages = meta.size(9).ok_or("it has no place")?;
    let offset = dictionary.map_or(pages, |dictionary| dictionary.min(pages));
    let values = meta.size(5).ok_or("it has no length")?;
    if values > rows_left {
        return Err("it has more values than the table has rows".into());
    }
    let chunk = Chunk {
        physical: meta.integer(1).ok_or("it has no type")?,
        codec: meta.integer(4).ok_or("it has no compression")?,
        values,
        is_optional,
    };
    Ok((chunk, offset as u64))
}
