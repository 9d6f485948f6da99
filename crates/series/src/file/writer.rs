// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows to a file one by one, for tables that grow for hours.

use std::path::Path;

use super::column::{table_of, Kind};
use super::part::Part;
use super::{csv, jsonl, parquet, FileError, Format};
use crate::table::{Column, Table, Value};

/// A file that takes rows. JSON lines and CSV are written as rows come, Parquet in groups of rows.
///
/// Dropped without [`finish`](Writer::finish), it leaves its rows in the file `name.part-N.extension`; of Parquet, which
/// has its table of contents at the end, such a file is of no use.
#[derive(Debug)]
pub struct Writer {
    part: Part,
    encoder: Encoder,
    /// Columns without rows; facts.
    header: Table,
    late_facts: Vec<(String, String)>,
    rows: usize,
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum Encoder {
    JsonLines,
    Csv,
    Parquet(parquet::Encoder),
}

impl Writer {
    /// Begins a file with the columns and the facts of `header`; its rows, if it has any, are not written.
    pub fn create(path: &Path, header: &Table) -> Result<Self, FileError> {
        let format = Format::of(path)?;
        let mut header = without_rows(header, path)?;
        let part = Part::create(path)?;
        let mut buffer = Vec::new();
        let encoder = match format {
            Format::JsonLines => {
                jsonl::encode_header(&header, &mut buffer);
                Encoder::JsonLines
            }
            Format::Csv => {
                csv::encode_header(&header, &mut buffer);
                Encoder::Csv
            }
            Format::Parquet => Encoder::Parquet(parquet::Encoder::new(&header, &mut buffer)),
        };
        if format != Format::Parquet {
            header.facts.clear();
        }
        let mut writer = Self { part, encoder, header, late_facts: Vec::new(), rows: 0, buffer };
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
        match &mut self.encoder {
            Encoder::JsonLines => jsonl::encode_row(self.header.columns(), row, &mut self.buffer),
            Encoder::Csv => csv::encode_row(row, &mut self.buffer),
            Encoder::Parquet(encoder) => encoder.push(row, &mut self.buffer),
        }
        self.drain()
    }

    /// A fact that is known only now, such as the number of lost events. Replaces one of the same name.
    pub fn fact(&mut self, name: &str, value: &str) {
        self.late_facts.push((name.to_owned(), value.to_owned()));
    }

    /// Rows so far are in the file when this returns; of Parquet, only whole groups.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.part.flush()
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<(), FileError> {
        self.header.facts.extend(std::mem::take(&mut self.late_facts));
        match self.encoder {
            Encoder::JsonLines => jsonl::encode_facts(&self.header.facts, &mut self.buffer),
            Encoder::Csv => csv::encode_facts(&self.header.facts, &mut self.buffer),
            Encoder::Parquet(ref mut encoder) => encoder.finish(&self.header, &mut self.buffer),
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
                (Kind::Real, Some(value)) => !matches!(value, Value::Text(_)),
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
