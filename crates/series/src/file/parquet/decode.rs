//! A table out of Parquet.

use std::path::Path;

use super::super::column::{table_of, Kind};
use super::super::FileError;
use super::pages::{self, Chunk};
use super::thrift::{Input, Thrift};
use super::{physical, repetition, MAGIC, UNIT_PREFIX};
use crate::table::{Column, Table};

/// Flat columns of integers, real numbers and text, of this or another program.
pub fn decode(data: &[u8], path: &Path) -> Result<Table, FileError> {
    let bad = |what: String| FileError::Content { path: path.to_owned(), what };
    let contents = contents(data).map_err(bad)?;
    let mut columns = columns(&contents).map_err(bad)?;
    for (number, group) in (1..).zip(contents.list(4).unwrap_or_default()) {
        let chunks = group.list(1).unwrap_or_default();
        if chunks.len() != columns.len() {
            return Err(bad(format!("group {number} has {} columns of {}", chunks.len(), columns.len())));
        }
        for ((column, is_optional), chunk) in columns.iter_mut().zip(chunks) {
            let decoded = decode_chunk(data, chunk, column, *is_optional);
            decoded.map_err(|what| bad(format!("group {number}, column {}: {what}", column.name)))?;
        }
    }
    let mut table = table_of(columns.into_iter().map(|(column, _)| column), path)?;
    if contents.size(3) != Some(table.rows()) && !table.columns().is_empty() {
        return Err(bad(format!("{} rows, but it says {:?}", table.rows(), contents.size(3))));
    }
    for (name, value) in metadata(&contents) {
        let is_unit = name.strip_prefix(UNIT_PREFIX).is_some_and(|name| table.column(name).is_some());
        if !is_unit {
            table.facts.insert(name.to_owned(), value.to_owned());
        }
    }
    Ok(table)
}

/// `FileMetaData`, which is at the end, before its length.
fn contents(data: &[u8]) -> Result<Thrift, String> {
    let body = data.strip_prefix(MAGIC).ok_or("not Parquet: does not begin with PAR1")?;
    let body = body.strip_suffix(MAGIC).ok_or("not Parquet, or cut off: does not end with PAR1")?;
    let (body, length) = body.split_last_chunk().ok_or("cut off")?;
    let length = u32::from_le_bytes(*length) as usize;
    let start = body.len().checked_sub(length).ok_or("its table of contents is longer than the file")?;
    Input { rest: &body[start..] }.fields().ok_or_else(|| "its table of contents is damaged".into())
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

fn decode_chunk(data: &[u8], chunk: &Thrift, column: &mut Column, is_optional: bool) -> Result<(), String> {
    let meta = chunk.field(3).ok_or("it has no metadata")?;
    // A dictionary comes before the pages that use it; some writers give its place as zero where there is none.
    let dictionary = meta.size(11).filter(|&offset| offset > 0);
    let pages = meta.size(9).ok_or("it has no place")?;
    let offset = dictionary.map_or(pages, |dictionary| dictionary.min(pages));
    let rest = data.get(offset..).ok_or("it lies beyond the end")?;
    let chunk = Chunk {
        physical: meta.integer(1).ok_or("it has no type")?,
        codec: meta.integer(4).ok_or("it has no compression")?,
        values: meta.size(5).ok_or("it has no length")?,
        is_optional,
    };
    pages::decode(Input { rest }, chunk, &mut column.values)
}
