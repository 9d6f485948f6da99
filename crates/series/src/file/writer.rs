// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows to a file one by one, for tables that grow for hours.

use std::path::Path;

use super::column::{table_of, Kind};
use super::part::Part;
use super::{csv, jsonl, FileError, Format};
use crate::table::{Column, Table, Value};

/// A file that takes rows, and is written as they come.
///
/// Dropped without [`finish`](Writer::finish), it leaves its rows in the file `name.part-N.extension`.
#[derive(Debug)]
pub struct Writer {
    part: Part,
    format: Format,
    /// Columns without rows; facts.
    header: Table,
    late_facts: Vec<(String, String)>,
    rows: usize,
    buffer: Vec<u8>,
}

impl Writer {
    /// Begins a file with the columns and the facts of `header`; its rows, if it has any, are not written.
    pub fn create(path: &Path, header: &Table) -> Result<Self, FileError> {
        let format = Format::of(path)?;
        let mut header = without_rows(header, path)?;
        let part = Part::create(path)?;
        let mut buffer = Vec::new();
        match format {
            Format::JsonLines => jsonl::encode_header(&header, &mut buffer),
            Format::Csv => csv::encode_header(&header, &mut buffer),
        }
        header.facts.clear();
        let mut writer = Self { part, format, header, late_facts: Vec::new(), rows: 0, buffer };
        match writer.drain() {
            Ok(()) => Ok(writer),
            Err(error) => {
                writer.discard();
                Err(error)
            }
        }
    }

    /// Adds a row: a value or nothing for each column, in their order.
    pub fn push(&mut self, row: &[Option<Value>]) -> Result<(), FileError> {
        self.check(row)?;
        self.rows += 1;
        match self.format {
            Format::JsonLines => jsonl::encode_row(self.header.columns(), row, &mut self.buffer),
            Format::Csv => csv::encode_row(row, &mut self.buffer),
        }
        self.drain()
    }

    /// A fact that is known only now, such as the number of lost events. Replaces one of the same name.
    pub fn fact(&mut self, name: &str, value: &str) {
        self.late_facts.push((name.to_owned(), value.to_owned()));
    }

    /// Rows so far are in the file when this returns.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.part.flush()
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<(), FileError> {
        self.header.facts.extend(std::mem::take(&mut self.late_facts));
        match self.format {
            Format::JsonLines => jsonl::encode_facts(&self.header.facts, &mut self.buffer),
            Format::Csv => csv::encode_facts(&self.header.facts, &mut self.buffer),
        }
        match self.drain() {
            Ok(()) => self.part.finish(),
            Err(error) => {
                self.part.discard();
                Err(error)
            }
        }
    }

    /// Removes what was written.
    pub fn discard(self) {
        self.part.discard();
    }

    fn drain(&mut self) -> Result<(), FileError> {
        self.part.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn check(&self, row: &[Option<Value>]) -> Result<(), FileError> {
        let columns = self.header.columns();
        if row.len() != columns.len() {
            return Err(self.bad_row(format!("{} values for {} columns", row.len(), columns.len())));
        }
        for (column, value) in columns.iter().zip(row) {
            let fits = match (Kind::of(&column.values), value) {
                (Kind::Integer, Some(value)) => matches!(value, Value::Integer(_)),
                (Kind::Float, Some(value)) => !matches!(value, Value::Text(_)),
                (Kind::Text, Some(value)) => matches!(value, Value::Text(_)),
                (_, None) => true,
            };
            if !fits {
                let kind = Kind::of(&column.values).name();
                return Err(self.bad_row(format!("{value:?} in column {}, which is {kind}", column.name)));
            }
        }
        Ok(())
    }

    fn bad_row(&self, what: String) -> FileError {
        FileError::Row { path: self.part.target().to_owned(), row: self.rows + 1, what }
    }
}

fn without_rows(table: &Table, path: &Path) -> Result<Table, FileError> {
    let empty = |column: &Column| Column {
        name: column.name.clone(),
        unit: column.unit.clone(),
        values: Kind::of(&column.values).empty(),
    };
    let mut header = table_of(table.columns().iter().map(empty), path)?;
    header.facts.clone_from(&table.facts);
    Ok(header)
}
